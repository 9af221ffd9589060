"""The SQL of checkpoints and of the ledger that is gathered without a model."""

import sqlite3
from typing import Final, Literal

from msgspec import Struct

from roost.context import ledger
from roost.context.ledger import Ledger
from roost.core.clock import now_ms
from roost.db.transaction import Reader, Transaction
from roost.inbox.models import Address

State = Literal["writing", "written", "failed"]
KEPT: Final = 10
"""Versions of an actor that are kept."""


class Gathered(Struct, frozen=True):
    """A ledger and how far it goes."""

    ledger: Ledger
    message_id: str
    """The last message that is in it; empty: none is."""


def ledger_of(db: Reader, address: Address) -> Gathered:
    """What was gathered of an actor's conversation so far."""
    row = db.one(
        "SELECT message_id, data FROM ledger WHERE session_id = ? AND actor_id = ?",
        (address.session_id, address.actor_id),
    )
    return (
        Gathered(ledger.decode(row["data"]), row["message_id"]) if row else Gathered(Ledger(), "")
    )


def keep_ledger(tx: Transaction, address: Address, gathered: Gathered) -> None:
    """Store what was gathered, in place of what was."""
    tx.run(
        "INSERT INTO ledger (session_id, actor_id, message_id, data) VALUES (?,?,?,?)"
        " ON CONFLICT (session_id, actor_id) DO UPDATE SET message_id = excluded.message_id,"
        " data = excluded.data",
        (
            *(address.session_id, address.actor_id),
            *(gathered.message_id, ledger.encode(gathered.ledger)),
        ),
    )


class Checkpoint(Struct, frozen=True):
    """One version of what a model wrote down of an actor's conversation."""

    version: int
    state: State
    message_id: str
    """The last message that it covers."""
    writer: str | None
    """The actor that writes it, in the same session."""
    body: str
    tokens: int
    """Those of the conversation when it was begun."""
    reason: str
    """Why it failed."""
    created: int


def begin(
    tx: Transaction, address: Address, *, message_id: str, writer: str, tokens: int
) -> Checkpoint:
    """Note that `writer` writes the next version; older ones than `KEPT` are removed."""
    last = tx.one(
        "SELECT max(version) AS version FROM checkpoint WHERE session_id = ? AND actor_id = ?",
        (address.session_id, address.actor_id),
    )
    version = ((last["version"] if last else None) or 0) + 1
    now = now_ms()
    tx.run(
        "INSERT INTO checkpoint (session_id, actor_id, version, state, message_id, writer, body,"
        " tokens, created) VALUES (?,?,?,'writing',?,?,'',?,?)",
        (address.session_id, address.actor_id, version, message_id, writer, tokens, now),
    )
    tx.run(
        "DELETE FROM checkpoint WHERE session_id = ? AND actor_id = ? AND version <= ?",
        (address.session_id, address.actor_id, version - KEPT),
    )
    return Checkpoint(version, "writing", message_id, writer, "", tokens, "", now)


def end(
    tx: Transaction, address: Address, version: int, state: State, *, body: str, reason: str = ""
) -> None:
    """Note how a version ended; one that is not being written stays as it is."""
    tx.run(
        "UPDATE checkpoint SET state = ?, body = ?, reason = ?, ended = ?"
        " WHERE session_id = ? AND actor_id = ? AND version = ? AND state = 'writing'",
        (state, body, reason, now_ms(), address.session_id, address.actor_id, version),
    )


def newest(db: Reader, address: Address, state: State | None = None) -> Checkpoint | None:
    """The newest version, or the newest in `state`."""
    row = db.one(
        "SELECT * FROM checkpoint WHERE session_id = ? AND actor_id = ?"
        " AND (? IS NULL OR state = ?) ORDER BY version DESC LIMIT 1",
        (address.session_id, address.actor_id, state, state),
    )
    return _from_row(row) if row else None


def listed(db: Reader, address: Address) -> list[Checkpoint]:
    """The versions that are kept, oldest first."""
    rows = db.all(
        "SELECT * FROM checkpoint WHERE session_id = ? AND actor_id = ? ORDER BY version",
        (address.session_id, address.actor_id),
    )
    return list(map(_from_row, rows))


def _from_row(row: sqlite3.Row) -> Checkpoint:
    return Checkpoint(
        version=row["version"],
        state=row["state"],
        message_id=row["message_id"],
        writer=row["writer"],
        body=row["body"],
        tokens=row["tokens"],
        reason=row["reason"],
        created=row["created"],
    )
