"""What a transaction function is given: the connection, and the events to publish on commit."""

import sqlite3
from typing import Any

from roost.events.types import Event

Parameters = tuple[Any, ...] | dict[str, Any]


class Reader:
    """A view of the database for reading."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def one(self, sql: str, parameters: Parameters = ()) -> sqlite3.Row | None:
        """The first row, or None."""
        return self._connection.execute(sql, parameters).fetchone()

    def all(self, sql: str, parameters: Parameters = ()) -> list[sqlite3.Row]:
        """Every row."""
        return self._connection.execute(sql, parameters).fetchall()


class Transaction(Reader):
    """A transaction that holds the write lock; commits when its function returns."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        super().__init__(connection)
        self.events: list[Event] = []

    def run(self, sql: str, parameters: Parameters = ()) -> int:
        """Execute one statement and tell how many rows it changed."""
        return self._connection.execute(sql, parameters).rowcount

    def insert(self, sql: str, parameters: Parameters = ()) -> int:
        """Execute one INSERT and tell the integer key of the new row."""
        return self._connection.execute(sql, parameters).lastrowid or 0

    def emit(self, event: Event) -> None:
        """Publish `event` once the transaction is committed; never if it is not."""
        self.events.append(event)
