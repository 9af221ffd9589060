"""The SQL of who spawned whom: numbers for ids, children, descendants, the running ones."""

import math
from collections.abc import Collection
from typing import Final

from roost.actors import teams
from roost.actors.models import Actor
from roost.actors.rows import actor_from_row
from roost.actors.store import find
from roost.db.transaction import Reader, Transaction
from roost.inbox import store as inbox
from roost.inbox import waiting
from roost.inbox.models import Address

_GENERATIONS: Final = 100
"""More than any limit on depth allows."""


def next_number(tx: Transaction, session_id: str, agent: str) -> int:
    """The number of the next actor of `agent` in a session; never given out twice."""
    row = tx.one(
        "INSERT INTO actor_counter (session_id, agent, last) VALUES (?, ?, 1)"
        " ON CONFLICT (session_id, agent) DO UPDATE SET last = last + 1 RETURNING last",
        (session_id, agent),
    )
    assert row is not None
    return int(row["last"])


def is_known(db: Reader, actor_id: str) -> bool:
    """Whether an actor of any session has that id."""
    return db.one("SELECT 1 FROM actor WHERE actor_id = ? LIMIT 1", (actor_id,)) is not None


def children(db: Reader, parent: Address) -> list[Actor]:
    """The actors that `parent` spawned, in order."""
    rows = db.all(
        "SELECT * FROM actor WHERE parent_session_id = ? AND parent_actor_id = ?"
        " ORDER BY created, session_id, actor_id",
        (parent.session_id, parent.actor_id),
    )
    return [actor_from_row(row) for row in rows]


def busy_children(db: Reader, parent: Address) -> int:
    """How many children of `parent` run or are to run."""
    row = db.one(
        "SELECT count(*) AS n FROM actor"
        " WHERE parent_session_id = ? AND parent_actor_id = ? AND status != 'idle'",
        (parent.session_id, parent.actor_id),
    )
    return int(row["n"]) if row else 0


_BELOW = """
WITH RECURSIVE below (session_id, actor_id) AS (
  SELECT session_id, actor_id FROM actor WHERE parent_session_id = ? AND parent_actor_id = ?
  UNION
  SELECT a.session_id, a.actor_id FROM actor a
  JOIN below b ON a.parent_session_id = b.session_id AND a.parent_actor_id = b.actor_id
)
SELECT a.* FROM actor a JOIN below b
  ON a.session_id = b.session_id AND a.actor_id = b.actor_id
"""


def descendants(db: Reader, address: Address, *, at_work: bool = False) -> list[Actor]:
    """Every actor below `address`, peers and what lies below them included; with `at_work` only
    those that run or are to run.
    """
    sql = f"{_BELOW} WHERE a.status != 'idle'" if at_work else _BELOW
    rows = db.all(sql, (address.session_id, address.actor_id))
    return [actor_from_row(row) for row in rows]


def is_below(db: Reader, actor: Actor, ancestor: Address) -> bool:
    """Whether `ancestor` spawned `actor`, or one above it."""
    parent = actor.parent
    for _ in range(_GENERATIONS):
        if parent is None or parent == ancestor:
            return parent is not None
        above = find(db, parent)
        parent = above.parent if above else None
    return False


def ancestors(db: Reader, actor: Actor) -> list[Actor]:
    """Those above an actor, its parent first."""
    found: list[Actor] = []
    parent = actor.parent
    while parent is not None and len(found) < _GENERATIONS:
        above = find(db, parent)
        if above is None:
            break
        found.append(above)
        parent = above.parent
    return found


def has_company(db: Reader, actor: Actor) -> bool:
    """Whether somebody is there who may write to the actor: a parent, one at work below it, a team.

    A person may always, but is not waited for; nor is one that has delivered its result, and is
    only still busy with its hooks.
    """
    if actor.parent is not None or works_below(db, actor.address):
        return True
    return teams.is_member(db, actor.address)


def works_below(db: Reader, address: Address) -> bool:
    """Whether something is still to come of those below an actor; see `has_company`."""
    return not all(_has_delivered(db, one) for one in descendants(db, address, at_work=True))


def _has_delivered(db: Reader, actor: Actor) -> bool:
    """Whether nothing more is to come of an actor at work: its result is told, no mail waits."""
    if inbox.has_mail(db, actor.address):
        return False
    row = db.one("SELECT outcome FROM turn WHERE id = ?", (actor.current_turn,))
    return actor.status == "running" and row is not None and row["outcome"] is not None


def running_subagents(db: Reader, session_id: str, *, besides: Address) -> int:
    """How many subagents of a session, `besides` apart, hold a turn at the moment."""
    row = db.one(
        "SELECT count(*) AS n FROM actor WHERE session_id = ? AND status = 'running'"
        " AND mode = 'subagent' AND NOT (session_id = ? AND actor_id = ?)",
        (session_id, besides.session_id, besides.actor_id),
    )
    return int(row["n"]) if row else 0


def pending_subagents(db: Reader, session_id: str) -> list[Address]:
    """The subagents of a session that are to run, those that wait longest first; last those whose
    mail was taken back, which will not run.
    """
    rows = db.all(
        "SELECT session_id, actor_id FROM actor"
        " WHERE session_id = ? AND status = 'pending' AND mode = 'subagent'",
        (session_id,),
    )
    found = [Address(row["session_id"], row["actor_id"]) for row in rows]
    return sorted(found, key=lambda one: waiting.first_waking(db, one) or math.inf)


def pending_in(db: Reader, sessions: Collection[str]) -> list[Address]:
    """The actors of `sessions` that are to run."""
    # The first condition is that of the index: who rests is not looked at.
    rows = db.all(
        "SELECT session_id, actor_id FROM actor WHERE status != 'idle' AND status = 'pending'"
    )
    return [
        Address(row["session_id"], row["actor_id"]) for row in rows if row["session_id"] in sessions
    ]
