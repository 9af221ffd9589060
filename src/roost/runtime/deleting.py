"""The working trees and notes of a session and of all below it, when it is to be deleted."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from msgspec import Struct

from roost.actors import peers
from roost.core.errors import ConflictError, RoostError
from roost.db.database import Database
from roost.db.transaction import Reader
from roost.memory.layout import Layout
from roost.memory.writer import forget_session
from roost.runtime.session_views import worktree_of
from roost.sessions import store as sessions
from roost.workspace import worktrees
from roost.workspace.worktrees import Worktree


class Tree(Struct, frozen=True):
    """The working tree of a session."""

    session_id: str
    repository: Path
    """The folder that it was made for."""
    worktree: Worktree


async def delete_session(
    database: Database,
    layout: Layout,
    session_id: str,
    stop: Callable[[], Awaitable[None]],
    *,
    force: bool,
) -> list[str]:
    """Remove a session with all below it, once `stop` has stopped what works there.

    Working trees that hold nothing go with it. Others refuse it with `ConflictError`, unless with
    `force`: then they are left, and given, each with what it holds.
    """
    trees = await trees_within(database, session_id)
    if not force:
        await require_nothing_held(trees, session_id)
    await stop()
    if not force:  # whoever was stopped may have written meanwhile
        await require_nothing_held(trees, session_id)
    kept = await remove_empty(trees)
    within = await database.read(lambda db: sessions.ids_within(db, session_id))
    await database.write(lambda tx: sessions.delete(tx, session_id))
    await forget_notes(layout, within)
    return kept


async def forget_notes(layout: Layout, session_ids: Sequence[str]) -> None:
    """Remove what sessions that are deleted had written down for themselves."""
    for one in session_ids:
        await asyncio.to_thread(forget_session, layout, one)


async def trees_within(database: Database, session_id: str) -> list[Tree]:
    """The working trees of a session and of all below it."""

    def read(db: Reader) -> list[Tree]:
        found: list[Tree] = []
        for peer in peers.with_worktree(db, session_id):
            tree = worktree_of(peer)
            parent = sessions.find(db, peer.parent_session_id)
            if tree is not None:
                repository = Path(parent.directory) if parent else tree.directory
                found.append(Tree(peer.session_id, repository, tree))
        return found

    return await database.read(read)


async def require_nothing_held(trees: Sequence[Tree], session_id: str) -> None:
    """Raise `ConflictError` with the list of trees that hold something not committed or merged."""
    held = [words for tree in trees if (words := await _holds(tree))]
    if held:
        raise ConflictError(
            f"session {session_id} was not deleted, since working trees below it hold work:\n"
            + "\n".join(f"- {one}" for one in held),
            hint="Commit and merge it, or delete the session by force: these trees are left then.",
        )


async def _holds(tree: Tree) -> str:
    try:
        state = await worktrees.inspect(tree.repository, tree.worktree)
    except RoostError as error:
        return f"{tree.worktree.directory}: {error.message}"
    where = f"{tree.worktree.directory} (branch {tree.worktree.branch})"
    return f"{where}: {state.holds}" if state.holds else ""


async def remove_empty(trees: Sequence[Tree]) -> list[str]:
    """Remove the trees that hold nothing. Those that stay, each with what it holds."""
    kept: list[str] = []
    for tree in trees:
        removal = await worktrees.remove(tree.repository, tree.worktree)
        if not removal.removed:
            kept.append(
                f"{tree.worktree.directory} (branch {tree.worktree.branch}): {removal.reason}"
            )
    return kept
