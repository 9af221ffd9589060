"""Takes up what was said into the index while a server has nothing else to do, so that a search
finds nothing left to take up first.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Final

from roost.core.errors import StorageError
from roost.db.database import Database
from roost.memory.index import Index
from roost.runtime.history import History

logger = logging.getLogger(__name__)
LOOK_SECONDS: Final = 30.0
"""How often it looks."""
_AT_ONCE: Final = 0.2
"""Seconds of work after which it looks whether there is something else to do."""


class HistoryKeeper:
    """Works as long as the block of `at_work` runs; the index is its own to close."""

    def __init__(
        self,
        database: Database,
        index: Index,
        is_idle: Callable[[], bool],
        *,
        seconds: float = LOOK_SECONDS,
    ) -> None:
        """`is_idle`: whether no actor is at work in this process."""
        self._index = index
        self._history = History(database, index)
        self._is_idle = is_idle
        self._seconds = seconds

    @asynccontextmanager
    async def at_work(self) -> AsyncGenerator[None]:
        """Look regularly until the block ends."""
        try:
            async with asyncio.TaskGroup() as group:
                task = group.create_task(self._regularly())
                try:
                    yield
                finally:
                    task.cancel()
        finally:
            self._index.close()

    async def _regularly(self) -> None:
        while True:
            await asyncio.sleep(self._seconds)
            try:
                while self._is_idle() and await self._history.catch_up(_AT_ONCE):
                    continue
            except StorageError as error:
                logger.warning("what was said is not taken up: %s", error)
