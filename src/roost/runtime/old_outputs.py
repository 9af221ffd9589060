"""Removes old outputs when a process ends: once a day, and in a moment."""

import logging
import time
from pathlib import Path
from typing import Final

from roost.config.models import RetentionConfig
from roost.config.paths import Paths
from roost.core.errors import RoostError, plain_words
from roost.runtime.project import Projects
from roost.tools.output import sweep_old

logger = logging.getLogger(__name__)
LAST_SECONDS: Final = 0.05
"""How long a process that ends looks for old outputs."""
DAY: Final = 24 * 3_600


async def sweep_outputs(projects: Projects, paths: Paths) -> None:
    """Remove old outputs, if no process that ended has today."""
    try:
        if not take_turn(paths.state / "retention-of-outputs", DAY):
            return
        days = (await own_retention(projects, paths)).outputs
        if days is not None:
            sweep_old(paths.data / "outputs", days * DAY, within=LAST_SECONDS)
    except OSError as error:
        logger.warning("old outputs were not removed: %s", plain_words(error))


async def own_retention(projects: Projects, paths: Paths) -> RetentionConfig:
    """What the user's own configuration says."""
    try:
        return (await projects.open(paths.data)).loaded.config.retention
    except RoostError:
        return RetentionConfig()


def take_turn(stamp: Path, seconds: int) -> bool:
    """Whether nobody did what `stamp` is for within so many seconds; then the caller is to.

    Raises `OSError`.
    """
    try:
        since = time.time() - stamp.stat().st_mtime
        if 0 <= since < seconds:
            return False
        stamp.touch()
    except FileNotFoundError:
        stamp.touch(mode=0o600)
    return True
