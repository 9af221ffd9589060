"""Changing files of memory, so that two actors and two processes lose nothing of each other's.

Each change reads the file, makes new content of it and puts that in its place at once, all while
it holds the lock of the file. What an editor wrote meanwhile, which knows no locks, is seen and
taken as a reason to begin again.
"""

import fcntl
import os
import shutil
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from random import SystemRandom
from typing import Final

from roost.core.errors import ConflictError, NotFoundError, StorageError, UsageError
from roost.core.failpoints import failpoint
from roost.core.text import clean, decode
from roost.memory import sections
from roost.memory.layout import Layout, Located
from roost.workspace.atomic import StagedFile
from roost.workspace.openat import opened_file

ENTRY: Final = 4_096
"""Bytes of one entry."""
WAIT: Final = 20.0
"""Seconds that a change waits for others of the same file."""
_TRIES: Final = 5
_PAUSE: Final = 0.002
_MODE: Final = 0o600
_jitter = SystemRandom()


def read(located: Located) -> str:
    """The text of a file; empty if it is not there.

    Raises `UsageError` if it is no regular file, `ConflictError` if a link stands on the way.
    """
    data = read_bytes(located.path)
    return "" if data is None else decode(data)


def read_bytes(path: Path) -> bytes | None:
    """What stands in a file of memory, no link followed; None if there is none."""
    try:
        with opened_file(path) as descriptor, open(descriptor, "rb", closefd=False) as file:
            return file.read()
    except NotFoundError:
        return None


def append(located: Located, entry: str, heading: str = "") -> str:
    """Add `entry` at the end of the section `heading`, or of the file, and give the new text.

    Raises `UsageError` if the entry or the file would be too large.
    """
    entry = clean(entry)
    if (size := len(entry.encode())) > ENTRY:
        raise UsageError(
            f"the entry has {size:,} bytes; at most {ENTRY:,} are kept",
            hint="Keep the facts and leave out what the files of the project say themselves.",
        )
    return change(
        located, lambda text: sections.with_entry(text or _title(located), entry, heading)
    )


def update(located: Located, heading: str, was: str, new: str) -> str:
    """Replace what stands below `heading`, if it still reads as the hash `was` says; an empty `new`
    removes the section. Gives the new text of the file.

    Raises `NotFoundError`, `ConflictError` or `UsageError`.
    """
    new = clean(new)
    return change(located, lambda text: sections.with_section(text, heading, was, new))


def change(located: Located, made: Callable[[str], str]) -> str:
    """Put what `made` makes of the text in its place, and give it."""
    with locked(located.path):
        for _ in range(_TRIES):
            before = read_bytes(located.path)
            new = made("" if before is None else decode(before))
            _require_room(located, new, before)
            if _put(located.path, new.encode(), before):
                return new
    raise ConflictError(
        f"{located.name} is being changed by another program all the time",
        hint="Nothing was written. Try again.",
    )


def _put(path: Path, data: bytes, before: bytes | None) -> bool:
    """Whether `data` was put in the place of `before`; not if something else is there by now."""
    failpoint("memory.staging")
    with StagedFile(path, data, mode=_MODE) as staged:
        failpoint("memory.staged")
        if read_bytes(path) != before:
            return False
        staged.put()
    failpoint("memory.put")
    return True


def _require_room(located: Located, new: str, before: bytes | None) -> None:
    size = len(new.encode())
    if size <= located.largest or (before is not None and size <= len(before)):
        return
    advice = "Update or remove sections that are no longer true or needed"
    if located.scope == "project":
        advice += ", or keep a subject in a file of its own: project/MEMORY-<topic>.md"
    raise UsageError(
        f"{located.name} would hold {size:,} bytes; at most {located.largest:,} are kept",
        hint=f"{advice}. Nothing was written.",
    )


def _title(located: Located) -> str:
    titles = {
        "global": "# Memory of all projects\n\n",
        "project": "# Memory of this project\n\n",
        "session": "# Notes of this session\n\n",
    }
    return titles[located.scope]


@contextmanager
def locked(path: Path) -> Generator[None]:
    """Hold the lock of the file at `path` among all processes and threads.

    Raises `ConflictError` if it is not free within `WAIT` seconds, `StorageError` if the folder
    cannot be written.
    """
    place = path.with_name(f".{path.name}.lock")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if path.parent.resolve() != path.parent:
            raise ConflictError(f"{path}: a link stands in its path", hint="Remove the link.")
        descriptor = os.open(place, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, _MODE)
    except OSError as error:
        raise StorageError(
            f"{path}: memory cannot be written here: {error.strerror}",
            hint="Make its folder writable.",
        ) from error
    try:
        _acquire(descriptor, path)
        yield
    finally:
        os.close(descriptor)


def _acquire(descriptor: int, path: Path) -> None:
    deadline = time.monotonic() + WAIT
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError as error:
            if time.monotonic() > deadline:
                raise ConflictError(
                    f"{path} has been locked by another process for {WAIT:.0f} s",
                    hint="Nothing was written. Try again.",
                ) from error
        time.sleep(_PAUSE * _jitter.uniform(0.5, 1.5))


def forget_session(layout: Layout, session_id: str) -> None:
    """Remove the files of a session that was deleted. No link is followed out of its folder.

    Raises `StorageError` naming the folder if that cannot be done.
    """
    folder = layout.folder("session", session_id)
    if not folder.is_dir() or folder.resolve() != folder:
        return
    try:
        shutil.rmtree(folder)
    except OSError as error:
        raise StorageError(
            f"{folder}: the notes of a deleted session cannot be removed: {error.strerror}",
            hint="Remove the folder yourself.",
        ) from error
