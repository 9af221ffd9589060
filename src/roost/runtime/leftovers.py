"""Clears in the background what processes that died had half made outside of the database."""

import asyncio
import logging
from pathlib import Path
from typing import Final

from roost.actors import peers
from roost.core.errors import StorageError
from roost.db.database import Database
from roost.runtime.isolate import clear
from roost.workspace.tree_notes import notes_in

logger = logging.getLogger(__name__)
LAST_SECONDS: Final = 5.0
"""How long a process that ends still clears; else one that runs a second each time never would."""


class Leftovers:
    """Working trees that were to be a session's; where there are none, one look into a folder."""

    def __init__(self, database: Database, noted: Path) -> None:
        self._database = database
        self._noted = noted
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Begin to clear."""
        if notes_in(self._noted):
            self._task = asyncio.create_task(self._clear())

    async def close(self) -> None:
        """Leave to the next process what is not cleared a moment from now."""
        if self._task is not None:
            await asyncio.wait((self._task,), timeout=LAST_SECONDS)
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _clear(self) -> None:
        try:
            await clear(self._noted, lambda: self._database.read(peers.worktrees))
        except (StorageError, OSError) as error:
            logger.warning("working trees of dead processes were not cleared: %s", error)
