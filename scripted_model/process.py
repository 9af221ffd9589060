"""The scripted model in a process of its own: for benchmarks, and for tests that kill things."""

import json
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, cast

import msgspec

from scripted_model.scenario import Scenario

_ROOT: Final = Path(__file__).parent.parent


class ScriptedProcess:
    """Runs `python -m scripted_model` with a scenario; it dies with the process that started it."""

    def __init__(self, scenario: Scenario, *options: str) -> None:
        """`options`: more of the command line, for example `"--lenient"`."""
        self._scenario = scenario
        self._options = options
        self._folder = tempfile.TemporaryDirectory(prefix="scripted-model-")
        self._process: subprocess.Popen[bytes] | None = None
        self.url = ""
        """The root of the server, without `/v1`."""

    @property
    def pid(self) -> int:
        """The process id, for measuring it."""
        return self._process.pid if self._process is not None else 0

    def __enter__(self) -> Self:
        path = Path(self._folder.name) / "scenario.json"
        path.write_bytes(msgspec.json.encode(self._scenario))
        self._process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "scripted_model",
                "--scenario",
                path,
                "--until-eof",
                *self._options,
            ],
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().decode().strip()
        if not self.url:
            raise RuntimeError("the scripted model did not start")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.communicate(timeout=10)
        self._folder.cleanup()

    def state(self) -> dict[str, Any]:
        """Counts, broken rules, outcomes and waiting barriers."""
        with urllib.request.urlopen(f"{self.url}/control/state", timeout=10) as response:
            return cast("dict[str, Any]", json.load(response))

    @property
    def violations(self) -> list[dict[str, Any]]:
        """Every broken rule so far."""
        return self.state()["violations"]

    def release(self, name: str) -> None:
        """Open a barrier."""
        self._post(f"release?name={name}", b"")

    def use(self, scenario: Scenario) -> None:
        """Play another scenario from now on."""
        self._post("scenario", msgspec.json.encode(scenario))

    def wait_for_requests(self, count: int, *, timeout: float = 10.0) -> None:
        """Wait until `count` requests have come. Raises `TimeoutError`."""
        end = time.monotonic() + timeout
        while self.state()["requests"] < count:
            if time.monotonic() > end:
                raise TimeoutError(f"fewer than {count} requests within {timeout} s")
            time.sleep(0.02)

    def _post(self, what: str, body: bytes) -> None:
        request = urllib.request.Request(f"{self.url}/control/{what}", body, method="POST")
        with urllib.request.urlopen(request, timeout=10):
            pass
