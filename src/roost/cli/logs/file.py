"""The log file that all processes of a user write to at once, a bounded number of bytes in all.

Every line is one unbuffered append, so that a kill loses none and two writers never mix. Who finds
the file full sets it aside under a lock, and the others notice before their next line.
"""

import contextlib
import faulthandler
import fcntl
import logging
import os
from pathlib import Path
from typing import Final

NAME: Final = "roost.log"
LARGEST: Final = 5_000_000
"""Bytes after which the file is set aside."""
ASIDE: Final = 4
"""Files set aside that are kept, as `roost.log.1` (the newest) to `roost.log.4`."""


class LogFile(logging.Handler):
    """Writes each record at once. Raises `OSError` when the file cannot be opened."""

    def __init__(self, path: Path, *, largest: int = LARGEST, aside: int = ASIDE) -> None:
        super().__init__()
        self.path = path
        self._largest = largest
        self._aside = aside
        self._descriptor = _open(path)
        faulthandler.enable(self._descriptor)

    def emit(self, record: logging.LogRecord) -> None:
        """Append `record`; on a full disk the line is lost, since there is nowhere to say so."""
        line = (self.format(record) + "\n").encode("utf-8", "replace")
        with contextlib.suppress(OSError):
            if not self._is_current():
                self._reopen()
            if self._is_full(len(line)):
                self._set_aside()
            os.write(self._descriptor, line)

    def _is_current(self) -> bool:
        """Whether the open file still is the one of that name."""
        try:
            there = self.path.stat()
        except FileNotFoundError:
            return False
        return os.path.samestat(there, os.fstat(self._descriptor))

    def _is_full(self, more: int) -> bool:
        size = os.fstat(self._descriptor).st_size
        return size > 0 and size + more > self._largest

    def _reopen(self) -> None:
        fresh = _open(self.path)
        faulthandler.enable(fresh)
        os.close(self._descriptor)
        self._descriptor = fresh

    def _set_aside(self) -> None:
        """Begin a new file, unless another process is about to, or has done so."""
        lock = _open(self.path.with_suffix(".lock"))
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if self._is_current():
                for path, older in _moves(self.path, self._aside):
                    with contextlib.suppress(FileNotFoundError):
                        path.replace(older)
            self._reopen()
        except BlockingIOError:
            return  # it is being done; a few lines more do no harm
        finally:
            os.close(lock)

    def close(self) -> None:
        """Close the file."""
        if self._descriptor < 0:
            return
        faulthandler.disable()
        os.close(self._descriptor)
        self._descriptor = -1
        super().close()


def files_of(path: Path) -> list[Path]:
    """The log file and those set aside that are there, the newest first."""
    names = [path, *(older for _, older in reversed(_moves(path, ASIDE)))]
    return [name for name in names if name.exists()]


def _moves(path: Path, aside: int) -> list[tuple[Path, Path]]:
    """Which file takes which name when a new one begins, in the order in which that is done."""
    names = [path, *(path.with_name(f"{path.name}.{number}") for number in range(1, aside + 1))]
    return [(names[at], names[at + 1]) for at in reversed(range(aside))]


def _open(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
