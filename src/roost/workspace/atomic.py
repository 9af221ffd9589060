"""Replacing a file so that at every moment it holds either all of the old or all of the new.

New content is first completed beside the old, on Linux in a file without a name, so that not even
`kill -9` leaves anything behind. Where putting a new file in its place would lose something (a
second hard link, an owner, a folder without write permission), the file is overwritten instead, as
editors do, and restored if that fails.
"""

import errno
import os
import secrets
import stat
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final

from roost.core.errors import ConflictError
from roost.core.failpoints import failpoint
from roost.workspace.openat import Place, fault, place_of, require_regular

_ANONYMOUS: Final[int] = getattr(os, "O_TMPFILE", 0)
_UNSUPPORTED: Final = {errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT, errno.ENOSYS}
_NO_LINK: Final = {errno.EPERM, errno.EACCES, errno.EXDEV, errno.ENOENT, errno.EOPNOTSUPP}
_FORBIDDEN: Final = {errno.EACCES, errno.EPERM, errno.EROFS}
_NEW: Final = os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_RDWR | os.O_CLOEXEC


class StagedFile:
    """Content that is complete on disk and waits to be put in its place.

    Use as a context manager; what was not put is gone afterwards.
    """

    def __init__(self, real: Path, data: bytes, *, mode: int | None = None) -> None:
        self.real = real
        self._data = data
        self._mode = mode
        self._stack = ExitStack()
        self._descriptor: int | None = None
        self._temporary: str | None = None
        self._place: Place
        self._status: os.stat_result | None

    def __enter__(self) -> "StagedFile":
        try:
            self._prepare()
        except OSError as error:
            self._stack.close()
            raise fault(self.real, error) from error
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def put(self) -> None:
        """Make the content the file's. Raises `ConflictError` if a new file exists meanwhile."""
        try:
            if self._descriptor is None:
                self._overwrite()
            elif self._status is None:
                self._appear()
            else:
                self._replace()
        except FileExistsError as error:
            raise ConflictError(
                f"{self.real} was created meanwhile", hint="Read it before you change it."
            ) from error
        except OSError as error:
            raise fault(self.real, error) from error
        _sync_directory(self._place)

    def _prepare(self) -> None:
        self._place = self._stack.enter_context(place_of(self.real, create=True))
        self._status = status = self._place.status()
        if status is not None:
            require_regular(self.real, status.st_mode)
            if status.st_nlink > 1:
                return
        try:
            self._descriptor = self._created(0o666 if status is None else 0o600)
        except OSError as error:
            if status is None or error.errno not in _FORBIDDEN:
                raise
            return
        if status is not None and not _takes_over(self._descriptor, self._place, status):
            self._descriptor = None
            return
        if status is None and self._mode is not None:
            os.fchmod(self._descriptor, self._mode)
        _write_all(self._descriptor, self._data)
        os.fsync(self._descriptor)
        failpoint("file.staged")

    def _created(self, mode: int) -> int:
        """A new empty file in the folder, without a name if the file system can do that."""
        descriptor = _anonymous(self._place.directory, mode)
        if descriptor is None:
            self._temporary = self._temporary_name()
            descriptor = os.open(self._temporary, _NEW, mode, dir_fd=self._place.directory)
            self._stack.callback(self._remove_temporary)
        self._stack.callback(os.close, descriptor)
        return descriptor

    def _temporary_name(self) -> str:
        return f".{self._place.name[:40]}.{secrets.token_hex(6)}.roost"

    def _remove_temporary(self) -> None:
        if self._temporary is not None:
            with suppress(FileNotFoundError):
                os.unlink(self._temporary, dir_fd=self._place.directory)

    def _appear(self) -> None:
        # A link fails where something exists; a rename would replace it.
        directory, name = self._place.directory, self._place.name
        try:
            if self._temporary is None:
                os.link(self._by_descriptor, name, dst_dir_fd=directory)
            else:
                os.link(self._temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
        except OSError as error:
            if error.errno not in _NO_LINK:
                raise
            self._replace()  # FAT and its like know no links

    def _replace(self) -> None:
        name = self._named()
        directory = self._place.directory
        os.rename(name, self._place.name, src_dir_fd=directory, dst_dir_fd=directory)
        self._temporary = None

    @property
    def _by_descriptor(self) -> str:
        return f"/proc/self/fd/{self._descriptor}"

    def _named(self) -> str:
        """The name of the staged file; one without a name gets one, or is copied into one."""
        if self._temporary is not None:
            return self._temporary
        assert self._descriptor is not None
        directory = self._place.directory
        name = self._temporary_name()
        try:
            os.link(self._by_descriptor, name, dst_dir_fd=directory)
        except OSError as error:
            if error.errno not in _NO_LINK:
                raise
            copy = os.open(name, _NEW, 0o600, dir_fd=directory)
            self._stack.callback(os.close, copy)
            _write_all(copy, self._data)
            _takes_over(copy, self._place, os.fstat(self._descriptor))
            os.fsync(copy)
        self._temporary = name
        self._stack.callback(self._remove_temporary)
        return name

    def _overwrite(self) -> None:
        flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(self._place.name, flags, dir_fd=self._place.directory)
        try:
            require_regular(self.real, os.fstat(descriptor).st_mode)
            before = _read_all(descriptor)
            try:
                _rewrite(descriptor, self._data)
            except BaseException:
                _rewrite(descriptor, before)
                raise
        finally:
            os.close(descriptor)


def remove_file(real: Path) -> None:
    """Delete the regular file at `real`, a path without links."""
    with place_of(real) as place:
        status = place.status()
        if status is not None:
            require_regular(real, status.st_mode)
        try:
            os.unlink(place.name, dir_fd=place.directory)
        except OSError as error:
            raise fault(real, error) from error
        _sync_directory(place)


def _anonymous(directory: int, mode: int) -> int | None:
    """A file without a name, or None where the system knows no such thing."""
    if not _ANONYMOUS or not Path("/proc/self/fd").exists():
        return None
    try:
        return os.open(".", _ANONYMOUS | os.O_RDWR | os.O_CLOEXEC, mode, dir_fd=directory)
    except OSError as error:
        if error.errno in _UNSUPPORTED:
            return None
        raise


def _takes_over(descriptor: int, place: Place, status: os.stat_result) -> bool:
    """Give the new file the owner, mode and attributes of the old; False if that cannot be done."""
    own = os.fstat(descriptor)
    if (own.st_uid, own.st_gid) != (status.st_uid, status.st_gid):
        try:
            os.fchown(descriptor, status.st_uid, status.st_gid)
        except PermissionError:
            return False
    # As with any write, set-user-id and set-group-id do not survive new content.
    os.fchmod(descriptor, stat.S_IMODE(status.st_mode) & 0o1777)
    _copy_attributes(place, descriptor)
    return True


def _copy_attributes(place: Place, descriptor: int) -> None:
    """Carry over access lists and labels as far as the user may set them."""
    if not hasattr(os, "listxattr"):
        return
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with suppress(OSError):  # unreadable, or a file system without attributes: nothing to keep
        old = os.open(place.name, flags, dir_fd=place.directory)
        try:
            for name in os.listxattr(old):
                with suppress(OSError):  # the system's own labels are set by the system
                    os.setxattr(descriptor, name, os.getxattr(old, name))
        finally:
            os.close(old)


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _read_all(descriptor: int) -> bytes:
    with open(descriptor, "rb", closefd=False) as file:
        return file.read()


def _rewrite(descriptor: int, data: bytes) -> None:
    os.lseek(descriptor, 0, os.SEEK_SET)
    _write_all(descriptor, data)
    os.ftruncate(descriptor, len(data))
    os.fsync(descriptor)


def _sync_directory(place: Place) -> None:
    """Make the new name survive a power cut where the file system offers that."""
    with suppress(OSError):  # the content itself is on disk already
        descriptor = os.open(".", os.O_RDONLY | os.O_CLOEXEC, dir_fd=place.directory)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
