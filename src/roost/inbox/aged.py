"""The SQL of mail that is old: what nobody reads, and the history that nobody needs any more."""

from typing import Final

from roost.db.transaction import Reader, Transaction
from roost.inbox.models import InboxRow
from roost.inbox.store import readable

_THERE: Final = "receiver_session IN (SELECT id FROM session WHERE directory = ?)"


def unread(db: Reader, directory: str, before: int, limit: int) -> list[InboxRow]:
    """Mail to the sessions of a directory that has been queued since `before`, the oldest first.

    Times are milliseconds since the epoch. A row of a newer program is left alone.
    """
    rows = db.all(
        f"SELECT * FROM inbox WHERE state = 'queued' AND created < ? AND {_THERE}"
        " ORDER BY seq LIMIT ?",
        (before, directory, limit),
    )
    return [row for raw in rows if (row := readable(raw)) is not None]


def remove_history(tx: Transaction, directory: str, before: int, limit: int) -> int:
    """Delete at most `limit` rows that came to their end before `before`, and tell how many.

    What is queued stays, and so does what a turn that still runs has taken up.
    """
    return tx.run(
        "DELETE FROM inbox WHERE seq IN (SELECT seq FROM inbox WHERE state != 'queued'"
        f" AND coalesce(delivered, created) < ? AND {_THERE}"
        " AND (turn_id IS NULL OR turn_id NOT IN (SELECT id FROM turn WHERE phase != 'ended'))"
        " ORDER BY seq LIMIT ?)",
        (before, directory, limit),
    )
