"""Opens the file: private mode, journal, damage set aside, tables brought up to date."""

import fcntl
import os
import sqlite3
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from roost.core.errors import StorageError
from roost.db.connect import (
    DamagedError,
    connect,
    create_private,
    explain,
    patiently,
    use_write_ahead_log,
)
from roost.db.migrations import LATEST, migrate, version_of


class Opened(NamedTuple):
    """A connection that may write, and what the user should know about how it came to be."""

    path: Path
    connection: sqlite3.Connection
    notes: tuple[str, ...]


def open_file(path: Path) -> Opened:
    """Open or create the database at `path`.

    A damaged file is renamed, never deleted, and a fresh one takes its place. Raises
    `StorageError` for a newer schema and for what cannot be helped.
    """
    try:
        return _open(path, ())
    except DamagedError as error:
        aside = _set_aside(path)
        note = f"{error.message}. It was set aside as {aside}; a fresh database was opened."
        return _open(path, (note,))


def _open(path: Path, notes: tuple[str, ...]) -> Opened:
    create_private(path)
    connection = connect(path)
    try:
        journal = use_write_ahead_log(connection, path)
        if journal != "wal":
            notes += (f"{path}: its file system cannot share memory; using a slower journal.",)
        if patiently(lambda: version_of(connection), path) != LATEST:
            _upgrade(connection, path)
    except sqlite3.Error as error:
        connection.close()
        raise explain(error, path) from error
    except StorageError:
        connection.close()
        raise
    return Opened(path, connection, notes)


def _upgrade(connection: sqlite3.Connection, path: Path) -> None:
    """Migrate under the write lock, after a copy of what was there."""
    before = version_of(connection)
    if before > LATEST:
        raise StorageError(
            f"the database {path} was written by a newer roost"
            f" (schema {before}, this one knows {LATEST})",
            hint="Upgrade roost, or set ROOST_HOME to another folder.",
        )
    if before > 0:
        _back_up(connection, path, before)
    patiently(lambda: migrate(connection), path)


def _back_up(connection: sqlite3.Connection, path: Path, version: int) -> None:
    copy = path.with_name(f"{path.name}.before-{version + 1}")
    if copy.exists():
        return
    create_private(copy)
    target = sqlite3.connect(copy)
    try:
        connection.backup(target)
    finally:
        target.close()


def _set_aside(path: Path) -> Path:
    with _lock(path.with_name(path.name + ".lock")):
        if _is_sound(path):  # another process was faster
            return path
        aside = path.with_name(f"{path.name}.damaged-{time.strftime('%Y%m%d-%H%M%S')}")
        for suffix in ("-wal", "-shm", ""):
            part = path.with_name(path.name + suffix)
            if part.exists():
                os.replace(part, aside.with_name(aside.name + suffix))  # noqa: PTH105
        return aside


def _is_sound(path: Path) -> bool:
    try:
        connection = connect(path)
        try:
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        finally:
            connection.close()
    except (StorageError, sqlite3.Error):
        return False
    return True


@contextmanager
def _lock(path: Path) -> Generator[None]:
    handle = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
