"""What the user says to `roost run`: words of the command line, piped input, attached files."""

import os
import select
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from roost.core.errors import UsageError
from roost.core.text import decode

GRACE_SECONDS: Final = 0.1
"""How long a pipe may be silent before a prompt on the command line goes on without it."""
PAUSE_SECONDS: Final = 2.0
"""How long a pipe that has begun to speak may pause before it counts as left open."""
LARGEST: Final = 20_000_000
"""Bytes taken from stdin."""
_CHUNK: Final = 65_536


class PipedInput:
    """Reads what is piped in, on a thread of its own while the program starts.

    Beside a prompt on the command line nothing is waited for: a pipe that is silent is left alone,
    and so is one that stays open after it has spoken. Without a prompt all of it is read.
    """

    def __init__(self, *, beside_words: bool, descriptor: int | None = None) -> None:
        self._patient = not beside_words
        self._descriptor = _stdin() if descriptor is None else descriptor
        self._data = bytearray()
        self.left_open = False
        """What came may not have been everything."""
        self._error: OSError | None = None
        self._thread = threading.Thread(target=self._read, name="roost-stdin", daemon=True)
        self._started = self._descriptor is not None and not self._on_terminal()
        if self._started:
            self._thread.start()

    def _on_terminal(self) -> bool:
        return self._descriptor is not None and os.isatty(self._descriptor)

    def text(self) -> str:
        """All that came. Raises `UsageError` when it is too much or cannot be read."""
        if self._started:
            self._thread.join()
        if self._error is not None:
            raise UsageError(f"stdin cannot be read: {self._error.strerror}")
        if len(self._data) > LARGEST:
            raise UsageError(
                f"more than {LARGEST // 1_000_000} MB were piped in",
                hint="Save it to a file and tell the agent its path.",
            )
        return decode(bytes(self._data))

    def _read(self) -> None:
        assert self._descriptor is not None
        wait = GRACE_SECONDS
        try:
            while self._patient or _is_ready(self._descriptor, wait):
                chunk = os.read(self._descriptor, _CHUNK)
                if not chunk:
                    return
                self._data += chunk
                if len(self._data) > LARGEST:
                    return
                wait = PAUSE_SECONDS
            self.left_open = bool(self._data)
        except OSError as error:
            self._error = error


def _stdin() -> int | None:
    """The descriptor of stdin, or None when it is closed."""
    try:
        return None if sys.stdin is None else sys.stdin.fileno()
    except (OSError, ValueError):
        return None


def _is_ready(descriptor: int, seconds: float) -> bool:
    """Whether there is something to read, or its end, within `seconds`."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN | select.POLLHUP | select.POLLERR)
    deadline = time.monotonic() + seconds
    while True:
        left = deadline - time.monotonic()
        if poll.poll(max(0, left) * 1000):
            return True
        if left <= 0:
            return False


def full_prompt(words: Sequence[str], piped: str) -> str:
    """The prompt of both. Raises `UsageError` when it says nothing."""
    said = " ".join(words)
    prompt = "\n\n".join(part for part in (said, piped.rstrip("\n")) if part.strip())
    if not prompt.strip():
        raise UsageError(
            "there is no prompt", hint='Say what is to be done: roost run "fix the tests".'
        )
    return prompt


def read_format(path: Path) -> dict[str, Any]:
    """The format of an answer that fits the JSON Schema in the file. Raises `UsageError`."""
    import msgspec

    from roost.tools.answer_format import check_format

    try:
        schema = msgspec.json.decode(path.read_bytes())
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read: {error.strerror}",
            hint="--schema takes a file, not the schema.",
        ) from error
    except msgspec.DecodeError as error:
        raise UsageError(
            f"{path}: is not JSON: {error}", hint="It has to hold a JSON Schema and nothing else."
        ) from error
    made = {"type": "json_schema", "schema": schema}
    try:
        check_format(made)
    except UsageError as error:
        message = error.message.removeprefix("format.schema")
        raise UsageError(f"{path}{message}", hint=error.hint) from error
    return made


class Attachment:
    """A file of the command line, as the runtime wants it."""

    def __init__(self, name: str, directory: Path) -> None:
        self.path = (directory / name).absolute()
        try:
            self.path.stat()
        except OSError as error:
            raise UsageError(
                f"{name} cannot be attached: {error.strerror}",
                hint=f"Paths start from {directory}; a blank in one wants quotes.",
            ) from error

    @property
    def url(self) -> str:
        """`file:///…`"""
        return self.path.as_uri()

    @property
    def mime(self) -> str:
        """What the content is, else a guess by the name."""
        if self.path.is_dir():
            return "application/x-directory"
        if (known := self._media_type()) is not None:
            return known
        import mimetypes  # only when something is attached

        guess, _ = mimetypes.guess_type(self.path.name)
        is_media = guess is not None and (guess.startswith("image/") or guess == "application/pdf")
        return guess if guess is not None and is_media else "text/plain"

    def _media_type(self) -> str | None:
        from roost.workspace.media import media_type  # only when something is attached

        try:
            with self.path.open("rb") as file:
                return media_type(file.read(16))
        except OSError:
            return None  # the runtime says why it cannot be read
