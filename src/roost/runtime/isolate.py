"""The working tree of a session that works apart, and the place in it that its folder has."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Collection
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from roost.core.errors import UsageError
from roost.core.failpoints import failpoint
from roost.core.finishing import see_through
from roost.workspace import worktrees
from roost.workspace.git import Git
from roost.workspace.git_folder import repository_of
from roost.workspace.tree_notes import TreeNote, notes_in, taken_over
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
    note: TreeNote
    """Says that there is the tree, until somebody else knows of it."""
    notes: tuple[str, ...] = ()
    """What is not in the tree."""

    @property
    def words(self) -> str:
        """What the session is told of it."""
        tree = self.tree
        return _WORDS.format(directory=self.directory, branch=tree.branch, base=tree.base)


async def isolate(directory: Path, folder: Path, name: str, noted: Path) -> IsolatedPlace:
    """Make a tree for work in `directory`, in `folder`, with a note of it in `noted`.

    Raises as `worktrees.create` does.
    """
    note = TreeNote(noted, directory)
    try:
        tree = await worktrees.create(directory, folder, name, begun=note.write)
    except BaseException:
        note.done()
        raise
    found = repository_of(directory)
    inner = directory.relative_to(found[0]) if found else Path()
    within = tree.directory / inner
    place = IsolatedPlace(
        tree=tree,
        directory=(within if within.is_dir() else tree.directory).resolve(),
        repository=directory,
        note=note,
    )
    try:
        notes = await _left_out(directory, tree)
    except BaseException:
        await undo(place)
        raise
    failpoint("isolate.made")
    return msgspec.structs.replace(place, notes=tuple(notes))


async def clear(noted: Path, used: Callable[[], Awaitable[Collection[Path]]]) -> None:
    """Take back the trees of dead processes that no session works in; `used` are those in use.

    What fails is told, and tried again by the next who looks.
    """
    for path in await asyncio.to_thread(notes_in, noted):
        with taken_over(path) as found:
            if found is None:
                continue
            directory = found.tree.directory
            try:
                known = directory in await used()
                if not known and not await worktrees.take_back(found.repository, found.tree):
                    logger.warning("the working tree %s, which nobody knows, holds work", directory)
            except UsageError as error:
                logger.warning("the working tree %s stays for now: %s", directory, error.message)
                continue
            path.unlink(missing_ok=True)


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
    place.note.done()
    if not removal.removed:
        logger.warning("the unused working tree %s stays: %s", place.tree.directory, removal.reason)
