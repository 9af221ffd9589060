"""A note of a working tree that is being made, which outlives the process that makes it.

Tree and session cannot be stored in one transaction. Whoever makes a tree first writes down which,
and strikes that out once there is a session for it or the tree is undone. As long as the process
lives it holds a lock on the note; the kernel gives it back at any kind of death. Who can take the
lock has proof that nobody goes on with the tree.
"""

import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

from roost.core.ids import new_id
from roost.workspace.worktrees import Begun

_ENDING: Final = ".making"
_LARGEST: Final = 64 * 1024
_WORDS: Final = 5
_OWN: Final = b"own"


class Noted(Struct, frozen=True):
    """What a note says."""

    repository: Path
    """A folder of the repository that the tree is of."""
    tree: Begun


class TreeNote:
    """The note of one tree. `done` must be called once somebody else knows of it, or it is gone."""

    def __init__(self, folder: Path, repository: Path) -> None:
        self._folder = folder
        self._repository = repository
        self._path: Path | None = None
        self._handle = -1

    def write(self, tree: Begun) -> None:
        """Note how far `tree` is, in the place of what was noted before. Raises `OSError`."""
        if self._path is None:
            self._path = self._opened()
        size = os.pwrite(self._handle, _written(self._repository, tree), 0)
        os.ftruncate(self._handle, size)

    def _opened(self) -> Path:
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = self._folder / f"{new_id('process')}{_ENDING}"
        unlocked = path.with_suffix(".new")  # no note is seen before its lock is held
        self._handle = os.open(unlocked, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._handle, fcntl.LOCK_EX)
        unlocked.rename(path)
        return path

    def done(self) -> None:
        """Strike the note out; harmless if nothing is noted."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)
            os.close(self._handle)
            self._path = None


def notes_in(folder: Path) -> list[Path]:
    """The notes in `folder`."""
    return sorted(folder.glob(f"*{_ENDING}"))


@contextmanager
def taken_over(path: Path) -> Generator[Noted | None]:
    """What the note of a dead process says, held so that nobody else acts on it in the block.

    None if its process lives or it is struck out; also where it cannot be read, and then it is
    struck out: nothing can be done about it.
    """
    try:
        handle = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        yield None
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield _read(handle, path) if path.exists() else None
    except BlockingIOError:
        yield None
    finally:
        os.close(handle)


def _written(repository: Path, tree: Begun) -> bytes:
    words = (str(repository), str(tree.directory), tree.branch, tree.commit)
    return b"\0".join((*map(os.fsencode, words), _OWN if tree.own else b""))


def _read(handle: int, path: Path) -> Noted | None:
    words = os.pread(handle, _LARGEST, 0).split(b"\0")
    if len(words) != _WORDS:
        with suppress(OSError):
            path.unlink()
        return None
    repository, directory, branch, commit, own = words
    tree = Begun(
        Path(os.fsdecode(directory)), os.fsdecode(branch), os.fsdecode(commit), own == _OWN
    )
    return Noted(Path(os.fsdecode(repository)), tree)
