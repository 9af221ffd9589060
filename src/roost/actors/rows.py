"""Rows of the table of actors as structs, as far as they can be read.

A row may be damaged, or written by a program that knew other words. It must hide no other actor,
nor keep one from being stopped. What cannot be read is replaced by what is safe, and named in
`Actor.damage`; the row itself is left as it is.
"""

import sqlite3
from collections.abc import Iterator
from typing import Any, Final, Literal, TypeVar, cast, get_args

import msgspec

from roost.actors.models import Actor, Budgets, CancelMode, Mode, RetryState, Status
from roost.db.transaction import Reader
from roost.inbox.models import Address
from roost.sessions.unreadable import FAULTS, Unreadable

T = TypeVar("T")
_MODES: Final = frozenset(get_args(Mode))
_STATES: Final = frozenset(get_args(Status))
_CANCELS: Final = frozenset({None, *get_args(CancelMode)})
_LIVES: Final = frozenset({"persistent", "ephemeral"})
_CONTEXTS: Final = frozenset({"none", "state", "full"})
_NEVER_GIVEN: Final = 2**40
"""Higher than any fence or turn that was given out: whoever held the actor holds it no more."""


class _Reading:
    """Reads one row, and notes what of it cannot be read."""

    def __init__(self, row: sqlite3.Row) -> None:
        self.row = row
        self.wrong: list[str] = []

    def one_of(self, column: str, known: frozenset[Any], safe: T) -> T:
        value = self.row[column]
        if value in known:
            return cast("T", value)
        self.wrong.append(column)
        return safe

    def number(self, column: str, safe: int = 0) -> int:
        value = self.row[column]
        if isinstance(value, int):
            return value
        self.wrong.append(column)
        return safe

    def maybe_number(self, column: str) -> int | None:
        value = self.row[column]
        if value is None or isinstance(value, int):
            return value
        self.wrong.append(column)
        return None

    def json(self, column: str, kind: type[T], safe: T | None) -> T | None:
        data = self.row[column]
        if not data:
            return None
        try:
            return msgspec.json.decode(data, type=kind)
        except FAULTS:
            self.wrong.append(column)
            return safe

    def address(self, session: str, actor: str) -> Address | None:
        session_id, actor_id = self.row[session], self.row[actor]
        return Address(session_id, actor_id) if session_id and actor_id else None


def actor_from_row(row: sqlite3.Row) -> Actor:
    """A row of the table as a struct.

    Instead of a mode that is not known stands the one that fits the actor's place, instead of tools
    that cannot be read none, instead of a wish to stop it the strongest.
    """
    read = _Reading(row)
    parent = read.address("parent_session_id", "parent_actor_id")
    fronts = bool(row["fronts"])
    likely: Mode = "subagent" if not fronts else "peer" if parent else "main"
    resting: Status = "running" if row["owner"] else "pending"
    life: Literal["persistent", "ephemeral"] = "persistent" if fronts else "ephemeral"
    nothing: Literal["none", "state", "full"] = "none"
    forced: CancelMode | None = "forced"
    return Actor(
        session_id=row["session_id"],
        actor_id=row["actor_id"],
        mode=read.one_of("mode", _MODES, likely),
        fronts=fronts,
        agent=row["agent"],
        lifecycle=read.one_of("lifecycle", _LIVES, life),
        status=read.one_of("status", _STATES, resting),
        parent=parent,
        description=row["description"],
        model=row["model"],
        variant=row["variant"],
        background=bool(row["background"]),
        owner=row["owner"],
        cancel=read.one_of("cancel", _CANCELS, forced),
        retry=read.json("retry", RetryState, None),
        current_turn=row["current_turn"],
        root=read.address("root_session_id", "root_actor_id"),
        context_mode=read.one_of("context_mode", _CONTEXTS, nothing),
        context_watermark=row["context_watermark"],
        tools=read.json("tools", tuple[str, ...], ()),
        task_id=row["task_id"],
        output_schema=read.json("output_schema", dict[str, Any], None),
        held=bool(row["held"]),
        created=read.number("created"),
        last_activity=read.number("last_activity"),
        depth=read.number("depth"),
        fence=read.number("fence", _NEVER_GIVEN),
        lease_until=read.number("lease_until"),
        turns=read.number("turns", _NEVER_GIVEN),
        resumed=read.number("resumed"),
        stalled=read.maybe_number("stalled"),
        waiting_until=read.maybe_number("waiting_until"),
        damage=", ".join(read.wrong),
    )


def damaged_rows(db: Reader) -> Iterator[Unreadable]:
    """The rows of actors, and of their turns, that cannot be read whole. Reads all of them."""
    for row in db.all("SELECT * FROM actor ORDER BY session_id, created"):
        if columns := actor_from_row(row).damage:
            yield Unreadable(row["session_id"], f"actor {row['actor_id']} ({columns})")
    for row in db.all("SELECT id, session_id, budgets FROM turn ORDER BY session_id, started"):
        try:
            _ = msgspec.json.decode(row["budgets"], type=Budgets)
        except FAULTS:
            yield Unreadable(row["session_id"], f"turn {row['id']} (budgets)")
