"""Output of any length in constant memory: its beginning, its end, and the whole in a file."""

import os
import re
from pathlib import Path
from typing import Final

from msgspec import Struct

from roost.core.secrets import Secrets
from roost.core.text import decode
from roost.workspace.terminal_text import shown

_SEAM: Final = b"\n\x1dcut here\x1d\n"
_CONTINUATION: Final = re.compile(rb"^[\x80-\xbf]{1,3}")
_INCOMPLETE: Final = re.compile(
    rb"(?:[\xc0-\xff]|[\xe0-\xff][\x80-\xbf]|[\xf0-\xff][\x80-\xbf]{2})$"
)


class OutputLimits(Struct, frozen=True):
    """How much of a command's output is kept where, in bytes."""

    head: int = 64 * 1024
    tail: int = 64 * 1024
    file: int = 64 * 1024 * 1024
    """The rest is counted and thrown away."""
    flood: int = 2 * 1024 * 1024 * 1024
    """A command that writes more is stopped."""


class Output(Struct, frozen=True):
    """What a command wrote, decoded and free of control characters."""

    head: str
    """All of it, or its beginning if some was omitted."""
    tail: str
    """Its end; empty if nothing was omitted."""
    total: int
    """Bytes written."""
    omitted: int
    """Bytes between `head` and `tail`."""
    discarded: int
    """Bytes that are not in the file either."""
    file: Path | None
    """Holds the raw bytes; None while everything is in `head`."""

    @property
    def text(self) -> str:
        """Head and tail, with a line between them that says what is missing."""
        if not self.omitted:
            return self.head
        where = f"; see {self.file}" if self.file else ""
        return f"{self.head}\n[… {self.omitted:,} bytes left out{where} …]\n{self.tail}"


class OutputBuffer:
    """Collects output. The file at `path` is only made when memory does not suffice."""

    def __init__(
        self, path: Path | None, limits: OutputLimits, secrets: Secrets | None = None
    ) -> None:
        self.total = 0
        self._secrets = (secrets or Secrets({})).stream()
        self._path = path
        self._limits = limits
        self._head = bytearray()
        self._tail = bytearray()
        self._file: int | None = None
        self._written = 0
        self._failed = False

    @property
    def flooded(self) -> bool:
        """Whether more came than any command may write."""
        return self.total > self._limits.flood

    @property
    def full(self) -> bool:
        """Whether further output would be thrown away."""
        return self.total >= self._limits.file

    def feed(self, data: bytes) -> None:
        """Take in the next bytes, without the secrets in them."""
        self._keep(self._secrets.feed(data))

    def _keep(self, data: bytes) -> None:
        fitting = len(self._head) + len(self._tail) == self.total
        room = self._limits.head - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        self.total += len(data)
        if self._file is not None:
            self._append(data)
        elif fitting and len(self._tail) > self._limits.tail:
            self.keep_file()
        if len(self._tail) > 2 * self._limits.tail:
            del self._tail[: -self._limits.tail]

    def keep_file(self) -> None:
        """Write the file from now on, whatever the size. Must come before anything is omitted."""
        if self._path is None or self._file is not None or self._failed:
            return
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._file = os.open(self._path, flags, 0o600)
        except OSError:
            self._failed = True
            return
        self._append(self._head + self._tail)

    def close(self) -> None:
        """Close the file; what is in memory can still be read."""
        self._keep(self._secrets.rest())
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def end_text(self, limit: int) -> str:
        """The last `limit` characters or so of what was written so far."""
        wanted = 4 * limit  # no encoding needs more bytes for a character
        data = bytes(self._tail[-wanted:])
        if len(data) < wanted and len(self._head) + len(self._tail) == self.total:
            data = bytes(self._head[len(data) - wanted :]) + data
        if data[-limit:].isascii():
            data = data[-limit:]
        return _decoded(_CONTINUATION.sub(b"", data))[-limit:]

    def result(self) -> Output:
        """Everything so far; the encoding is decided once for all of it."""
        self._keep(self._secrets.rest())
        tail = bytes(self._tail[-self._limits.tail :])
        omitted = self.total - len(self._head) - len(tail)
        if omitted > 0:
            head, end = _decoded_pair(
                _INCOMPLETE.sub(b"", self._head), _CONTINUATION.sub(b"", tail)
            )
        else:
            head, end = _decoded(bytes(self._head + self._tail)), ""
        return Output(
            head=head,
            tail=end,
            total=self.total,
            omitted=max(omitted, 0),
            discarded=self.total - self._written if self._written or omitted > 0 else 0,
            file=self._path if self._written else None,
        )

    def _append(self, data: bytes | bytearray) -> None:
        room = self._limits.file - self._written
        if self._file is None or self._failed or room <= 0:
            return
        try:
            self._written += os.write(self._file, memoryview(data)[:room])
        except OSError:
            # A full disk must not stop the command; `discarded` says what is missing.
            self._failed = True


def _decoded(data: bytes) -> str:
    return shown(decode(data))


def _decoded_pair(head: bytes, tail: bytes) -> tuple[str, str]:
    """Two pieces of one output, decoded alike."""
    first, seam, second = _decoded(_SEAM.join((head, tail))).partition(_decoded(_SEAM))
    return (first, second) if seam else (_decoded(head), _decoded(tail))
