"""The file of the index: SQLite beside the database, made of what is kept elsewhere.

Whatever becomes of it, nothing is lost: a damaged file, or one that another version of Roost made,
is removed and made anew. So it is no part of the database, which a step would then have to wait
for, and nobody needs to carry it along.
"""

import sqlite3
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

from roost.core.errors import StorageError
from roost.core.failpoints import failpoint
from roost.db.connect import DamagedError, OpenFile, connect, create_private, explain, patiently
from roost.db.transaction import Reader, Transaction
from roost.memory import tokens

_SHAPE: Final = 1
"""Counts the shapes of the tables."""
_VERSION: Final = _SHAPE * 1_000 + tokens.VERSION
_FTS: Final = (
    f"""fts5(tokens, content='', detail=none, columnsize=0, tokenize="{tokens.TOKENIZER}")"""
)
_TABLES: Final = (
    """CREATE TABLE memory_file (
  id INTEGER PRIMARY KEY,
  path TEXT NOT NULL UNIQUE,
  scope TEXT NOT NULL,
  owner TEXT NOT NULL,
  stamp TEXT NOT NULL,
  hash TEXT NOT NULL,
  changed BIGINT NOT NULL
)""",
    "CREATE INDEX memory_file_by_owner ON memory_file (scope, owner)",
    """CREATE TABLE memory_section (
  id INTEGER PRIMARY KEY,
  file_id INTEGER NOT NULL REFERENCES memory_file (id),
  heading TEXT NOT NULL,
  line INTEGER NOT NULL,
  body TEXT NOT NULL
)""",
    "CREATE INDEX memory_section_by_file ON memory_section (file_id)",
    f"CREATE VIRTUAL TABLE memory_terms USING {_FTS}",
    "CREATE VIRTUAL TABLE memory_vocabulary USING fts5vocab(memory_terms, 'row')",
    """CREATE TABLE heard_session (
  no INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE
)""",
    """CREATE TABLE heard (
  row INTEGER PRIMARY KEY,
  mark INTEGER NOT NULL,
  session_no INTEGER NOT NULL,
  created BIGINT NOT NULL,
  first INTEGER NOT NULL,
  count INTEGER NOT NULL
)""",
    "CREATE INDEX heard_unfinished ON heard (row) WHERE count < 0",
    """CREATE TABLE passage (
  id INTEGER PRIMARY KEY,
  row INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  chunk INTEGER NOT NULL
)""",
    "CREATE TABLE heard_state (key TEXT PRIMARY KEY, value INTEGER NOT NULL)",
    f"CREATE VIRTUAL TABLE history_terms USING {_FTS}",
    "CREATE VIRTUAL TABLE history_vocabulary USING fts5vocab(history_terms, 'row')",
)
T = TypeVar("T")


class Index:
    """Opens its file when it is first used. May be used by several threads, one at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._file: OpenFile | None = None

    def write(self, change: Callable[[Transaction], T]) -> T:
        """Run `change` in a transaction of its own and give its result.

        Raises `StorageError` if the file cannot be used.
        """
        with self._lock:
            return self._mended(lambda: self._write(change))

    def read(self, query: Callable[[Reader], T]) -> T:
        """Run `query` on one committed state."""
        with self._lock:
            return self._mended(lambda: self._read(query))

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._let_go()

    def _mended(self, work: Callable[[], T]) -> T:
        """The result of `work`, on a new file if the old one is damaged."""
        try:
            return work()
        except DamagedError:
            self._remove()
            return work()

    def _write(self, change: Callable[[Transaction], T]) -> T:
        connection = self._opened()
        patiently(lambda: connection.execute("BEGIN IMMEDIATE"), self.path)
        try:
            result = change(Transaction(connection))
            failpoint("index.commit")
            patiently(lambda: connection.execute("COMMIT"), self.path)
        except BaseException as error:
            if connection.in_transaction:
                with suppress(sqlite3.Error):  # the error that led here is the one to tell
                    connection.execute("ROLLBACK")
            if isinstance(error, sqlite3.Error):
                raise explain(error, self.path) from error
            raise
        return result

    def _read(self, query: Callable[[Reader], T]) -> T:
        connection = self._opened()
        patiently(lambda: connection.execute("BEGIN"), self.path)
        try:
            return query(Reader(connection))
        except sqlite3.Error as error:
            raise explain(error, self.path) from error
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")

    def _opened(self) -> sqlite3.Connection:
        if self._connection is not None:
            with suppress(StorageError):  # somebody removed it: it is made anew
                if OpenFile.at(self.path) == self._file:
                    return self._connection
            self._let_go()
        create_private(self.path)
        connection = self._connected()
        self._connection, self._file = connection, OpenFile.at(self.path)
        return connection

    def _connected(self) -> sqlite3.Connection:
        connection = connect(self.path)
        try:
            patiently(lambda: connection.execute("PRAGMA journal_mode=WAL"), self.path)
            made = patiently(lambda: _prepare(connection), self.path)
        except BaseException:
            connection.close()
            raise
        if made:
            return connection
        connection.close()
        self._remove()
        create_private(self.path)
        return self._connected()

    def _remove(self) -> None:
        self._let_go()
        for end in ("", "-wal", "-shm"):
            self.path.with_name(self.path.name + end).unlink(missing_ok=True)

    def _let_go(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = self._file = None


def _prepare(connection: sqlite3.Connection) -> bool:
    """Make the tables if there are none; False if there are those of another version."""
    if connection.execute("PRAGMA user_version").fetchone()[0] == _VERSION:
        return True
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if not version:
            for statement in _TABLES:
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {_VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return version in {0, _VERSION}
