"""The program in a home of its own, with a session that is shortened again and again."""

import json
import os
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from benchmarks.programs import BIN
from benchmarks.recall.player import Arm
from scripted_model.recording import Record
from scripted_model.scenario import Script, scenario
from scripted_model.server import ScriptedModel

WINDOW: Final = 40_000
OUTPUT: Final = 4_000
WIDE: Final = 10_000_000
"""The window of what must not be shortened: those who look things up, and the arm without."""
KEY: Final = "sk-recall"
_SECONDS: Final = 60.0
"""Of one run of the program."""
_STUB: Final = "#!/bin/sh\necho ok\n"


class Stage:
    """A project, and the scripted model that it is worked on with."""

    def __init__(self, arm: Arm, folder: Path, model: ScriptedModel) -> None:
        self.arm: Arm = arm
        self.project = folder / "project"
        (self.project / "logs").mkdir(parents=True)
        stub = self.project / "dev"
        stub.write_text(_STUB)
        stub.chmod(0o755)
        self._folder = folder
        self._model = model
        self._session = ""

    def work(self, player: Script, prompt: str) -> list[Record]:
        """A turn of the session, which begins with the first; the requests of it.

        Raises `RuntimeError` if it fails, or if a rule of the provider was broken.
        """
        more = ["--session", self._session] if self._session else []
        session, records = self._run(player, prompt, *more)
        self._session = session
        return records

    def look_up(self, seeker: Script) -> None:
        """A session of the same project in which things are looked for."""
        self._run(seeker, "Look these things up.", "--model", "test/wide")

    def _run(self, script: Script, prompt: str, *options: str) -> tuple[str, list[Record]]:
        before = len(self._model.requests)
        self._model.use(script)
        command = [BIN / "roost", "run", "--format", "json", "--yes", *options, "--", prompt]
        done = subprocess.run(
            command,
            env=self._environment(),
            cwd=self.project,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        self._model.wait_until_quiet()
        broken = [one for one in self._model.requests[before:] if one.violations]
        if done.returncode or broken:
            told = broken[0].violations if broken else (done.stderr or done.stdout).strip()[-600:]
            raise RuntimeError(f"roost run ended with {done.returncode}: {told}")
        result = json.loads(done.stdout.splitlines()[-1])
        return str(result["sessionID"]), self._model.requests[before:]

    def _environment(self) -> dict[str, str]:
        return {
            "HOME": str(self._folder),
            "ROOST_HOME": str(self._folder / "home"),
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "RECALL_KEY": KEY,
            "ROOST_CONFIG_CONTENT": json.dumps(self._config()),
        }

    def _config(self) -> dict[str, Any]:
        models = {
            "scripted": {"limit": {"context": window_of(self.arm), "output": OUTPUT}},
            "wide": {"limit": {"context": WIDE, "output": OUTPUT}},
        }
        provider = {
            "npm": "@ai-sdk/openai-compatible",
            "env": ["RECALL_KEY"],
            "options": {"baseURL": f"{self._model.url}/v1", "apiKey": "{env:RECALL_KEY}"},
            "models": models,
        }
        return {
            "model": "test/scripted",
            "provider": {"test": provider},
            "limits": {"retry_wait": 0.05},
            "compaction": {"auto": self.arm != "off"},
            "checkpoint": {"enabled": self.arm != "compaction"},
        }


def window_of(arm: Arm) -> int:
    """The window of the model that the session is worked on with."""
    return WIDE if arm == "off" else WINDOW


@contextmanager
def staged(arm: Arm) -> Generator[Stage]:
    """A stage that is gone after the block. The model refuses what is longer than its window."""
    windows = {"scripted": window_of(arm), "wide": WIDE}
    with (
        TemporaryDirectory(prefix="roost-recall-") as folder,
        ScriptedModel(
            scenario("unused"), api_key=KEY, models=list(windows), context=windows, keep=3
        ) as model,
    ):
        yield Stage(arm, Path(folder), model)
