"""The SQL of the sessions that a session directs: topics, working trees, approvals given ahead."""

import re
import sqlite3
from pathlib import Path
from typing import Final

from msgspec import Struct

from roost.core.clock import now_ms
from roost.db.transaction import Reader, Transaction
from roost.sessions import store as sessions

EVERY_CHILD: Final = "*"
"""Stands for all children in an approval that is given ahead."""


class Peer(Struct, frozen=True, kw_only=True):
    """A session that another one directs."""

    session_id: str
    parent_session_id: str
    topic: str | None = None
    """The key of its topic: its parent has no other child of that key."""
    worktree: Path | None = None
    """Where it works, if in a working tree that was made for it."""
    branch: str | None = None
    base: str | None = None
    """What the tree began from."""


def topic_key(topic: str) -> str:
    """What topics are compared by: lower case, runs of anything but letters and digits as `-`."""
    return re.sub(r"[\W_]+", "-", topic.lower()).strip("-")


def put(tx: Transaction, peer: Peer) -> None:
    """Store a new peer. The database refuses a second one of the same parent and topic."""
    tx.run(
        "INSERT INTO peer (session_id, parent_session_id, topic, worktree, branch, base)"
        " VALUES (?,?,?,?,?,?)",
        (
            peer.session_id,
            peer.parent_session_id,
            peer.topic,
            None if peer.worktree is None else str(peer.worktree),
            peer.branch,
            peer.base,
        ),
    )


def _from_row(row: sqlite3.Row) -> Peer:
    return Peer(
        session_id=row["session_id"],
        parent_session_id=row["parent_session_id"],
        topic=row["topic"],
        worktree=Path(row["worktree"]) if row["worktree"] else None,
        branch=row["branch"],
        base=row["base"],
    )


def find(db: Reader, session_id: str) -> Peer | None:
    """What is known of a session as a peer; None if it is none."""
    row = db.one("SELECT * FROM peer WHERE session_id = ?", (session_id,))
    return _from_row(row) if row else None


def by_topic(db: Reader, parent_session_id: str, key: str) -> Peer | None:
    """The child of a session for the topic of that key."""
    row = db.one(
        "SELECT * FROM peer WHERE parent_session_id = ? AND topic = ?", (parent_session_id, key)
    )
    return _from_row(row) if row else None


def free_topic(tx: Transaction, session_id: str) -> None:
    """Let another session have the topic of this one, which cannot be reached any more."""
    tx.run("UPDATE peer SET topic = NULL WHERE session_id = ?", (session_id,))


def forget_worktree(tx: Transaction, session_id: str) -> None:
    """The working tree of a peer is removed."""
    tx.run("UPDATE peer SET worktree = NULL WHERE session_id = ?", (session_id,))


def worktrees(db: Reader) -> set[Path]:
    """The working trees of all peers."""
    rows = db.all("SELECT worktree FROM peer WHERE worktree IS NOT NULL")
    return {Path(row["worktree"]) for row in rows}


def with_worktree(db: Reader, session_id: str) -> list[Peer]:
    """Those of a session and all below it that have a working tree of their own."""
    rows = db.all("SELECT * FROM peer WHERE worktree IS NOT NULL")
    having = {row["session_id"]: _from_row(row) for row in rows}
    within = sessions.ids_within(db, session_id) if having else ()
    return [having[one] for one in within if one in having]


def grant(tx: Transaction, session_id: str, child_session_id: str) -> None:
    """Remember that a session agrees beforehand to what a child asks (`*`: to what all ask)."""
    tx.run(
        "INSERT INTO approval_grant (session_id, child_session_id, created) VALUES (?,?,?)"
        " ON CONFLICT DO NOTHING",
        (session_id, child_session_id, now_ms()),
    )


def is_granted(db: Reader, session_id: str, child_session_id: str) -> bool:
    """Whether a session agreed beforehand to what a child asks."""
    row = db.one(
        "SELECT 1 FROM approval_grant WHERE session_id = ? AND child_session_id IN (?, ?)",
        (session_id, child_session_id, EVERY_CHILD),
    )
    return row is not None
