"""The demo from start to end; exit code 0 only when the sample's tests are green afterwards."""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from demo.run import SCRIPTED, isolated, run_roost
from demo.sample import failures, make_repository
from demo.script import script
from roost.llm.gguf import known_models, model_folder, runtime_is_installed
from scripted_model.demo import PROMPT
from scripted_model.process import ScriptedProcess

_REAL = """\
With a real model: set its key, such as ANTHROPIC_API_KEY or OPENAI_API_KEY (or start Ollama), then
  make demo MODEL=anthropic/claude-sonnet-5-5    does the same with that model, and
  roost run "what does this project do?"         works in any folder of yours."""
_INSTALL = """\
The embedded model needs a program and a file that are not installed: `make local` brings both
(a tiny model, for a first try). Any other .gguf file may be put into {folder}."""


def main() -> int:
    """Make the sample, repair it, check it."""
    parser = argparse.ArgumentParser("python -m demo", description=__doc__)
    parser.add_argument("--model", metavar="NAME", help="provider/model, or `local`")
    parser.add_argument("--keep", action="store_true", help="leave the folder for a look")
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="roost-demo-"))
    try:
        return _demo(folder, given.model)
    except (OSError, RuntimeError, subprocess.SubprocessError) as error:
        return _failed(f"the demo could not run: {error}")
    finally:
        if given.keep:
            _say(f"The folder is kept: {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)


def _demo(folder: Path, model: str | None) -> int:
    shop = folder / "shop"
    if model == "local" and (model := _local()) is None:
        return 1
    make_repository(shop)
    _say(f"A small repository with two bugs was made in {shop}. Its tests fail:\n")
    _say(_summary(failures(shop)))
    _say(f'\n$ roost run --yes "{PROMPT}"')
    code = _scripted(folder, shop) if model is None else _real(shop, model)
    if code != 0:
        return _failed(f"roost ended with exit code {code}")
    _say("\nThe tests of the repository, run once more by the demo itself:")
    if left := failures(shop):
        return _failed(f"they still fail:\n{_summary(left)}")
    _say("  all green.\n")
    _say(_REAL)
    return 0


def _scripted(folder: Path, shop: Path) -> int:
    """Roost on a scripted model: a process of its own that speaks HTTP like a real one."""
    with ScriptedProcess(script()) as scripted:
        code = run_roost(shop, PROMPT, SCRIPTED, isolated(folder / "home", scripted.url))
        broken = scripted.violations
    for one in broken:
        _say(f"a request broke a rule of the API: {one}")
    return code or (1 if broken else 0)


def _real(shop: Path, model: str) -> int:
    """Roost as the user has set it up."""
    return run_roost(shop, PROMPT, model, dict(os.environ))


def _local() -> str | None:
    """The first embedded model, or None after telling what to install."""
    models = known_models(os.environ) if runtime_is_installed() else []
    if not models:
        _say(_INSTALL.format(folder=model_folder(os.environ)))
        return None
    return f"local/{models[0].stem}"


def _summary(report: str) -> str:
    """The lines of a test report that name what fails."""
    lines = [line for line in report.splitlines() if line.startswith(("FAIL", "ERROR"))]
    return "\n".join(f"  {line}" for line in lines or report.splitlines()[-3:])


def _failed(words: str) -> int:
    print(words, file=sys.stderr, flush=True)
    return 1


def _say(words: str) -> None:
    print(words, flush=True)


if __name__ == "__main__":
    sys.exit(main())
