"""Keeps no longer than the configuration says: old mail, sessions, outputs and snapshots.

A process that lives long looks once an hour. What a directory's configuration says holds for the
sessions of that directory; where it cannot be read, the user's own configuration does.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Final

from roost.actors import aged as actors_aged
from roost.actors.limits import ActorLimits
from roost.config.models import Config
from roost.config.paths import Paths
from roost.core.clock import now_ms
from roost.core.errors import RoostError
from roost.db.database import Database
from roost.db.transaction import Transaction
from roost.inbox import aged as inbox_aged
from roost.memory.layout import Layout
from roost.runtime.deleting import forget_notes
from roost.runtime.old_outputs import DAY, take_turn
from roost.runtime.old_snapshots import prune_snapshots
from roost.runtime.project import Projects
from roost.sessions import aged as sessions_aged
from roost.tools.output import Keep, sweep

logger = logging.getLogger(__name__)
EVERY_SECONDS: Final = 3_600
LOOK_SECONDS: Final = 300.0
"""How often it is seen whether any process has looked within the last hour."""
PRUNE_SECONDS: Final = 20.0
"""How long the snapshots of one project are looked through at most; the next look goes on."""
ROWS: Final = 200
"""Rows that one transaction changes: nobody waits long for it."""
_Change = Callable[[Transaction, str, int, int], int]


class Retention:
    """What goes when it is old enough."""

    def __init__(self, database: Database, projects: Projects, paths: Paths) -> None:
        self._database = database
        self._projects = projects
        self._paths = paths
        self._stamp = paths.state / "retention"

    @asynccontextmanager
    async def at_work(self) -> AsyncGenerator[None]:
        """Look regularly until the block ends."""
        async with asyncio.TaskGroup() as group:
            task = group.create_task(self._regularly())
            try:
                yield
            finally:
                task.cancel()

    async def _regularly(self) -> None:
        while True:
            if self.is_due():
                try:
                    await self.apply()
                except (RoostError, OSError) as error:
                    logger.warning("what is old was not removed: %s", error)
            await asyncio.sleep(LOOK_SECONDS)

    def is_due(self) -> bool:
        """Whether no process has looked within the last hour; then this one is to."""
        return take_turn(self._stamp, EVERY_SECONDS)

    async def apply(self) -> None:
        """Remove all that is old enough now. Raises `StorageError` or `OSError`."""
        for directory in await self._database.read(sessions_aged.directories):
            await self._in_directory(directory, await self._config_of(Path(directory)))
        own = (await self._config_of(self._paths.data)).retention
        if own.outputs is not None:
            keep = Keep(seconds=own.outputs * DAY)
            await asyncio.to_thread(sweep, self._paths.data / "outputs", keep)
        if own.snapshots is not None:
            data = self._paths.data
            await prune_snapshots(self._database, data, own.snapshots, PRUNE_SECONDS)

    async def _config_of(self, directory: Path) -> Config:
        for place in (directory, self._paths.data):
            try:
                return (await self._projects.open(place)).loaded.config
            except RoostError:
                continue
        return Config()

    async def _in_directory(self, directory: str, config: Config) -> None:
        now, keep = now_ms(), config.retention
        hops = ActorLimits.of(config.actors).hops
        here = await self._database.read(lambda db: sessions_aged.ids_in(db, directory))
        if keep.queued is not None:
            unread = now - keep.queued * DAY * 1000
            found = await self._database.read(lambda db: inbox_aged.with_unread(db, unread))
            expire = partial(actors_aged.expire_unread, hops=hops)
            await self._in_sessions(here.intersection(found), expire, unread)
        if keep.inbox is not None:
            ended = now - keep.inbox * DAY * 1000
            found = await self._database.read(lambda db: inbox_aged.with_history(db, ended))
            await self._in_sessions(here.intersection(found), actors_aged.remove_history, ended)
        if keep.sessions is not None:
            await self._sessions(directory, now - keep.sessions * DAY * 1000)

    async def _in_sessions(self, ids: set[str], change: _Change, before: int) -> None:
        """Change as much as one transaction may, and again as long as there is as much to do."""
        for session_id in ids:
            while (
                await self._database.write(lambda tx, one=session_id: change(tx, one, before, ROWS))
                >= ROWS
            ):
                continue

    async def _sessions(self, directory: str, before: int) -> None:
        """One session a transaction; those above it are seen once those below it are gone."""
        while found := await self._database.read(
            lambda db: sessions_aged.unused(db, directory, before)
        ):
            removed = [
                await self._database.write(
                    lambda tx, one=one: actors_aged.remove_if_unused(tx, one, before)
                )
                for one in found
            ]
            gone = [one for one, done in zip(found, removed, strict=True) if done]
            await forget_notes(Layout(self._paths.data), gone)
            if not gone:
                return
