"""What judges said of the goal of a session during one turn."""

import sqlite3
from typing import Final

import msgspec
from msgspec import Struct

from roost.core.clock import moment_of
from roost.db.transaction import Reader
from roost.sessions.parts import Tokens

_FAULTS: Final = (msgspec.MsgspecError, RecursionError, UnicodeError, TypeError)


class Judgement(Struct, frozen=True):
    """One call of a judge."""

    result: str
    reason: str
    model: str
    message_id: str
    created: int
    seconds: float
    tokens: Tokens
    cost: float
    """US dollars."""


def of_turn(db: Reader, turn_id: str) -> list[Judgement]:
    """The calls of judges in a turn, in order."""
    rows = db.all("SELECT * FROM goal_verdict WHERE turn_id = ? ORDER BY created, id", (turn_id,))
    return [
        Judgement(
            row["result"],
            row["reason"],
            row["model"],
            row["message_id"],
            moment_of(row["created"]),
            _number(row["seconds"]),
            _tokens(row),
            _number(row["cost"]),
        )
        for row in rows
    ]


def _number(stored: object) -> float:
    return stored if isinstance(stored, int | float) else 0.0


def _tokens(row: sqlite3.Row) -> Tokens:
    try:
        return msgspec.json.decode(row["tokens"], type=Tokens)
    except _FAULTS:
        return Tokens()
