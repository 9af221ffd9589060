"""The SQL of mail that is old: what nobody reads, and the history that nobody needs any more.

Times are milliseconds since the epoch.
"""

from collections.abc import Collection
from typing import Final

from roost.db.transaction import Reader, Transaction
from roost.inbox.models import InboxRow
from roost.inbox.store import readable

_UNREAD: Final = "state = 'queued' AND created < ?"
_ENDED: Final = "state != 'queued' AND coalesce(delivered, created) < ?"


def with_unread(db: Reader, before: int) -> list[str]:
    """The sessions in which mail has been queued since `before`."""
    return _sessions(db, _UNREAD, before)


def with_history(db: Reader, before: int) -> list[str]:
    """The sessions that have mail which came to its end before `before`."""
    return _sessions(db, _ENDED, before)


def _sessions(db: Reader, which: str, before: int) -> list[str]:
    sql = f"SELECT DISTINCT receiver_session AS id FROM inbox WHERE {which}"
    return [row["id"] for row in db.all(sql, (before,))]


def unread(db: Reader, session_id: str, before: int, limit: int) -> list[InboxRow]:
    """Mail of a session that has been queued since `before`, the oldest first.

    A row of a newer program is left alone.
    """
    sql = f"SELECT * FROM inbox WHERE receiver_session = ? AND {_UNREAD} ORDER BY seq LIMIT ?"
    rows = db.all(sql, (session_id, before, limit))
    return [row for raw in rows if (row := readable(raw)) is not None]


def remove_history(
    tx: Transaction, session_id: str, before: int, limit: int, *, but_of: Collection[str]
) -> int:
    """Delete at most `limit` rows of a session that came to their end before `before`, and tell how
    many. What is queued stays, and so does what the turns `but_of` have taken up.
    """
    places = ", ".join("?" for _ in but_of)
    return tx.run(
        "DELETE FROM inbox WHERE seq IN (SELECT seq FROM inbox"
        f" WHERE receiver_session = ? AND {_ENDED}"
        f" AND (turn_id IS NULL OR turn_id NOT IN ({places})) ORDER BY seq LIMIT ?)",
        (session_id, before, *but_of, limit),
    )
