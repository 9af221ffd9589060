"""Removes snapshots that undo needs no more: while a server runs, and when a process ends, once a
day and in a moment.
"""

import asyncio
import logging
from pathlib import Path
from typing import Final

from roost.config.paths import Paths
from roost.core.clock import now_ms
from roost.core.errors import RoostError
from roost.db.database import Database
from roost.runtime.old_outputs import DAY, own_retention, take_turn
from roost.runtime.project import Projects
from roost.sessions import undo_store
from roost.workspace.snapshot_prune import prune
from roost.workspace.snapshots import KEPT_FOR, store_of

logger = logging.getLogger(__name__)
LAST_SECONDS: Final = 0.5
"""How long a process that ends looks through the snapshots of one project."""


async def prune_snapshots(database: Database, data: Path, days: int, seconds: float) -> None:
    """Remove what no session needs that was used in so many days, and nobody asked for lately; at
    most `seconds` for each project. Raises `StorageError`.
    """
    since = now_ms() - days * DAY * 1000
    for project_id in await asyncio.to_thread(_names_in, data / "snapshots"):
        needed = await database.read(
            lambda db, one=project_id: undo_store.snapshots_named(db, one, since)
        )
        await asyncio.to_thread(prune, store_of(data, project_id), needed, KEPT_FOR, seconds)


async def sweep_snapshots(database: Database, projects: Projects, paths: Paths) -> None:
    """The same if no process that ended has today, as the user's own configuration says."""
    try:
        if not (paths.data / "snapshots").is_dir():
            return
        if not take_turn(paths.state / "retention-of-snapshots", DAY):
            return
        days = (await own_retention(projects, paths)).snapshots
        if days is not None:
            await prune_snapshots(database, paths.data, days, LAST_SECONDS)
    except (OSError, RoostError) as error:
        logger.warning("old snapshots were not removed: %s", error)


def _names_in(folder: Path) -> list[str]:
    try:
        return sorted(one.name for one in folder.iterdir() if one.is_dir())
    except OSError:
        return []
