"""What may be written where: colours, icons, and output that survives a reader who leaves."""

import contextlib
import errno
import os
import select
import shutil
import stat
import threading
from collections.abc import Mapping
from typing import Final, Literal, TextIO

from msgspec import Struct

from roost.core.errors import StorageError

Colour = Literal["red", "green", "yellow", "blue", "magenta", "cyan", "dim", "bold"]
_CODES: Final[dict[Colour, str]] = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "magenta": "35",
    "cyan": "36",
}


_NOBODY_THERE: Final = {errno.EPIPE, errno.EIO, errno.EBADF, errno.ENXIO}
"""The reader left, the terminal went away, the stream was closed."""
_AT_ONCE: Final = 1_000
"""Characters that fit into a pipe that has room for anything (4,096 bytes)."""


class Look(Struct, frozen=True):
    """How text may look on one stream."""

    colour: bool = False
    unicode: bool = True

    def paint(self, text: str, *colours: Colour) -> str:
        """`text` in `colours`, or as it is where there are none. Empty text stays empty."""
        if not self.colour or not text:
            return text
        codes = ";".join(_CODES[colour] for colour in colours)
        return f"\x1b[{codes}m{text}\x1b[0m"

    def icon(self, beautiful: str, plain: str) -> str:
        """`beautiful` where the stream can show it."""
        return beautiful if self.unicode else plain


def look_of(stream: TextIO | None, environ: Mapping[str, str]) -> Look:
    """Colour only on a terminal that can, and never when `NO_COLOR` is set."""
    if stream is None:
        return Look()
    able = is_terminal(stream) and environ.get("TERM", "") not in {"", "dumb"}
    encoding = (stream.encoding or "").lower().replace("-", "")
    return Look(able and not environ.get("NO_COLOR"), encoding.startswith("utf"))


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a person sees what is written; False for a closed stream."""
    with contextlib.suppress(ValueError):
        return stream is not None and stream.isatty()
    return False


def columns_of(stream: TextIO | None) -> int | None:
    """Cells of a line on the terminal that `stream` is; None if it is none."""
    return shutil.get_terminal_size().columns if is_terminal(stream) else None


def is_regular_file(stream: TextIO | None) -> bool:
    """Whether the stream is redirected to a file, which nobody watches as it grows."""
    if stream is None:
        return False
    with contextlib.suppress(OSError, ValueError):
        return stat.S_ISREG(os.fstat(stream.fileno()).st_mode)
    return False


def is_one_place(stream: TextIO | None, other: TextIO | None) -> bool:
    """Whether both are written to one file, pipe or terminal, as after `2>&1`."""
    if stream is None or other is None:
        return False
    with contextlib.suppress(OSError, ValueError):
        return os.path.sameopenfile(stream.fileno(), other.fileno())
    return False


class Output:
    """Writes text to one stream as bytes, at once and whole.

    What is `needed` is the result of the command; the rest may get lost where it cannot be written.
    """

    def __init__(self, stream: TextIO | None, *, needed: bool = True) -> None:
        self._stream = stream
        self._needed = needed
        self._writing = threading.Lock()
        self.broken = stream is None
        """Nobody reads any more; what is written is dropped."""

    @property
    def lost(self) -> bool:
        """There was a reader, and it has left."""
        return self.broken and self._stream is not None

    def is_ready(self, text: str) -> bool:
        """Whether `text` can be written without waiting for whoever reads.

        Never of a terminal, which may have room for less than it says.
        """
        if self.broken or self._stream is None or not text:
            return True
        if len(text) > _AT_ONCE or is_terminal(self._stream):
            return False
        with contextlib.suppress(OSError, ValueError):
            return _writable(self._stream.fileno(), seconds=0)
        return False

    def write(self, text: str) -> None:
        """Write `text`; characters that the stream's encoding lacks become `?`.

        Raises `StorageError` for a fault that the user must hear of, such as a full disk.
        """
        if self.broken or self._stream is None or not text:
            return
        data = text.encode(self._stream.encoding or "utf-8", "replace")
        try:
            with self._writing:
                self._stream.flush()
                _write_all(self._stream.fileno(), data)
        except ValueError:
            self.broken = True
        except OSError as error:
            if self._needed and error.errno not in _NOBODY_THERE:
                what = f"the output cannot be written: {error.strerror}"
                raise StorageError(what, hint="Free some space, or write elsewhere.") from error
            self.broken = True

    def drain(self) -> None:
        """Return when what another thread is writing has been written."""
        with self._writing:
            pass


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(descriptor, view) :]
        except BlockingIOError:
            # Another program made our shared terminal non-blocking: wait as a blocking one would.
            _writable(descriptor)


def _writable(descriptor: int, seconds: float | None = None) -> bool:
    """Whether something can be written within `seconds`; None: wait until it can."""
    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)
    return bool(poll.poll(None if seconds is None else seconds * 1000))
