"""The database: one writer thread that owns its connection, a few readers, events after commit.

A caller ships a whole transaction as a function; it runs on the writer's thread inside
`BEGIN IMMEDIATE` and commits when it returns. The caller's event loop never waits for a lock.
"""

import asyncio
import queue
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, TypeVar

from roost.core.errors import StorageError
from roost.db.connect import connect, explain, patiently
from roost.db.opening import Opened, open_file
from roost.db.transaction import Reader, Transaction
from roost.events.bus import Bus

READERS: Final = 2
T = TypeVar("T")
_Job = tuple[Callable[[Transaction], Any], "asyncio.Future[Any]", asyncio.AbstractEventLoop]


class Database:
    """Open with `Database.open`; every method may be called from the event loop's thread only."""

    def __init__(self, opened: Opened, bus: Bus) -> None:
        self.path: Path = opened.path
        self.notes: tuple[str, ...] = opened.notes
        """What the user should know about the opening, for example that a file was set aside."""
        self._bus = bus
        self._connection = opened.connection
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._closed = False
        self._writer = threading.Thread(target=self._serve, name="roost-writer", daemon=True)
        self._writer.start()
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
        done: asyncio.Future[T] = loop.create_future()
        self._jobs.put((transaction, done, loop))
        return await done

    async def read(self, query: Callable[[Reader], T]) -> T:
        """Run `query` on a reader's thread, against the last committed state."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._readers, self._run_read, query)

    def _run_read(self, query: Callable[[Reader], T]) -> T:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = connect(self.path, read_only=True)
            self._local.connection = connection
            self._reading.append(connection)
        return patiently(lambda: query(Reader(connection)), self.path)

    def _serve(self) -> None:
        while (job := self._jobs.get()) is not None:
            transaction, done, loop = job
            try:
                result, events = self._commit(transaction)
            except BaseException as error:  # noqa: BLE001
                self._report(loop, done, error)
                continue
            self._tell(loop, lambda d=done, r=result, e=events: self._deliver(d, r, e))

    def _commit(self, transaction: Callable[[Transaction], Any]) -> tuple[Any, list[Any]]:
        connection = self._connection
        patiently(lambda: connection.execute("BEGIN IMMEDIATE"), self.path)
        try:
            scope = Transaction(connection)
            result = transaction(scope)
            connection.execute("COMMIT")
        except BaseException as error:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            if isinstance(error, sqlite3.IntegrityError):
                raise
            if isinstance(error, sqlite3.Error):
                raise explain(error, self.path) from error
            raise
        return result, scope.events

    def _deliver(self, done: "asyncio.Future[Any]", result: Any, events: list[Any]) -> None:
        self._bus.publish(events)
        if not done.done():
            done.set_result(result)

    def _report(
        self, loop: asyncio.AbstractEventLoop, done: "asyncio.Future[Any]", error: BaseException
    ) -> None:
        def fail() -> None:
            if not done.done():
                done.set_exception(error)

        self._tell(loop, fail)

    @staticmethod
    def _tell(loop: asyncio.AbstractEventLoop, action: Callable[[], None]) -> None:
        """Call back on the loop; one that is closed has nobody left who waits."""
        if not loop.is_closed():
            loop.call_soon_threadsafe(action)

    def close(self) -> None:
        """Finish the transactions already asked for, then close every connection."""
        if self._closed:
            return
        self._closed = True
        self._jobs.put(None)
        self._writer.join()
        self._readers.shutdown(wait=True)
        for connection in self._reading:
            connection.close()
        self._connection.close()
