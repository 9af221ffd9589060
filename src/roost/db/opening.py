"""Opens the file: private mode, journal, damage set aside, tables brought up to date."""

import fcntl
import sqlite3
import time
from collections.abc import Generator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Final, NamedTuple

from roost.core.errors import StorageError
from roost.core.failpoints import failpoint
from roost.db.connect import (
    DamagedError,
    OpenFile,
    connect,
    create_private,
    explain,
    patiently,
)
from roost.db.journal import connect_for_writing
from roost.db.migrations import MIGRATIONS, Steps, migrate, version_of

_SLOWER: Final = (
    "The database {path} works without a write-ahead log, because its file system could not share "
    "memory. A ROOST_HOME on a local disk is faster."
)


class Opened(NamedTuple):
    """A connection that may write, and what the user should know about how it came to be."""

    path: Path
    connection: sqlite3.Connection
    file: OpenFile
    notes: tuple[str, ...]


def open_file(path: Path, steps: Steps = MIGRATIONS) -> Opened:
    """Open or create the database at `path`, with `steps` as the migrations it is to have.

    A damaged file is renamed, never deleted, and a fresh one takes its place. Raises
    `StorageError` for a newer schema and for what cannot be helped.
    """
    try:
        return _open(path, steps, ())
    except DamagedError as error:
        aside = _set_aside(path)
        where = f"was set aside as {aside}" if aside else "was set aside by another process"
        return _open(path, steps, (f"{error.message}. It {where}; a fresh database was opened.",))


def mark_suspect(path: Path) -> None:
    """Note that the open database at `path` turned out to be damaged, for the next opening."""
    with suppress(OSError):  # whoever reads from a read-only disk is told by the error itself
        _suspect(path).touch(mode=0o600)


def _suspect(path: Path) -> Path:
    return path.with_name(path.name + ".suspect")


def _open(path: Path, steps: Steps, notes: tuple[str, ...]) -> Opened:
    create_private(path)
    if _suspect(path).exists():
        _examine(path)
    with nullcontext() if path.stat().st_size else _lock(path):
        connection, journal = connect_for_writing(path)
    try:
        file = OpenFile.at(path)
        if patiently(lambda: version_of(connection), path) != len(steps):
            with _lock(path):
                _upgrade(connection, path, steps)
    except sqlite3.Error as error:
        connection.close()
        raise explain(error, path) from error
    except BaseException:
        connection.close()
        raise
    if journal != "wal":
        notes += (_SLOWER.format(path=path),)
    return Opened(path, connection, file, notes)


def _examine(path: Path) -> None:
    """Look at every page of a file in which damage was met. Raises `DamagedError`."""
    connection = connect(path)
    try:
        found = patiently(
            lambda: connection.execute("PRAGMA integrity_check(1)").fetchone()[0], path
        )
    finally:
        connection.close()
    if found != "ok":
        raise DamagedError(f"the database {path} is damaged: {' '.join(str(found).split())}")
    _suspect(path).unlink(missing_ok=True)


def _upgrade(connection: sqlite3.Connection, path: Path, steps: Steps) -> None:
    """Migrate after a copy of what was there."""
    before = patiently(lambda: version_of(connection), path)
    if before > len(steps):
        raise StorageError(
            f"the database {path} was written by a newer roost"
            f" (schema {before}, this one knows {len(steps)})",
            hint="Upgrade roost, or set ROOST_HOME to another folder.",
        )
    if 0 < before < len(steps):
        _back_up(connection, path, before)
    patiently(lambda: migrate(connection, steps), path)


def _back_up(connection: sqlite3.Connection, path: Path, version: int) -> None:
    """Copy the whole database to a name of its own, complete or not at all."""
    copy = path.with_name(f"{path.name}.before-{version + 1}")
    growing = copy.with_name(copy.name + ".part")
    growing.unlink(missing_ok=True)
    create_private(growing)
    target = sqlite3.connect(growing)
    try:
        connection.backup(target)
        failpoint("migrate.copied")
    except sqlite3.Error as error:
        raise explain(error, growing) from error
    finally:
        target.close()
    growing.replace(copy)


def _set_aside(path: Path) -> Path | None:
    """Rename the damaged file and what belongs to it; None if another process was faster."""
    with _lock(path):
        if not path.exists() or _is_sound(path):
            return None
        aside = _free_name(path)
        for suffix in ("-wal", "-shm", "-journal", ""):
            part = path.with_name(path.name + suffix)
            if part.exists():
                part.replace(aside.with_name(aside.name + suffix))
        _suspect(path).unlink(missing_ok=True)
        return aside


def _free_name(path: Path) -> Path:
    aside = path.with_name(f"{path.name}.damaged-{time.strftime('%Y%m%d-%H%M%S')}")
    number = 1
    while aside.exists():
        number += 1
        aside = aside.with_name(f"{aside.name.partition('.again-')[0]}.again-{number}")
    return aside


def _is_sound(path: Path) -> bool:
    try:
        _examine(path)
    except DamagedError:
        return False
    return True


@contextmanager
def _lock(path: Path) -> Generator[None]:
    """Hold what lets one process at a time make, migrate or set aside the file."""
    place = path.with_name(path.name + ".lock")
    create_private(place)
    with place.open("r+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
        except OSError as error:
            raise StorageError(
                f"the database {path}: its file system cannot lock files ({error.strerror})",
                hint="Set ROOST_HOME to a folder on a local disk.",
            ) from error
        yield
