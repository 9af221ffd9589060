"""A terminal that a program runs in and a test looks at: tmux, one server for each."""

import os
import shutil
import subprocess
import time
import uuid
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest

SECONDS = 60.0
"""For what is waited for on the screen."""
COLUMNS, ROWS = 150, 60


class Terminal:
    """Use as a context manager; the program ends with it."""

    def __init__(self, command: list[str], *, cwd: Path, environment: dict[str, str]) -> None:
        if shutil.which("tmux") is None:
            pytest.skip("tmux is not installed")
        self._name = f"roost-{os.getpid()}-{uuid.uuid4().hex[:8]}"
        self._command = command
        self._cwd = cwd
        self._environment = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", **environment}

    def __enter__(self) -> Self:
        size = ("-x", str(COLUMNS), "-y", str(ROWS))
        self._tmux("-f", os.devnull, "new-session", "-d", "-s", "one", *size, *self._command)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._tmux("kill-server", check=False)

    def _tmux(self, *arguments: str, check: bool = True) -> str:
        return subprocess.run(
            ["tmux", "-L", self._name, *arguments],
            cwd=self._cwd,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=20,
            check=check,
        ).stdout

    @property
    def screen(self) -> str:
        """What is shown, without blanks at the ends of lines."""
        shown = self._tmux("capture-pane", "-p", "-t", "one")
        return "\n".join(line.rstrip() for line in shown.splitlines())

    def keys(self, *names: str) -> None:
        """Press keys by tmux's names for them, one after the other."""
        for name in names:
            self._tmux("send-keys", "-t", "one", name)
            time.sleep(0.1)  # a program tells a lone Escape from the start of a sequence by time

    def write(self, text: str) -> None:
        """Type text, and see it arrive; a program that just begins may drop keys."""
        for _ in range(3):
            self._tmux("send-keys", "-t", "one", "-l", text)
            if self._shows(text, seconds=SECONDS / 6):
                return
            self.keys("C-u")
        raise AssertionError(f"{text!r} cannot be typed into\n{self.screen}")

    def see(self, *texts: str, seconds: float = SECONDS) -> str:
        """Wait until all of `texts` are on the screen, and give it."""
        for text in texts:
            shown = self._shows(text, seconds=seconds)
            assert shown, f"there is no {text!r} on the screen:\n{self.screen}"
        return self.screen

    def press_until(self, key: str, text: str) -> None:
        """Press a key, again if need be, until `text` is on the screen."""
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            self.keys(key)
            if self._shows(text, seconds=3):
                return
        raise AssertionError(f"{key} does not bring {text!r} to the screen:\n{self.screen}")

    def see_gone(self, text: str) -> None:
        """Wait until `text` is on the screen no more."""
        deadline = time.monotonic() + SECONDS
        while text in self.screen:
            assert time.monotonic() < deadline, f"{text!r} stays on the screen:\n{self.screen}"
            time.sleep(0.1)

    def _shows(self, text: str, *, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while text not in self.screen:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.1)
        return True
