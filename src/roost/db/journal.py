"""Chooses how changes are kept safe: a write-ahead log where the file system can share memory, else
a journal that is rolled back.
"""

import sqlite3
from pathlib import Path
from typing import Final

from roost.db.connect import bare_connection, code_of, connect, is_busy, patiently

_NO_SHARED_MEMORY: Final = frozenset(
    {
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_PROTOCOL,
        sqlite3.SQLITE_READONLY,
    }
)
"""What SQLite says where the log's shared index cannot be made, mapped or locked."""


def connect_for_writing(path: Path) -> tuple[sqlite3.Connection, str]:
    """A connection to `path`, and its journal: `wal` where the file system can, else `truncate`.

    A file that works without a log already stays that way, since other processes may have it open.
    Raises `StorageError`.
    """
    if _can_write_ahead(path):
        return connect(path), "wal"
    _give_up_log(path)
    connection = connect(path)
    connection.execute("PRAGMA journal_mode=TRUNCATE")
    connection.execute("PRAGMA synchronous=FULL")
    return connection, "truncate"


def _can_write_ahead(path: Path) -> bool:
    """Try it for real: SQLite says `wal` also where the first write will fail."""
    connection = bare_connection(path)

    def attempt() -> bool:
        try:
            return _ask_for_log(connection) == "wal" and _can_lock(connection)
        except sqlite3.OperationalError as error:
            if code_of(error) not in _NO_SHARED_MEMORY:
                raise
            return False

    try:
        return patiently(attempt, path)
    finally:
        connection.close()


def _ask_for_log(connection: sqlite3.Connection) -> str:
    mode = connection.execute("PRAGMA journal_mode").fetchone()[0]
    is_new = connection.execute("PRAGMA page_count").fetchone()[0] == 0
    if mode != "wal" and is_new:
        connection.execute("PRAGMA auto_vacuum=INCREMENTAL")  # cannot be changed cheaply later
        mode = connection.execute("PRAGMA journal_mode=WAL").fetchone()[0]
    return str(mode)


def _can_lock(connection: sqlite3.Connection) -> bool:
    try:
        connection.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError as error:
        if not is_busy(error):
            raise
    else:
        connection.execute("ROLLBACK")
    return True


def _give_up_log(path: Path) -> None:
    """Turn the file into one that needs no shared memory; a real write proves that this works.

    Only a connection that is exclusive from its first look at the file can do it.
    """
    connection = bare_connection(path)

    def convert() -> None:
        connection.execute("PRAGMA locking_mode=EXCLUSIVE")
        connection.execute("PRAGMA journal_mode=TRUNCATE")
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        connection.execute(f"PRAGMA user_version={version}")

    try:
        patiently(convert, path)
    finally:
        connection.close()
