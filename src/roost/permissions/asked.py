"""What was asked of people during one turn, and what became of it."""

import sqlite3
from typing import Any, Final

import msgspec
from msgspec import Struct

from roost.core.clock import moment_of
from roost.db.transaction import Reader
from roost.permissions.asks import Ask, from_row

_FAULTS: Final = (msgspec.MsgspecError, RecursionError, UnicodeError)


class Asked(Struct, frozen=True):
    """A request of a turn."""

    ask: Ask
    answered: int | None
    """When it was answered or withdrawn; milliseconds since the epoch."""
    damage: str = ""
    """What of it cannot be read; empty: nothing is damaged."""


def of_turn(db: Reader, turn_id: str) -> list[Asked]:
    """What a turn asked, in order."""
    rows = db.all("SELECT * FROM ask WHERE turn_id = ? ORDER BY created, id", (turn_id,))
    return [_asked(row) for row in rows]


def _asked(row: sqlite3.Row) -> Asked:
    answered = moment_of(row["answered"]) or None
    try:
        return Asked(from_row(row), answered)
    except _FAULTS:
        readable: Any = {**dict(row), "request": "{}", "answer": None}
        return Asked(from_row(readable), answered, "its words cannot be read")
