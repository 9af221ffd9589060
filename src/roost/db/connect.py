"""Opens a SQLite file with the settings all connections share; names what is wrong with it."""

import os
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from random import SystemRandom
from typing import Final, TypeVar

from roost.core.errors import StorageError

BUSY_LIMIT: Final = 30.0
"""Seconds a transaction waits for another process before it gives up."""
_BUSY_STEP_MS: Final = 50
_NO_SHARED_MEMORY: Final = frozenset(
    {
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_PROTOCOL,
        sqlite3.SQLITE_READONLY,
    }
)
"""What SQLite says where the write-ahead log's shared index cannot be made, mapped or locked."""
T = TypeVar("T")
_jitter = SystemRandom()


class DamagedError(StorageError):
    """The file is not a sound SQLite database."""


def connect(path: Path, *, read_only: bool = False) -> sqlite3.Connection:
    """A connection to `path` in autocommit mode; the file must exist.

    Raises `StorageError` if it cannot be opened.
    """
    try:
        connection = sqlite3.connect(
            path, timeout=_BUSY_STEP_MS / 1000, isolation_level=None, check_same_thread=False
        )
        connection.row_factory = sqlite3.Row
        connection.execute("PRAGMA foreign_keys=ON")
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute("PRAGMA journal_size_limit=33554432")
        if read_only:
            connection.execute("PRAGMA query_only=ON")
    except sqlite3.Error as error:
        raise explain(error, path) from error
    return connection


def create_private(path: Path) -> None:
    """Make an empty file for the database that only its owner can read, unless it is there."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        raise StorageError(
            f"cannot write the database {path}: {error.strerror}",
            hint="Make the folder writable, or set ROOST_HOME to another one.",
        ) from error


def use_write_ahead_log(connection: sqlite3.Connection, path: Path) -> str:
    """Switch a new file to WAL where the file system can, else to a truncated journal; tell which.

    A file that works without WAL already stays that way, since other processes may have it open.
    """

    def switch() -> str:
        try:
            if _write_ahead_works(connection):
                return "wal"
        except sqlite3.OperationalError as error:
            if _code_of(error) not in _NO_SHARED_MEMORY:
                raise
        return _use_truncated_journal(connection)

    return patiently(switch, path)


def _write_ahead_works(connection: sqlite3.Connection) -> bool:
    """Try it for real: SQLite says `wal` also where the first write will fail."""
    mode = connection.execute("PRAGMA journal_mode").fetchone()[0]
    if mode != "wal":
        if connection.execute("PRAGMA page_count").fetchone()[0]:
            return False
        mode = connection.execute("PRAGMA journal_mode=WAL").fetchone()[0]
    if mode != "wal":
        return False
    try:
        connection.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError as error:
        if not _is_busy(error):
            raise
    else:
        connection.execute("ROLLBACK")
    return True


def _use_truncated_journal(connection: sqlite3.Connection) -> str:
    """Work without shared memory; one real write proves that this at least is possible."""
    connection.execute("PRAGMA locking_mode=EXCLUSIVE")
    try:
        mode = connection.execute("PRAGMA journal_mode=TRUNCATE").fetchone()[0]
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        connection.execute(f"PRAGMA user_version={version}")
    finally:
        connection.execute("PRAGMA locking_mode=NORMAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("SELECT count(*) FROM sqlite_master").fetchone()  # lets the lock go
    return str(mode)


def patiently(action: Callable[[], T], path: Path, limit: float = BUSY_LIMIT) -> T:
    """Run `action`, again after a random pause while another process holds the lock.

    Raises `StorageError` naming the file after `limit` seconds, and for every other fault.
    """
    deadline = time.monotonic() + limit
    pause = 0.002
    while True:
        try:
            return action()
        except sqlite3.Error as error:
            if not _is_busy(error) or time.monotonic() >= deadline:
                raise explain(error, path) from error
        time.sleep(pause * _jitter.uniform(0.5, 1.5))
        pause = min(pause * 2, 0.25)


def _code_of(error: sqlite3.Error) -> int:
    """The primary result code; 0 for an error of the Python module itself."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _is_busy(error: sqlite3.Error) -> bool:
    return _code_of(error) in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}


def explain(error: sqlite3.Error, path: Path) -> StorageError:
    """The error of SQLite as one that says what happened to which file and what to do."""
    code = _code_of(error)
    if code in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}:
        return DamagedError(
            f"the database {path} is damaged: {error}",
            hint="Start roost again: it sets the damaged file aside and opens a fresh one.",
        )
    words = {
        sqlite3.SQLITE_FULL: ("the disk is full", "Free some space; nothing was half written."),
        sqlite3.SQLITE_BUSY: (
            f"another process has held the lock for {BUSY_LIMIT:.0f} s",
            "Stop the other process, or try again.",
        ),
        sqlite3.SQLITE_READONLY: ("it is read-only", "Make the file and its folder writable."),
        sqlite3.SQLITE_CANTOPEN: ("it cannot be opened", "Check that its folder is writable."),
        sqlite3.SQLITE_PROTOCOL: (
            "its file system cannot lock files",
            "Set ROOST_HOME to a folder on a local disk.",
        ),
        sqlite3.SQLITE_IOERR: ("the disk reported an error", "Check the disk and its free space."),
    }
    what, hint = words.get(code, (str(error), "See `roost doctor`."))
    return StorageError(f"the database {path}: {what} ({error})", hint=hint)
