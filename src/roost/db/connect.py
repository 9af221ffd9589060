"""Opens a SQLite file with the settings all connections share; names what is wrong with it."""

import os
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from random import SystemRandom
from typing import Final, NamedTuple, TypeVar

from roost.core.errors import StorageError

BUSY_LIMIT: Final = 30.0
"""Seconds a transaction waits for another process before it gives up."""
_BUSY_STEP_MS: Final = 50
_LOG_PAGES: Final = 4_000
"""Pages (4 KB each) in the write-ahead log before they are copied into the database. A small
transaction writes the same few pages again and again: SQLite's own 1,000 costs a quarter more."""
T = TypeVar("T")
_jitter = SystemRandom()


class DamagedError(StorageError):
    """The file is not a sound SQLite database."""


class OpenFile(NamedTuple):
    """Which file an open database is. One that others remove or replace goes on to take writes,
    and is gone with the last process that has it open.
    """

    device: int
    number: int

    @classmethod
    def at(cls, path: Path) -> "OpenFile":
        """The file that is now at `path`. Raises `StorageError` if there is none."""
        try:
            found = path.stat()
        except OSError as error:
            raise _taken_away(path) from error
        return cls(found.st_dev, found.st_ino)

    def require(self, path: Path) -> None:
        """Raise `StorageError` if another file, or none, is at `path`."""
        if OpenFile.at(path) != self:
            raise _taken_away(path)


def _taken_away(path: Path) -> StorageError:
    return StorageError(
        f"the database {path} was removed or replaced while it was in use",
        hint="Nothing more is stored. Put its folder back, or start roost again.",
    )


def connect(path: Path, *, read_only: bool = False) -> sqlite3.Connection:
    """A connection to `path` in autocommit mode; the file must exist.

    Raises `StorageError` if it cannot be opened.
    """
    connection = bare_connection(path)
    try:
        patiently(lambda: _set_up(connection, read_only=read_only), path)
    except BaseException:
        connection.close()
        raise
    return connection


def bare_connection(path: Path) -> sqlite3.Connection:
    """A connection that has not looked into the file yet."""
    try:
        connection = sqlite3.connect(
            path, timeout=_BUSY_STEP_MS / 1000, isolation_level=None, check_same_thread=False
        )
    except sqlite3.Error as error:
        raise explain(error, path) from error
    connection.row_factory = sqlite3.Row
    return connection


def _set_up(connection: sqlite3.Connection, *, read_only: bool) -> None:
    connection.create_function("lower", 1, _lower, deterministic=True)
    connection.execute("PRAGMA foreign_keys=ON")
    connection.execute("PRAGMA synchronous=NORMAL")
    connection.execute("PRAGMA journal_size_limit=33554432")
    connection.execute(f"PRAGMA wal_autocheckpoint={_LOG_PAGES}")
    if read_only:
        connection.execute("PRAGMA query_only=ON")


def _lower(text: str | None) -> str | None:
    """SQLite's own knows ASCII only."""
    return None if text is None else text.lower()


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
            if not is_busy(error) or time.monotonic() >= deadline:
                raise explain(error, path) from error
        time.sleep(pause * _jitter.uniform(0.5, 1.5))
        pause = min(pause * 2, 0.25)


def code_of(error: sqlite3.Error) -> int:
    """The primary result code; 0 for an error of the Python module itself."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def is_busy(error: sqlite3.Error) -> bool:
    """Whether another connection holds the lock."""
    return code_of(error) in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}


def explain(error: sqlite3.Error, path: Path) -> StorageError:
    """The error of SQLite as one that says what happened to which file and what to do."""
    code = code_of(error)
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
