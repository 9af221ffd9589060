"""The SQL of messages in the order in which they were stored, whichever session they are of.

The number of a row grows with every message. If the newest ones are deleted, new ones get their
numbers; whoever remembers a number keeps the id of the message beside it.
"""

import sqlite3
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from roost.db.transaction import Reader
from roost.sessions.models import Message
from roost.sessions.unreadable import info_of, part_of

_COLUMNS: Final = (
    "m.rowid AS row, m.id, m.session_id, m.actor_id, m.role, m.data, m.is_open, s.project_id"
)
_FROM: Final = f"SELECT {_COLUMNS} FROM message m JOIN session s ON s.id = m.session_id"


class Spoken(Struct, frozen=True):
    """A message, and where it stands."""

    row: int
    message: Message
    actor_id: str
    project_id: str
    is_open: bool
    """It still grows."""


def newest_row(db: Reader) -> int:
    """The number of the message that was stored last; 0 without messages."""
    row = db.one("SELECT max(rowid) AS row FROM message")
    return (row["row"] if row else None) or 0


def after(db: Reader, row: int, limit: int) -> list[Spoken]:
    """At most `limit` messages that were stored after the one of number `row`, oldest first."""
    rows = db.all(f"{_FROM} WHERE m.rowid > ? ORDER BY m.rowid LIMIT ?", (row, limit))
    return [_spoken(db, one) for one in rows]


def before(db: Reader, row: int, limit: int) -> list[Spoken]:
    """At most `limit` messages that were stored before the one of number `row`, newest first."""
    rows = db.all(f"{_FROM} WHERE m.rowid < ? ORDER BY m.rowid DESC LIMIT ?", (row, limit))
    return [_spoken(db, one) for one in rows]


def at(db: Reader, rows: Sequence[int]) -> dict[int, Spoken]:
    """The messages of these numbers, as far as there are any."""
    found = [db.one(f"{_FROM} WHERE m.rowid = ?", (row,)) for row in rows]
    return {one["row"]: _spoken(db, one) for one in found if one is not None}


def id_at(db: Reader, row: int) -> str | None:
    """The id of the message of number `row`; None if there is none."""
    found = db.one("SELECT id FROM message WHERE rowid = ?", (row,))
    return found["id"] if found else None


def find(db: Reader, message_id: str) -> Spoken | None:
    """The message of that id, or None."""
    row = db.one(f"{_FROM} WHERE m.id = ?", (message_id,))
    return _spoken(db, row) if row else None


def beside(db: Reader, spoken: Spoken, count: int) -> list[Spoken]:
    """A message with at most `count` of the same actor before it and as many after it."""
    info = spoken.message.info
    place = "m.session_id = ? AND m.actor_id = ? AND m.seq {} ?"
    where = (info.session_id, spoken.actor_id, _seq(db, info.id), count)
    earlier = db.all(f"{_FROM} WHERE {place.format('<')} ORDER BY m.seq DESC LIMIT ?", where)
    later = db.all(f"{_FROM} WHERE {place.format('>')} ORDER BY m.seq LIMIT ?", where)
    return [*(_spoken(db, one) for one in reversed(earlier)), spoken] + [
        _spoken(db, one) for one in later
    ]


def message_of_part(db: Reader, part_id: str) -> str | None:
    """The id of the message that a part belongs to, or None."""
    row = db.one("SELECT message_id FROM part WHERE id = ?", (part_id,))
    return row["message_id"] if row else None


def session_sums(db: Reader) -> tuple[int, int]:
    """Two numbers that are others once a session was deleted."""
    row = db.one("SELECT count(*) AS count, total(rowid) AS sum FROM session")
    return (row["count"], int(row["sum"])) if row else (0, 0)


def session_ids(db: Reader) -> set[str]:
    """Every session."""
    return {row["id"] for row in db.all("SELECT id FROM session")}


def _seq(db: Reader, message_id: str) -> int:
    row = db.one("SELECT seq FROM message WHERE id = ?", (message_id,))
    return row["seq"] if row else 0


def _spoken(db: Reader, row: sqlite3.Row) -> Spoken:
    parts = db.all(
        "SELECT id, message_id, session_id, type, data FROM part WHERE message_id = ? ORDER BY seq",
        (row["id"],),
    )
    message = Message(info_of(row), tuple(part_of(part) for part in parts))
    return Spoken(row["row"], message, row["actor_id"], row["project_id"], bool(row["is_open"]))
