"""The SQL of turns: their rows, their outcomes, and what they use."""

import sqlite3
from typing import Any

import msgspec
from msgspec import Struct

from roost.actors import tree_budgets
from roost.actors.models import Budgets, Claim, Ending, Progress, Turn
from roost.actors.store import note_activity
from roost.core.errors import NotFoundError
from roost.core.text import echo
from roost.db.transaction import Reader, Transaction
from roost.inbox.models import Address
from roost.sessions.models import decode_error
from roost.sessions.unreadable import FAULTS


def turn_from_row(row: sqlite3.Row) -> Turn:
    """A row of the table as a struct. Raises one of `FAULTS` where it is damaged."""
    return Turn(
        id=row["id"],
        session_id=row["session_id"],
        actor_id=row["actor_id"],
        number=row["number"],
        fence=row["fence"],
        reason=row["reason"],
        phase=row["phase"],
        budgets=msgspec.json.decode(row["budgets"], type=Budgets),
        started=row["started"],
        outcome=row["outcome"],
        result_message_id=row["result_message_id"],
        error=decode_error(row["error"]) if row["error"] else None,
        reported_status=row["reported_status"],
        summary=row["summary"],
        hops=row["hops"],
        steps=row["steps"],
        tokens=row["tokens"],
        cost=row["cost"],
        ended=row["ended"],
    )


def _as_far_as_read(row: sqlite3.Row) -> Turn:
    """The turn of a row whose budgets may be damaged: then none is known, and it can be ended."""
    try:
        return turn_from_row(row)
    except FAULTS:
        readable: Any = {**dict(row), "budgets": "{}"}
        return turn_from_row(readable)


def get_turn(db: Reader, turn_id: str) -> Turn:
    """The turn of that id. Raises `NotFoundError`."""
    row = db.one("SELECT * FROM turn WHERE id = ?", (turn_id,))
    if row is None:
        raise NotFoundError(f"there is no turn {echo(turn_id)}")
    return _as_far_as_read(row)


def find_turn(db: Reader, address: Address, number: int) -> Turn | None:
    """The turn of that number of an actor, or None."""
    row = db.one(
        "SELECT * FROM turn WHERE session_id = ? AND actor_id = ? AND number = ?",
        (address.session_id, address.actor_id, number),
    )
    return _as_far_as_read(row) if row else None


class Sums(Struct, frozen=True):
    """What all turns of an actor used."""

    steps: int
    tokens: int
    cost: float
    """US dollars."""


def sums(db: Reader, address: Address) -> Sums:
    """What all turns of an actor used."""
    row = db.one(
        "SELECT coalesce(sum(steps), 0) AS steps, coalesce(sum(tokens), 0) AS tokens,"
        " coalesce(sum(cost), 0) AS cost FROM turn WHERE session_id = ? AND actor_id = ?",
        (address.session_id, address.actor_id),
    )
    assert row is not None
    return Sums(row["steps"], row["tokens"], row["cost"])


def save_progress(tx: Transaction, claim: Claim, progress: Progress) -> None:
    """Store what the turn has used, and charge its tree with what is new of it."""
    if tree_budgets.is_limited(claim.turn.budgets):
        known = get_turn(tx, claim.turn.id)
        new = (progress.tokens - known.tokens, progress.cost - known.cost)
        tree_budgets.charge(tx, claim, *new)
    tx.run(
        "UPDATE turn SET budgets = ?, steps = ?, tokens = ?, cost = ? WHERE id = ?",
        (
            msgspec.json.encode(progress.budgets).decode(),
            progress.steps,
            progress.tokens,
            progress.cost,
            claim.turn.id,
        ),
    )
    note_activity(tx, claim)


def set_outcome(
    tx: Transaction, turn: Turn, ending: Ending, status: str | None, summary: str
) -> None:
    """Write how a turn came out; it is then in phase `finalizing`."""
    tx.run(
        "UPDATE turn SET phase = 'finalizing', outcome = ?, result_message_id = ?, error = ?,"
        " reported_status = ?, summary = ? WHERE id = ?",
        (
            ending.outcome,
            ending.result_message_id,
            msgspec.json.encode(ending.error).decode() if ending.error else None,
            status,
            summary or None,
            turn.id,
        ),
    )


def has_ended(db: Reader, turn_id: str) -> bool:
    """Whether there is such a turn and it has ended."""
    row = db.one("SELECT phase FROM turn WHERE id = ?", (turn_id,))
    return row is not None and row["phase"] == "ended"


def turns_of(db: Reader, address: Address) -> list[Turn]:
    """Every turn of an actor, the oldest first."""
    rows = db.all(
        "SELECT * FROM turn WHERE session_id = ? AND actor_id = ? ORDER BY number",
        (address.session_id, address.actor_id),
    )
    return [_as_far_as_read(row) for row in rows]


def set_hops(tx: Transaction, turn_id: str, hops: int) -> None:
    """Remember how many messages from actor to actor led to the turn."""
    tx.run("UPDATE turn SET hops = ? WHERE id = ?", (hops, turn_id))


def end_turn(tx: Transaction, turn: Turn, now: int) -> None:
    """Put a turn into its last phase."""
    tx.run("UPDATE turn SET phase = 'ended', ended = ? WHERE id = ?", (now, turn.id))
