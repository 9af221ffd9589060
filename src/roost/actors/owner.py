"""Tells whether the process that owns an actor is dead, by proof and not by silence.

Every process holds an exclusive lock on a file of its own for as long as it lives. The kernel gives
the lock back at death, whatever kind of death it was. Who can take the lock has proof.
"""

import fcntl
import os
from pathlib import Path

from roost.core.errors import StorageError
from roost.core.ids import new_id


def has_died(folder: Path, owner_id: str) -> bool | None:
    """Whether the process `owner_id` of the lock files in `folder` has ended.

    True is proof of death, False is proof of life; None: nobody can tell.
    """
    if "/" in owner_id:
        return None
    try:
        handle = os.open(folder / f"{owner_id}.lock", os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    finally:
        os.close(handle)
    return True


def process_number(folder: Path, owner_id: str) -> int | None:
    """The process id that `owner_id` wrote into its lock file, or None where it cannot be read."""
    try:
        return int((folder / f"{owner_id}.lock").read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


class Owner:
    """This process, as other processes on the same database see it.

    Raises `StorageError` where it cannot write, for example on a full disk.
    """

    def __init__(self, folder: Path) -> None:
        self.id = new_id("process")
        self._folder = folder
        self._path = folder / f"{self.id}.lock"
        unlocked = folder / f"{self.id}.new"  # no `*.lock` is seen before its lock is held
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._handle = os.open(unlocked, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._handle, fcntl.LOCK_EX)
            os.write(self._handle, f"{os.getpid()}\n".encode())
            unlocked.rename(self._path)
        except OSError as error:
            unlocked.unlink(missing_ok=True)
            raise StorageError(
                f"{folder} cannot be written: {error.strerror}",
                hint="Free some space, or check who may write there.",
            ) from error

    def is_dead(self, owner_id: str) -> bool | None:
        """Whether the process `owner_id` has ended, by proof; None: nobody can tell."""
        return False if owner_id == self.id else has_died(self._folder, owner_id)

    def remove_dead(self, still_named: set[str]) -> None:
        """Delete the lock files of dead processes that no actor names any more."""
        for path in self._folder.glob("*.lock"):
            if path.stem not in still_named and self.is_dead(path.stem):
                path.unlink(missing_ok=True)

    def close(self, *, in_order: bool = True) -> None:
        """Give the lock back.

        Not `in_order` means that actors may still be named as this process's, which could not be
        stored: then the file stays, as the proof that lets others take over at once.
        """
        if in_order:
            self._path.unlink(missing_ok=True)
        os.close(self._handle)
