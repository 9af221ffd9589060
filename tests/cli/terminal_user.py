"""A person at a terminal, in a test: a home, a folder, a scripted model and the real command."""

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, Any

import pytest

from roost.cli.dispatch import dispatch
from scripted_model.server import ScriptedModel

KEY = "canary-key-000-111"
ROOST = [sys.executable, "-m", "roost.cli"]


class Done:
    """A command that has ended."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code = code
        self.out = out
        self.err = err

    @property
    def lines(self) -> list[dict[str, Any]]:
        """stdout as JSON lines."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def result(self) -> dict[str, Any]:
        """The last of them."""
        assert self.lines, self.err
        assert self.lines[-1]["type"] == "result", self.lines[-1]
        return self.lines[-1]

    def kinds(self) -> list[str]:
        """The types of the lines."""
        return [line["type"] for line in self.lines]


class User:
    """Runs commands in `folder` against `model`."""

    def __init__(
        self, place: Path, model: ScriptedModel, capture: pytest.CaptureFixture[str]
    ) -> None:
        self._capture = capture
        self.model = model
        self.home = place / "home"
        self.folder = place / "project"
        self.folder.mkdir()
        self.environment = {
            "HOME": str(place),
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "ROOST_HOME": str(self.home),
            "DEMO_API_KEY": KEY,
            "ROOST_CONFIG_CONTENT": json.dumps(
                {
                    "model": "test/scripted",
                    "provider": {
                        "test": {
                            "npm": "@ai-sdk/openai-compatible",
                            "env": ["DEMO_API_KEY"],
                            "options": {
                                "baseURL": f"{model.url}/v1",
                                "apiKey": "{env:DEMO_API_KEY}",
                            },
                            "models": {
                                "scripted": {
                                    "cost": {"input": 1, "output": 2},
                                    "modalities": {"input": ["text", "image"]},
                                }
                            },
                        }
                    },
                }
            ),
        }

    def start(
        self, *words: str, stdin: int | IO[bytes] = subprocess.DEVNULL, **more: Any
    ) -> "subprocess.Popen[str]":
        """Start a command in a session of its own; `more` is for `Popen`."""
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more}
        program = streams.pop("program", ROOST)
        variables = {**self.environment, **streams.pop("env", {})}
        return subprocess.Popen(
            [*program, *words],
            env=variables,
            cwd=self.folder,
            stdin=stdin,
            text=True,
            start_new_session=True,
            **streams,
        )

    def run(self, *words: str, timeout: float = 40, given: str | None = None, **more: Any) -> Done:
        """Run a command to its end; `given` is piped in."""
        stdin = subprocess.DEVNULL if given is None else subprocess.PIPE
        return ended(self.start(*words, stdin=stdin, **more), timeout=timeout, given=given)

    def call(self, *words: str, given: str = "", env: dict[str, str] | None = None) -> Done:
        """Run a command that only looks at things in this process, which takes no start."""
        stdin = io.TextIOWrapper(io.BytesIO(given.encode()))
        with pytest.MonkeyPatch.context() as patch, contextlib.chdir(self.folder):
            for name in list(os.environ):
                patch.delenv(name)
            for name, value in {**self.environment, **(env or {})}.items():
                patch.setenv(name, value)
            patch.setattr(sys, "stdin", stdin)
            self._capture.readouterr()
            code = dispatch(list(words))
            shown = self._capture.readouterr()
        return Done(code, shown.out, shown.err)


def ended(process: "subprocess.Popen[str]", timeout: float = 40, given: str | None = None) -> Done:
    """Wait for the end of a command."""
    try:
        out, err = process.communicate(given, timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        raise AssertionError(f"no end after {timeout} s\n{out}\n{err}") from None
    return Done(process.returncode, out or "", err or "")


def read_until(stream: IO[str], needle: str, timeout: float = 20) -> str:
    """What comes from a pipe up to and with `needle`."""
    descriptor = stream.fileno()
    os.set_blocking(descriptor, False)
    seen = b""
    deadline = time.monotonic() + timeout
    while needle.encode() not in seen:
        assert time.monotonic() < deadline, f"no {needle!r} in {seen!r}"
        try:
            seen += os.read(descriptor, 65_536)
        except BlockingIOError:
            time.sleep(0.01)
    os.set_blocking(descriptor, True)
    return seen.decode()
