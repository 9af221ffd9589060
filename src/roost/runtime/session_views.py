"""Sessions that another one directs, as they stand: what they do, ask for, and hold."""

import asyncio
from pathlib import Path

import msgspec

from roost.actors import family, peers, store
from roost.actors.models import Actor
from roost.actors.peers import Peer
from roost.actors.view import ActorView, view
from roost.core.errors import RoostError
from roost.db.database import Database
from roost.db.transaction import Reader
from roost.inbox.models import Address
from roost.permissions import asks
from roost.permissions.asks import Ask
from roost.sessions import store as sessions
from roost.tools.session_port import Bucket, SessionView, TreeView
from roost.workspace import worktrees
from roost.workspace.worktrees import Worktree


def worktree_of(peer: Peer | None) -> Worktree | None:
    """The working tree that was made for a peer, as long as it is not known to be removed."""
    if peer is None or peer.worktree is None:
        return None
    return Worktree(peer.worktree, peer.branch or "", peer.base or "")


def read_view(db: Reader, actor: Actor, *, with_result: bool = False) -> SessionView:
    """The session that `actor` fronts; of its working tree only the place."""
    session = sessions.get(db, actor.session_id)
    peer = peers.find(db, actor.session_id)
    requests = [ask for ask in asks.listed(db, actor.session_id) if ask.kind == "permission"]
    shown = view(db, actor, with_result=with_result)
    tree = worktree_of(peer)
    return SessionView(
        actor=shown,
        title=session.title,
        directory=session.directory,
        bucket=bucket(shown, asking=bool(requests)),
        topic=(peer.topic or "") if peer else "",
        tree=tree_view(tree),
        requests=tuple(map(_request_line, requests)),
    )


def tree_view(tree: Worktree | None) -> TreeView | None:
    """A working tree as it was made."""
    if tree is None:
        return None
    return TreeView(directory=str(tree.directory), branch=tree.branch, base=tree.base)


def _request_line(ask: Ask) -> str:
    request = ask.request
    patterns = ", ".join(map(str, request.get("patterns", ())))
    who = "a person has to answer" if ask.forced else "you or the user may answer"
    return f"{ask.id}: {request.get('permission')}: {patterns} ({who})"


def bucket(actor: ActorView, *, asking: bool) -> Bucket:
    """How a session stands."""
    match actor.liveness:
        case "progressing" | "pending":
            return "waiting" if asking else "progressing"
        case "stalled":
            return "waiting" if asking else "stalled"
        case "waiting":
            return "waiting"
        case "idle" if actor.outcome == "cancelled":
            return "cancelled"
        case "idle" if actor.outcome in {"failure", "interrupted"}:
            return "failed"
        case "idle":
            return "idle"


async def with_tree(database: Database, found: SessionView) -> SessionView:
    """The session with the state of its working tree, or with why git does not tell it."""
    peer = await database.read(lambda db: peers.find(db, found.actor.session_id))
    tree = worktree_of(peer)
    if tree is None or found.tree is None:
        return found
    try:
        state = await worktrees.inspect(Path(found.directory), tree)
        shown = TreeView(
            directory=str(tree.directory),
            branch=state.branch or tree.branch,
            base=tree.base,
            ahead=state.ahead,
            holds=state.holds,
            fault="the folder is gone" if state.gone else "",
        )
    except RoostError as error:
        shown = TreeView(directory=str(tree.directory), branch=tree.branch, fault=error.message)
    return msgspec.structs.replace(found, tree=shown)


async def children(database: Database, own: Address, *, with_trees: bool) -> list[SessionView]:
    """The sessions that an actor began, in order."""

    def read(db: Reader) -> list[SessionView]:
        return [read_view(db, one) for one in family.children(db, own) if one.fronts]

    found = await database.read(read)
    if not with_trees:
        return found
    return list(await asyncio.gather(*(with_tree(database, one) for one in found)))


def find_child(db: Reader, own: Address, session_id: str) -> Actor | None:
    """The actor that fronts a session which `own` began, or one that such a session began."""
    actor = store.find(db, Address(session_id, session_id))
    return actor if actor is not None and family.is_below(db, actor, own) else None
