"""Runs the real `roost run` on the sample and lets its output through as it comes."""

import contextlib
import json
import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import time
import tty
from collections.abc import Generator, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from demo.relay import Relay

SCRIPTED = "demo/scripted"
_SECONDS = 900
"""A real model on a slow machine may take its time."""
_ROOST = (sys.executable, "-m", "roost.cli")


def isolated(home: Path, url: str) -> dict[str, str]:
    """An environment in which Roost knows the scripted model at `url` and nothing of the user."""
    config = {
        "provider": {
            "demo": {
                "npm": "@ai-sdk/openai-compatible",
                "options": {"baseURL": f"{url}/v1", "apiKey": "demo"},
                "models": {"scripted": {"name": "Scripted model"}},
            }
        }
    }
    clean = {name: value for name, value in os.environ.items() if not name.startswith("ROOST_")}
    return {**clean, "ROOST_HOME": str(home), "ROOST_CONFIG_CONTENT": json.dumps(config)}


def run_roost(
    folder: Path, prompt: str, model: str, environment: dict[str, str], options: Sequence[str] = ()
) -> int:
    """Give `prompt` to Roost in `folder` and tell its exit code.

    Raises `subprocess.TimeoutExpired`.
    Both of its streams go to stdout, in their order. Ctrl-C is left to Roost, which ends in order.
    """
    # The commands of the script say `python3`: let that be the one that runs the demo.
    path = os.pathsep.join([str(Path(sys.executable).parent), environment.get("PATH", os.defpath)])
    command = [*_ROOST, "run", "--yes", "--dir", str(folder), *options]
    command += ["--model", model, "--", prompt]
    with _output() as (ours, theirs), _left_to_roost():
        process = subprocess.Popen(
            command,
            env={**environment, "PATH": path, "COLUMNS": str(shutil.get_terminal_size().columns)},
            stdin=subprocess.DEVNULL,
            stdout=theirs,
            stderr=theirs,
        )
        os.close(theirs)
        try:
            _let_through(process, ours)
        except BaseException:
            process.kill()
            raise
        finally:
            process.wait()
    return process.returncode


@contextlib.contextmanager
def _output() -> Generator[tuple[int, int]]:
    """Where output is read and where it is written: a terminal if the demo has one, for colours."""
    if sys.stdout.isatty():
        ours, theirs = pty.openpty()
        tty.setraw(theirs)
    else:
        ours, theirs = os.pipe()
    try:
        yield ours, theirs
    finally:
        os.close(ours)


@contextlib.contextmanager
def _left_to_roost() -> Generator[None]:
    """Ctrl-C reaches Roost too, and the demo ends when Roost has."""
    before = signal.signal(signal.SIGINT, _go_on)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _go_on(number: int, frame: FrameType | None) -> None:
    """Not SIG_IGN, which Roost would inherit."""


def _let_through(process: "subprocess.Popen[bytes]", source: int) -> None:
    relay = Relay()
    end = time.monotonic() + _SECONDS
    while True:
        if select.select([source], [], [], 0.5)[0]:
            data = _read(source)
            _show(relay.feed(data) if data else relay.close())
            if not data:
                return
        elif process.poll() is not None:
            return
        if time.monotonic() > end:
            raise subprocess.TimeoutExpired(process.args, _SECONDS)


def _read(source: int) -> bytes:
    """The next piece of output; nothing at its end, which a terminal shows as an error."""
    with contextlib.suppress(OSError):
        return os.read(source, 65_536)
    return b""


def _show(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def messages_of(folder: Path, environment: dict[str, str]) -> list[dict[str, Any]]:
    """The messages of the last session in `folder`; none without one."""
    command = [*_ROOST, "sessions", "export", "--dir", str(folder)]
    done = subprocess.run(command, env=environment, capture_output=True, check=False)
    return json.loads(done.stdout)["messages"] if done.returncode == 0 else []


def forget(folder: Path, environment: dict[str, str]) -> None:
    """Delete every session that works in `folder`, which goes. Raises CalledProcessError."""
    words = ["list", "--dir", str(folder), "--format", "json"]
    listed = subprocess.run(
        [*_ROOST, "sessions", *words], env=environment, capture_output=True, check=True
    )
    for session in json.loads(listed.stdout):
        if Path(session["directory"]) == folder.resolve():
            command = [*_ROOST, "sessions", "delete", session["id"], "--yes"]
            subprocess.run(command, env=environment, capture_output=True, check=True)
