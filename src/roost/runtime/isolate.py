"""The working tree of a session that works apart, and the place in it that its folder has."""

import asyncio
import logging
import time
from collections.abc import Collection
from pathlib import Path
from typing import Final

from msgspec import Struct

from roost.core.finishing import see_through
from roost.workspace import worktrees
from roost.workspace.git import Git
from roost.workspace.git_folder import repository_of
from roost.workspace.worktrees import Worktree

logger = logging.getLogger(__name__)
UNUSED_SECONDS: Final = 24 * 3600
"""How long a tree without a session is left for whoever is just making one."""
UNDO_SECONDS: Final = 600.0
"""How long a tree that nobody works in after all may take to go, as one of many files does."""
_WORDS: Final = """\
You work in a git working tree of your own: {directory}, on the branch {branch}, made from {base}. \
Change files there and nowhere else, and commit your work on this branch: only what is committed \
can be merged."""


class IsolatedPlace(Struct, frozen=True, kw_only=True):
    """Where an isolated session works."""

    tree: Worktree
    directory: Path
    """The folder in the tree that stands for the one it was made for."""
    repository: Path
    notes: tuple[str, ...] = ()
    """What is not in the tree."""

    @property
    def words(self) -> str:
        """What the session is told of it."""
        tree = self.tree
        return _WORDS.format(directory=self.directory, branch=tree.branch, base=tree.base)


async def isolate(directory: Path, folder: Path, name: str) -> IsolatedPlace:
    """Make a tree for work in `directory`, in `folder`. Raises as `worktrees.create` does."""
    tree = await worktrees.create(directory, folder, name)
    found = repository_of(directory)
    inner = directory.relative_to(found[0]) if found else Path()
    within = tree.directory / inner
    place = IsolatedPlace(
        tree=tree,
        directory=(within if within.is_dir() else tree.directory).resolve(),
        repository=directory,
    )
    try:
        notes = await _left_out(directory, tree)
    except BaseException:
        await undo(place)
        raise
    return IsolatedPlace(
        tree=tree, directory=place.directory, repository=directory, notes=tuple(notes)
    )


async def tidy(repository: Path, folder: Path, used: Collection[Path]) -> None:
    """Remove the trees in `folder` that no session works in and that hold nothing: left by a
    process that died before it had made the session, or by a session that was deleted by force.
    """
    base = await Git(repository).head()
    if base is None:
        return
    for directory in await asyncio.to_thread(_old, folder):
        if directory not in used:
            branch = f"{worktrees.PREFIX}{directory.name}"
            removal = await worktrees.remove(repository, Worktree(directory, branch, base))
            if removal.removed:
                logger.info("the working tree %s, which nobody used, is removed", directory)


def _old(folder: Path) -> list[Path]:
    """The folders in `folder` that nothing was put into for long."""
    limit = time.time() - UNUSED_SECONDS
    try:
        return sorted(
            one for one in folder.iterdir() if one.is_dir() and one.stat().st_mtime < limit
        )
    except OSError:
        return []  # there is none yet, or it goes away just now


async def _left_out(directory: Path, tree: Worktree) -> list[str]:
    notes: list[str] = []
    if changed := await Git(directory).status():
        files = f"{len(changed)} file{'' if len(changed) == 1 else 's'}"
        notes.append(f"Not in the working tree: {files} that the project has not committed.")
    if modules := await worktrees.submodules(tree.directory):
        notes.append(f"Submodules are empty in the working tree: {', '.join(modules)}.")
    return notes


async def undo(place: IsolatedPlace | None) -> None:
    """Remove a tree that nobody works in after all, although the caller may be being stopped."""
    if place is None:
        return
    tree = place.tree.directory
    await see_through(
        _removed(place), f"the unused working tree {tree} stays", seconds=UNDO_SECONDS
    )


async def _removed(place: IsolatedPlace) -> None:
    removal = await worktrees.remove(place.repository, place.tree)
    if not removal.removed:
        logger.warning("the unused working tree %s stays: %s", place.tree.directory, removal.reason)
