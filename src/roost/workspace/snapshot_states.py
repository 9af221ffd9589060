"""What stands at a path of the project, exactly; and putting something else there."""

import errno
import hashlib
import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

from roost.core.errors import ConflictError, LimitError, NotFoundError, RoostError, plain_words
from roost.core.failpoints import failpoint
from roost.workspace.atomic import StagedFile
from roost.workspace.files import read_bytes
from roost.workspace.openat import Place, fault, place_of
from roost.workspace.snapshot_models import FILE, LINK, PROGRAM
from roost.workspace.snapshot_trees import mode_of

_USUAL: Final = {FILE, PROGRAM}


class Content(Struct, frozen=True):
    """A file or link that is known to the byte."""

    mode: int
    data: bytes

    @property
    def is_link(self) -> bool:
        """Whether `data` is where a link leads."""
        return self.mode == LINK

    @property
    def id(self) -> bytes:
        """Of the object that git would keep it as."""
        head = b"blob %d\0" % len(self.data)
        return hashlib.sha1(head + self.data, usedforsecurity=False).digest()


class Unknown(Struct, frozen=True):
    """Something whose content is not known; `reason` says why."""

    reason: str
    mark: bytes = b""
    """Another one when the thing is known to have changed."""


Version = Content | Unknown | None
"""None: nothing is there."""


def version_at(root: Path, path: str, limit: int) -> Version:
    """What stands at `path` below `root`. A folder counts as nothing: it is no file."""
    real = root / path
    try:
        with place_of(real) as place:
            status = place.status()
            if status is None or stat.S_ISDIR(status.st_mode):
                return None
            if stat.S_ISLNK(status.st_mode):
                target = os.readlink(place.name, dir_fd=place.directory)
                return Content(LINK, os.fsencode(target))
        if not stat.S_ISREG(status.st_mode):
            return Unknown("it is no ordinary file now")
        return Content(mode_of(status.st_mode), read_bytes(real, limit=limit))
    except NotFoundError:
        return None
    except ConflictError:
        return Unknown("a folder on the way to it is a link now")
    except LimitError:
        return Unknown(f"it is larger than {limit:,} bytes now")
    except (OSError, RoostError) as error:
        return Unknown(f"it cannot be read: {plain_words(error)}")


def put(root: Path, path: str, new: Content | None) -> None:
    """Make `new` what stands at `path`, at once and with its mode; None removes what is there.

    Raises `RoostError`; then what was there still is.
    """
    real = root / path
    try:
        if new is None:
            with place_of(real) as place:
                os.unlink(place.name, dir_fd=place.directory)
        elif new.is_link:
            with place_of(real, create=True) as place:
                _put_link(place, new.data)
        else:
            _put_file(real, new)
    except OSError as error:
        raise fault(real, error) from error
    failpoint("snapshot.put")


def remove_empty(root: Path, folder: str) -> bool:
    """Remove a folder if nothing is in it; False if it stays."""
    try:
        with place_of(root / folder) as place:
            os.rmdir(place.name, dir_fd=place.directory)
    except (OSError, RoostError):
        return False
    return True


def _put_file(real: Path, new: Content) -> None:
    with place_of(real, create=True) as place:
        status = place.status()
        if status is not None and stat.S_ISLNK(status.st_mode):
            _replace_link(place, new)
            return
    with StagedFile(real, new.data, mode=None if new.mode in _USUAL else new.mode & 0o777) as file:
        file.put()
    with place_of(real) as place:
        status = place.status()
        assert status is not None
        wanted = _permissions(status.st_mode, new.mode)
        if wanted != stat.S_IMODE(status.st_mode):
            _change_mode(place, wanted)


def _permissions(now: int, mode: int) -> int:
    """The permission bits for `mode`, as near to those of `now` as can be."""
    if mode_of(now) == mode:
        return stat.S_IMODE(now)
    if mode not in _USUAL:
        return mode & 0o777
    mask = umask()
    return (0o777 if mode == PROGRAM else 0o666) & ~mask


def umask() -> int:
    """The process's mask, read without changing it where the system allows that."""
    with suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/self/status").read_text().splitlines()
        return int(next(line.split()[1] for line in lines if line.startswith("Umask:")), 8)
    return 0o022


def _change_mode(place: Place, mode: int) -> None:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(place.name, flags, dir_fd=place.directory)
    try:
        os.fchmod(descriptor, mode)
    finally:
        os.close(descriptor)


def _put_link(place: Place, target: bytes) -> None:
    status = place.status()
    if status is not None and stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, "a folder stands there")
    temporary = _temporary(place)
    os.symlink(target, os.fsencode(temporary), dir_fd=place.directory)
    _rename(place, temporary)


def _replace_link(place: Place, new: Content) -> None:
    """Put a file where a link stands; `StagedFile` would refuse."""
    temporary = _temporary(place)
    mode = (0o777 if new.mode == PROGRAM else 0o666) if new.mode in _USUAL else new.mode & 0o777
    flags = os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_WRONLY | os.O_CLOEXEC
    descriptor = os.open(temporary, flags, mode, dir_fd=place.directory)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(new.data)
            file.flush()
            os.fsync(descriptor)
    except BaseException:
        os.unlink(temporary, dir_fd=place.directory)
        raise
    _rename(place, temporary)


def _rename(place: Place, temporary: str) -> None:
    directory = place.directory
    try:
        os.rename(temporary, place.name, src_dir_fd=directory, dst_dir_fd=directory)
    except BaseException:
        os.unlink(temporary, dir_fd=directory)
        raise


def _temporary(place: Place) -> str:
    return f".{place.name[:40]}.{secrets.token_hex(6)}.roost"
