"""Turns for people who look at them: named by the beginning of an id, listed, and read even where
their rows are damaged.
"""

import sqlite3
from typing import Any, Final

import msgspec
from msgspec import Struct

from roost.actors.models import Turn
from roost.actors.turn_store import turn_from_row
from roost.core.errors import NotFoundError
from roost.db.transaction import Reader
from roost.inbox.models import Address

_FAULTS: Final = (msgspec.MsgspecError, RecursionError, UnicodeError, TypeError)
_NUMBERS: Final = ("number", "fence", "hops", "steps", "tokens", "cost", "started")


class TurnSeen(Struct, frozen=True):
    """A turn as far as its row can be read."""

    turn: Turn
    damage: str = ""
    """What cannot be read, and what is shown instead; empty: nothing is damaged."""


class ChildTurn(Struct, frozen=True):
    """A turn of an actor that another one started."""

    turn: Turn
    agent: str
    description: str


def _seen(row: sqlite3.Row) -> TurnSeen:
    """The turn in a row; what is not of its kind is 0, none, or no budgets at all."""
    values: Any = dict(row)
    damaged = [name for name in _NUMBERS if not isinstance(values[name], int | float)]
    values |= dict.fromkeys(damaged, 0)
    if not isinstance(values["ended"], int | None):
        damaged.append("ended")
        values["ended"] = None
    try:
        turn = turn_from_row(values)
    except _FAULTS:
        damaged.append("budgets")
        values["budgets"] = "{}"
        turn = turn_from_row(values)
    return TurnSeen(turn, f"{', '.join(damaged)} cannot be read" if damaged else "")


def by_id(db: Reader, turn_id: str) -> TurnSeen:
    """The turn of that id. Raises `NotFoundError`."""
    row = db.one("SELECT * FROM turn WHERE id = ?", (turn_id,))
    if row is None:
        raise NotFoundError(f"there is no turn {turn_id}")
    return _seen(row)


def beginning_with(db: Reader, start: str, limit: int) -> list[TurnSeen]:
    """At most `limit` turns whose id begins with `start`, the newest first."""
    rows = db.all(
        "SELECT * FROM turn WHERE substr(id, 1, ?) = ? ORDER BY started DESC, id DESC LIMIT ?",
        (len(start), start, limit),
    )
    return [_seen(row) for row in rows]


def of_actor(db: Reader, address: Address) -> list[TurnSeen]:
    """Every turn of an actor, the oldest first."""
    rows = db.all(
        "SELECT * FROM turn WHERE session_id = ? AND actor_id = ? ORDER BY number",
        (address.session_id, address.actor_id),
    )
    return [_seen(row) for row in rows]


def of_children(db: Reader, parent: Address, since: int, until: int) -> list[ChildTurn]:
    """The turns of an actor's children that began in a span of time, in order; both ends are
    milliseconds since the epoch.
    """
    rows = db.all(
        "SELECT t.*, a.agent, a.description FROM turn t"
        " JOIN actor a ON a.session_id = t.session_id AND a.actor_id = t.actor_id"
        " WHERE a.parent_session_id = ? AND a.parent_actor_id = ?"
        " AND t.started >= ? AND t.started <= ? ORDER BY t.started, t.id",
        (parent.session_id, parent.actor_id, since, until),
    )
    return [ChildTurn(_seen(row).turn, row["agent"], row["description"]) for row in rows]


def actors_of(db: Reader, session_id: str) -> list[str]:
    """The ids of a session's actors, in the order in which they were registered."""
    rows = db.all(
        "SELECT actor_id FROM actor WHERE session_id = ? ORDER BY created, actor_id", (session_id,)
    )
    return [row["actor_id"] for row in rows]
