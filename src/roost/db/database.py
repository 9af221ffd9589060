"""The database: one writer thread that owns its connection, a few readers, events after commit.

A caller ships a whole transaction as a function; it runs on the writer's thread inside
`BEGIN IMMEDIATE` and commits when it returns. The caller's event loop never waits for a lock.
"""

import asyncio
import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, TypeVar

from roost.core.errors import StorageError
from roost.core.failpoints import failpoint
from roost.db.connect import DamagedError, connect, explain, patiently
from roost.db.opening import Opened, mark_suspect, open_file
from roost.db.transaction import Reader, Transaction
from roost.events.bus import Bus
from roost.events.types import Event

READERS: Final = 2
BATCH: Final = 64
"""Most transactions that the writer runs before it reports back."""
FREE_PAGES: Final = 2_048
MOST_PAGES: Final = 16_384
"""Free pages (4 KB each) above which closing shortens the file, and by how many at most."""
T = TypeVar("T")


class _Job:
    """A transaction on its way: what to run, who waits, and how it ended."""

    def __init__(
        self, transaction: Callable[[Transaction], Any], done: "asyncio.Future[Any]"
    ) -> None:
        self.transaction = transaction
        self._done = done
        self._result: Any = None
        self._error: BaseException | None = None
        self.events: list[Event] = []

    def __enter__(self) -> None:
        """Keep whatever is raised inside: it belongs to the caller, not to the thread."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        self._error = error
        return True

    def ended(self, result: Any, events: list[Event]) -> None:
        """Note a commit."""
        self._result = result
        self.events = events

    def report(self) -> None:
        """Tell the caller, unless it was cancelled."""
        if self._done.done():
            return
        if self._error is not None:
            self._done.set_exception(self._error)
        else:
            self._done.set_result(self._result)


class Database:
    """Open with `Database.open`; every method may be called from the event loop's thread only."""

    def __init__(self, opened: Opened, bus: Bus) -> None:
        self.path: Path = opened.path
        self.notes: tuple[str, ...] = opened.notes
        """What the user should know about the opening, for example that a file was set aside."""
        self._bus = bus
        self._connection = opened.connection
        self._file = opened.file
        self._closed = False
        self._queued: deque[_Job] = deque()
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
        done: asyncio.Future[T] = loop.create_future()
        self._queued.append(_Job(transaction, done))
        self._writer.submit(self._run_queued, loop)
        return await done

    def _run_queued(self, loop: asyncio.AbstractEventLoop) -> None:
        """Run what is queued. A hop between threads costs more than a small transaction, so those
        that queued together report together.
        """
        jobs: list[_Job] = []
        while self._queued and len(jobs) < BATCH:
            job = self._queued.popleft()
            with job, self._damage_noted():
                self._commit(job)
            jobs.append(job)
        if jobs:
            with suppress(RuntimeError):  # a loop that is closed has nobody left who waits
                loop.call_soon_threadsafe(self._report, jobs)

    def _report(self, jobs: list[_Job]) -> None:
        """Each further job in a callback of its own: a fault in one must not leave the others
        waiting.
        """
        loop = asyncio.get_running_loop()
        for job in jobs[1:]:
            loop.call_soon(self._report_one, job)
        self._report_one(jobs[0])

    def _report_one(self, job: _Job) -> None:
        try:
            self._bus.publish(job.events)
        finally:
            job.report()

    async def read(self, query: Callable[[Reader], T]) -> T:
        """Run `query` on a reader's thread; all it sees is one committed state, the last."""
        if self._closed:
            raise StorageError(f"the database {self.path} is closed")
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._readers, self._run_read, query)

    def _run_read(self, query: Callable[[Reader], T]) -> T:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            self._file.require(self.path)
            connection = connect(self.path, read_only=True)
            self._local.connection = connection
            self._reading.append(connection)
        with self._damage_noted():
            return patiently(lambda: _snapshot(connection, query), self.path)

    @contextmanager
    def _damage_noted(self) -> Generator[None]:
        """Let damage be looked for at the next opening when it was met now."""
        try:
            yield
        except DamagedError:
            mark_suspect(self.path)
            raise

    def _commit(self, job: _Job) -> None:
        connection = self._connection
        patiently(lambda: connection.execute("BEGIN IMMEDIATE"), self.path)
        try:
            self._file.require(self.path)
            scope = Transaction(connection)
            result = job.transaction(scope)
            for event in scope.events:
                _ = event.encoded  # news that cannot be told must not be committed
            failpoint("commit.before")
            patiently(lambda: connection.execute("COMMIT"), self.path)
            failpoint("commit.after")
        except BaseException as error:
            self._roll_back()
            if isinstance(error, sqlite3.Error) and not isinstance(error, sqlite3.IntegrityError):
                raise explain(error, self.path) from error
            raise
        job.ended(result, scope.events)

    def _roll_back(self) -> None:
        """Undo what is open; some errors have done it already."""
        if self._connection.in_transaction:
            with suppress(sqlite3.Error):  # the error that led here is the one to tell
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
        self._give_back_space()
        self._connection.close()

    def _give_back_space(self) -> None:
        """Shorten the file by what was deleted, unless that is little: free pages are reused."""
        with suppress(sqlite3.Error):  # a busy or full disk costs nothing but the space
            free = self._connection.execute("PRAGMA freelist_count").fetchone()[0]
            if free > FREE_PAGES:
                self._connection.executescript(f"PRAGMA incremental_vacuum({MOST_PAGES})")


def _snapshot(connection: sqlite3.Connection, query: Callable[[Reader], T]) -> T:
    connection.execute("BEGIN")
    try:
        return query(Reader(connection))
    finally:
        connection.execute("ROLLBACK")
