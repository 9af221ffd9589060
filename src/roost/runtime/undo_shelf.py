"""The snapshots of the folders that sessions work in: opened when they are needed, kept for the
next turn.
"""

import asyncio
import logging
from collections import deque
from pathlib import Path
from typing import Final

from roost.config.paths import Paths
from roost.core.errors import RoostError
from roost.runtime.kept import Kept
from roost.runtime.project import Project
from roost.workspace.git_folder import repository_of
from roost.workspace.snapshot_models import LookEndedError, SnapshotLimits
from roost.workspace.snapshot_written import WrittenFiles
from roost.workspace.snapshots import Snapshots, store_of

logger = logging.getLogger(__name__)
IDLE: Final = 4
"""Folders in which nobody works and of which is remembered what lies in them."""
OUTSIDE_GIT: Final = SnapshotLimits(files=20_000, new_bytes=256 * 1024 * 1024)
"""Of a folder that is no repository less is kept: nobody said what of it belongs to a project."""
NOT_LOOKED_AT: Final = (
    "What commands change cannot be undone here: the folder holds a whole home, and is not a"
    " project. What the tools for files change can."
)
Place = tuple[Path, str]
"""The root of a working tree, and the id of its project."""


class FileStore:
    """What is kept of the files of one working tree."""

    def __init__(self, root: Path, store: Path, *, own: tuple[Path, ...], home: Path) -> None:
        """`own` are folders of Roost, which are not looked at."""
        self.root = root
        self.store = store
        self._warnings: deque[str] = deque()
        limits = SnapshotLimits() if repository_of(root) else OUTSIDE_GIT
        self.snapshots = Snapshots(root, store, warn=self.warn, excluded=own, limits=limits)
        self.written = WrittenFiles(root, store, limits)
        self.looks = not home.is_relative_to(root)
        """Whether all files may be looked at, to see what a command changed."""
        self._first: asyncio.Task[None] | None = None
        self._told: set[str] = set()

    def begin(self) -> None:
        """Look at all files in the background, unless that was done; waits for nothing."""
        if self.looks and self._first is None and self.snapshots.last is None:
            self._first = asyncio.create_task(self._look())

    async def _look(self) -> None:
        try:
            await asyncio.to_thread(self.snapshots.track)
        except LookEndedError:
            return
        except RoostError as error:
            self.warn(f"{error.message}. {error.hint}")

    def warn(self, words: str) -> None:
        """Let the next news of a change say what the user should know; each thing once."""
        if words not in self._told:
            self._told.add(words)
            self._warnings.append(words)
            logger.warning("%s: %s", self.root, words)

    def warnings(self) -> list[str]:
        """What the user should be told and was not yet."""
        found = list(self._warnings)
        self._warnings.clear()
        return found

    async def close(self) -> None:
        """End a look that is under way; keep what is known for the next start."""
        await asyncio.to_thread(self.snapshots.close)
        if self._first is not None:
            await asyncio.gather(self._first, return_exceptions=True)


class Shelf:
    """The file stores of this process."""

    def __init__(self, paths: Paths, home: Path) -> None:
        self._paths = paths
        self._home = home
        self._kept: Kept[Place, FileStore] = Kept(IDLE)

    def take(self, project: Project, project_id: str) -> FileStore:
        """The store for a project's files, until it is given back."""
        place = (project.root, project_id)
        return self._kept.take(place, lambda: self._opened(*place))

    async def give_back(self, files: FileStore, project_id: str) -> None:
        """End one use."""
        for idle in self._kept.give_back((files.root, project_id)):
            await idle.close()

    async def close(self) -> None:
        """Close all."""
        for files in self._kept.clear():
            await files.close()

    def _opened(self, root: Path, project_id: str) -> FileStore:
        store = store_of(self._paths.data, project_id)
        return FileStore(root, store, own=self._paths.all, home=self._home)
