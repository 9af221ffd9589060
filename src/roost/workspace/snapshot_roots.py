"""Which trees were handed out, and who may remove objects while others write.

Writers share a lock of the kernel, so a dead process holds none; who removes excludes them, for
moments. Each removal is written into the lock file: by that a process sees whether something of
what it knows may be gone.
"""

import fcntl
import os
import re
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import Final

from roost.core.clock import now_ms
from roost.workspace.snapshot_objects import ObjectStore, storage_faults

_NOTED: Final = re.compile(r"^([0-9]{1,15}) ([0-9a-f]{40})$", re.MULTILINE)
"""A line of the log; after a full disk there may be half a one."""


class Roots:
    """The lock and the log of the store at `objects.folder`; made where they lack."""

    def __init__(self, objects: ObjectStore) -> None:
        self._objects = objects
        self._lock = objects.folder / "roost.lock"
        self._log = objects.folder / "roost.roots"

    def state(self) -> tuple[int, int] | None:
        """Changes whenever objects were removed; None while there is no store."""
        try:
            status = self._lock.stat()
        except OSError:
            return None
        return status.st_ino, status.st_mtime_ns

    @contextmanager
    def shared(self) -> Generator[None]:
        """Nothing is removed meanwhile. Waits for a removal, which takes moments."""
        with storage_faults(self._objects.folder):
            descriptor = os.open(self._lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            with suppress(OSError):  # without locks on this file system nothing is removed either
                fcntl.flock(descriptor, fcntl.LOCK_SH)
            if not os.fstat(descriptor).st_size:
                with storage_faults(self._objects.folder):
                    os.pwrite(descriptor, _boundary(now_ms()), 0)
            yield
        finally:
            os.close(descriptor)

    @contextmanager
    def alone(self) -> Generator[bool]:
        """True if nobody writes, and nobody begins to meanwhile."""
        try:
            descriptor = os.open(self._lock, os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            yield False
            return
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                yield False
            else:
                yield True
        finally:
            os.close(descriptor)

    def renew(self, boundary: int) -> None:
        """Tell everybody that objects are removed which only trees noted before `boundary` need.

        Call it `alone`.
        """
        self._lock.write_bytes(_boundary(max(boundary, self.boundary())))
        os.utime(self._lock)

    def boundary(self) -> int:
        """Whatever was noted after this moment never lost an object; milliseconds since 1970.

        Not before the store was made, so that a store in the place of another is found out.
        """
        try:
            return int(self._lock.read_bytes())
        except (OSError, ValueError):
            return now_ms()

    def note(self, now: int, *roots: str) -> None:
        """Remember that the trees `roots` were handed out at `now`, milliseconds since 1970."""
        with storage_faults(self._objects.folder):
            descriptor = os.open(
                self._log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600
            )
            try:
                os.write(descriptor, b"".join(_line(now, root) for root in roots))
            finally:
                os.close(descriptor)

    def noted(self, position: int = 0) -> tuple[list[tuple[int, str]], int]:
        """What was noted from a position in the log on, and the position after it."""
        try:
            with self._log.open("rb") as file:
                file.seek(position)
                data = file.read()
        except OSError:
            return [], position
        text = data.decode("ascii", "replace")
        return [(int(one[1]), one[2]) for one in _NOTED.finditer(text)], position + len(data)

    def forget(self, boundary: int, keep: frozenset[str]) -> None:
        """Drop what was noted before `boundary`, except `keep`. Call it `alone`."""
        noted, _ = self.noted()
        kept = [(when, root) for when, root in noted if when >= boundary or root in keep]
        if len(kept) < len(noted):
            self._objects.replace(self._log, b"".join(_line(*one) for one in kept))


def _boundary(moment: int) -> bytes:
    return b"%020d\n" % moment


def _line(now: int, root: str) -> bytes:
    return f"{now} {root}\n".encode("ascii")
