"""Opening files so that a link swapped in after the check is not followed.

A checked path holds no links. It is walked from `/` one component at a time, each relative to the
descriptor of the one before and with `O_NOFOLLOW`, so whoever replaces a component by a link after
the check gets an error instead of somebody else's file.
"""

import os
import stat
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from roost.core.errors import ConflictError, NotFoundError, RoostError, UsageError

# O_PATH needs only search permission on the way, as ordinary path look-up does. Not on macOS.
_WALK: Final[int] = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | getattr(os, "O_PATH", 0)
# O_NONBLOCK: opening a pipe without a writer, or reading /proc/kmsg, must not hang.
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY

_KINDS: Final = {
    stat.S_IFDIR: "a directory",
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a character device",
    stat.S_IFBLK: "a block device",
}


class Place(NamedTuple):
    """A name inside an open directory."""

    directory: int
    """File descriptor, owned by whoever yielded the place."""
    name: str
    path: Path

    def status(self) -> os.stat_result | None:
        """What stands there, links not followed; None if nothing does."""
        try:
            return os.stat(self.name, dir_fd=self.directory, follow_symlinks=False)
        except FileNotFoundError:
            return None


def fault(path: Path, error: OSError) -> RoostError:
    """The error for people that an operating system's error about `path` amounts to."""
    if isinstance(error, FileNotFoundError):
        return NotFoundError(f"{path} does not exist", hint="Check the path, or list its folder.")
    if isinstance(error, PermissionError):
        return RoostError(
            f"{path}: permission denied", hint="The user who runs Roost lacks the right."
        )
    return RoostError(f"{path}: {error.strerror or error}")


def _enter(directory: int, name: str, walked: Path) -> int:
    try:
        return os.open(name, _WALK, dir_fd=directory)
    except NotADirectoryError:
        pass
    except OSError as error:
        raise fault(walked, error) from error
    status = os.stat(name, dir_fd=directory, follow_symlinks=False)
    if stat.S_ISLNK(status.st_mode):
        raise ConflictError(
            f"{walked} was replaced by a link while it was being opened",
            hint="Look at the path again before you use it.",
        )
    raise NotFoundError(f"{walked} is not a directory", hint="Check the path.")


def _make(directory: int, name: str) -> None:
    try:
        os.mkdir(name, dir_fd=directory)
    except FileExistsError:
        return


@contextmanager
def opened_directory(real: Path, *, create: bool = False) -> Generator[int]:
    """The descriptor of the directory at `real`, a path without links; `create` makes what lacks.

    Raises `NotFoundError`, and `ConflictError` if a link stands on the way.
    """
    current = os.open("/", _WALK)
    walked = Path("/")
    try:
        for name in real.parts[1:]:
            walked /= name
            try:
                following = _enter(current, name, walked)
            except NotFoundError:
                if not create:
                    raise
                _make(current, name)
                following = _enter(current, name, walked)
            os.close(current)
            current = following
        yield current
    except PermissionError as error:
        raise fault(walked, error) from error
    finally:
        os.close(current)


@contextmanager
def place_of(real: Path, *, create: bool = False) -> Generator[Place]:
    """The last component of `real` inside its opened directory."""
    if real == real.parent:
        raise UsageError(f"{real} is a directory", hint="Name a file.")
    with opened_directory(real.parent, create=create) as directory:
        yield Place(directory, real.name, real)


def require_regular(path: Path, mode: int) -> None:
    """Raise `UsageError` unless `mode` is that of a regular file."""
    if not stat.S_ISREG(mode):
        kind = _KINDS.get(stat.S_IFMT(mode), "a special file")
        raise UsageError(f"{path} is {kind}, not a file", hint="Only regular files can be used.")


@contextmanager
def opened_file(real: Path) -> Generator[int]:
    """The regular file at `real` opened for reading; never waits for a device, pipe or socket."""
    with place_of(real) as place:
        status = place.status()
        if status is None:
            raise NotFoundError(f"{real} does not exist", hint="Check the path.")
        # Looked at before it is opened: opening a device can already do something.
        require_regular(real, status.st_mode)
        try:
            descriptor = os.open(place.name, _READ, dir_fd=place.directory)
        except OSError as error:
            raise fault(real, error) from error
    try:
        require_regular(real, os.fstat(descriptor).st_mode)
        yield descriptor
    finally:
        os.close(descriptor)
