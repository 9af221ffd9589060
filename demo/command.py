"""The demo from start to end.

Exit code 0 when the sample's tests are green afterwards; for an embedded model, when it has run.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from demo.run import SCRIPTED, forget, isolated, messages_of, run_roost
from demo.sample import failures, make_repository
from demo.script import script
from demo.words import EMBEDDED, INSTALL, UNSOLVED, next_steps, way_back
from roost.llm.gguf import known_models, model_folder, runtime_is_installed
from scripted_model.demo import PROMPT
from scripted_model.process import ScriptedProcess

_LOCAL: Final = "local"
_EMBEDDED_SECONDS: Final = "300"
"""A model on a slow machine may write for long without getting anywhere."""
_INTERRUPTED: Final = 130


def execute() -> int:
    """Make the sample, repair it, check it; an interruption takes away what was made."""
    parser = argparse.ArgumentParser("python -m demo", description=__doc__)
    parser.add_argument("--model", metavar="NAME", help="provider/model, or `local`")
    parser.add_argument("--keep", action="store_true", help="leave sample and home for a look")
    given = parser.parse_args()
    model = given.model
    if model == _LOCAL and (model := _first_embedded()) is None:
        _say(INSTALL.format(folder=model_folder(os.environ)))
        return 1
    folder = Path(tempfile.mkdtemp(prefix="roost-demo-"))
    demo = _Demo(folder, model, keep=given.keep)
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        return demo.run()
    except (OSError, RuntimeError, subprocess.SubprocessError) as error:
        return _failed(f"the demo could not run: {error}")
    except KeyboardInterrupt:
        return _INTERRUPTED
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        demo.leave()


def _first_embedded() -> str | None:
    models = known_models(os.environ) if runtime_is_installed() else []
    return f"{_LOCAL}/{models[0].stem}" if models else None


class _Demo:
    """One repair of the sample below `folder`, by the scripted model or by `model`."""

    def __init__(self, folder: Path, model: str | None, *, keep: bool) -> None:
        self._folder = folder
        self._shop = folder / "shop"
        self._home = folder / "home" if model is None else None
        self._model = model
        self._embedded = (model or "").startswith(f"{_LOCAL}/")
        self._keep = keep

    def run(self) -> int:
        """The whole of it; gives the exit code."""
        make_repository(self._shop)
        _say(f"A small repository with two bugs was made in {self._shop}. Its tests fail:\n")
        _say(_summary(failures(self._shop)))
        if self._embedded:
            _say("\n" + EMBEDDED.format(model=self._model).rstrip())
        _say(f'\n$ roost run --yes "{PROMPT}"')
        code = self._real(self._model) if self._model else self._scripted()
        if code == _INTERRUPTED:
            return code
        return self._judged_embedded(code) if self._embedded else self._judged(code)

    def _scripted(self) -> int:
        """Roost on a scripted model: a process of its own that speaks HTTP like a real one."""
        with ScriptedProcess(script()) as scripted:
            environment = isolated(self._folder / "home", scripted.url)
            code = run_roost(self._shop, PROMPT, SCRIPTED, environment)
            # Ctrl-C ends the scripted model too.
            broken = [] if code == _INTERRUPTED else scripted.violations
        for one in broken:
            _say(f"a request broke a rule of the API: {one}")
        return code or (1 if broken else 0)

    def _real(self, model: str) -> int:
        """Roost as the user has set it up."""
        options = ["--time-limit", _EMBEDDED_SECONDS] if self._embedded else []
        return run_roost(self._shop, PROMPT, model, dict(os.environ), options)

    def _judged(self, code: int) -> int:
        if code != 0:
            return _failed(f"roost ended with exit code {code}")
        _say("\nThe tests of the repository, run once more by the demo itself:")
        if left := failures(self._shop):
            return _failed(f"they still fail:\n{_summary(left)}")
        _say("  all green.\n")
        _say(next_steps())
        return 0

    def _judged_embedded(self, code: int) -> int:
        """Good when the model has answered at all."""
        messages = messages_of(self._shop, dict(os.environ))
        written = [one["info"].get("tokens", {}).get("output", 0) for one in messages]
        answers = sum(count > 0 for count in written)
        if not answers:
            return _failed(f"the embedded model did not run (roost ended with {code})")
        if not failures(self._shop):
            _say("\nThe embedded model ran and mended the sample: its tests are green.")
            return 0
        folder = model_folder(os.environ)
        _say(UNSOLVED.format(answers=answers, tokens=sum(written), folder=folder).rstrip())
        return 0

    def leave(self) -> None:
        """Take away what the demo made, the session in the user's home too; or say where it is."""
        if self._keep:
            _say(way_back(self._folder, self._shop, self._home))
            return
        try:
            if self._home is None and self._shop.is_dir():
                forget(self._shop, dict(os.environ))
        except subprocess.CalledProcessError as error:
            _failed(f"the session of the demo could not be deleted: {error.stderr.decode()}")
        shutil.rmtree(self._folder, ignore_errors=True)


def _summary(report: str) -> str:
    """The lines of a test report that name what fails."""
    lines = [line for line in report.splitlines() if line.startswith(("FAIL", "ERROR"))]
    return "\n".join(f"  {line}" for line in lines or report.splitlines()[-3:])


def _failed(words: str) -> int:
    print(words, file=sys.stderr, flush=True)
    return 1


def _say(words: str) -> None:
    print(words, flush=True)
