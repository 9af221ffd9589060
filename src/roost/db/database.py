"""The database: one writer thread that owns its connection, a few readers, events after commit.

A caller ships a whole transaction as a function; it runs on the writer's thread inside
`BEGIN IMMEDIATE` and commits when it returns. The caller's event loop never waits for a lock.
"""

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, TypeVar

from roost.core.errors import StorageError
from roost.db.connect import connect, explain, patiently
from roost.db.opening import Opened, open_file
from roost.db.transaction import Reader, Transaction
from roost.events.bus import Bus
from roost.events.types import Event

READERS: Final = 2
T = TypeVar("T")


class Database:
    """Open with `Database.open`; every method may be called from the event loop's thread only."""

    def __init__(self, opened: Opened, bus: Bus) -> None:
        self.path: Path = opened.path
        self.notes: tuple[str, ...] = opened.notes
        """What the user should know about the opening, for example that a file was set aside."""
        self._bus = bus
        self._connection = opened.connection
        self._closed = False
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="roost-writer")
        self._local = threading.local()
        self._reading: list[sqlite3.Connection] = []
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="roost-reader")

    @classmethod
    def open(cls, path: Path, bus: Bus) -> "Database":
        """Open or create the file at `path`, bringing its tables up to date.

        Raises `StorageError` if it cannot be used; a damaged file is set aside (see `notes`).
        """
        return cls(open_file(path), bus)

    async def write(self, transaction: Callable[[Transaction], T]) -> T:
        """Run `transaction` on the writer's thread, commit, publish its events, give its result.

        If the function raises, nothing is written and the error comes back. If the caller is
        cancelled meanwhile, the transaction still runs to its end.
        """
        if self._closed:
            raise StorageError(f"the database {self.path} is closed")
        loop = asyncio.get_running_loop()

        def publish(events: list[Event]) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(self._bus.publish, events)

        return await asyncio.shield(
            loop.run_in_executor(self._writer, self._commit, transaction, publish)
        )

    async def read(self, query: Callable[[Reader], T]) -> T:
        """Run `query` on a reader's thread, against the last committed state."""
        if self._closed:
            raise StorageError(f"the database {self.path} is closed")
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._readers, self._run_read, query)

    def _run_read(self, query: Callable[[Reader], T]) -> T:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = connect(self.path, read_only=True)
            self._local.connection = connection
            self._reading.append(connection)
        return patiently(lambda: query(Reader(connection)), self.path)

    def _commit(
        self, transaction: Callable[[Transaction], T], publish: Callable[[list[Event]], None]
    ) -> T:
        connection = self._connection
        patiently(lambda: connection.execute("BEGIN IMMEDIATE"), self.path)
        try:
            scope = Transaction(connection)
            result = transaction(scope)
            connection.execute("COMMIT")
        except sqlite3.IntegrityError:
            self._roll_back()
            raise
        except sqlite3.Error as error:
            self._roll_back()
            raise explain(error, self.path) from error
        except BaseException:
            self._roll_back()
            raise
        if scope.events:
            publish(scope.events)
        return result

    def _roll_back(self) -> None:
        """Undo what is open; some errors have done it already."""
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    def close(self) -> None:
        """Finish the transactions already asked for, then close every connection."""
        if self._closed:
            return
        self._closed = True
        self._writer.shutdown(wait=True)
        self._readers.shutdown(wait=True)
        for connection in self._reading:
            connection.close()
        self._connection.close()
