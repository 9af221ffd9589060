"""What becomes of what is old: mail that nobody reads expires, sessions nobody uses are removed.

The SQL of both, with `roost.inbox.aged`. Times are milliseconds since the epoch.
"""

from typing import Final

from roost.actors import store
from roost.actors.claim import rest
from roost.actors.limits import HOPS
from roost.actors.send import send
from roost.core.failpoints import failpoint
from roost.db.transaction import Reader, Transaction
from roost.inbox import aged, changes
from roost.inbox import store as inbox
from roost.inbox.models import InboxRow, Letter
from roost.inbox.notices import NoticeBody
from roost.sessions import store as sessions


def expire_unread(tx: Transaction, directory: str, before: int, limit: int) -> int:
    """Let at most `limit` rows expire that have been queued since `before`; how many there were.

    Whoever sent one is told, unless it was the runtime's own news.
    """
    rows = aged.unread(tx, directory, before, limit)
    for row in rows:
        if changes.expire(tx, row):
            _tell_sender(tx, row)
            _let_rest(tx, row)
    return len(rows)


def _tell_sender(tx: Transaction, row: InboxRow) -> None:
    sender, receiver = row.sender, store.find(tx, row.receiver)
    if row.kind not in {"message", "brief"} or sender is None or receiver is None:
        return
    if store.find(tx, sender) is None:
        return
    body = NoticeBody(
        notice="undelivered",
        session_id=receiver.session_id,
        actor_id=receiver.actor_id,
        agent=receiver.agent,
        description=receiver.description,
        message_id=row.id,
    )
    letter = Letter(
        receiver=sender,
        kind="notice",
        body=body,
        sender=row.receiver,
        key=f"expired:{row.id}",
        wake=row.hops < HOPS,
        hops=row.hops + 1,
    )
    send(tx, letter)
    failpoint("expire.told")


def _let_rest(tx: Transaction, row: InboxRow) -> None:
    """One that was to run for this row alone sleeps."""
    actor = store.find(tx, row.receiver)
    if actor is not None and actor.status == "pending" and not inbox.has_mail(tx, row.receiver):
        rest(tx, actor)


_UNUSED: Final = (
    "updated < ? AND NOT EXISTS (SELECT 1 FROM session b WHERE b.parent_id = session.id)"
    " AND NOT EXISTS (SELECT 1 FROM actor WHERE session_id = session.id AND status != 'idle')"
    " AND NOT EXISTS (SELECT 1 FROM peer WHERE session_id = session.id AND worktree IS NOT NULL)"
)


def unused(db: Reader, directory: str, before: int, limit: int) -> list[str]:
    """Sessions of a directory that nobody has used since `before`, the oldest first.

    One that works, has sessions below it, or has a working tree of its own is in use.
    """
    sql = f"SELECT id FROM session WHERE directory = ? AND {_UNUSED} ORDER BY updated LIMIT ?"
    return [row["id"] for row in db.all(sql, (directory, before, limit))]


def remove_if_unused(tx: Transaction, session_id: str, before: int) -> bool:
    """Remove a session with all that belongs to it, unless it is in use by now."""
    if tx.one(f"SELECT 1 FROM session WHERE id = ? AND {_UNUSED}", (session_id, before)) is None:
        return False
    sessions.delete(tx, session_id)
    failpoint("retention.session")
    return True


def directories(db: Reader) -> list[str]:
    """Every directory that has sessions."""
    return [row["directory"] for row in db.all("SELECT DISTINCT directory FROM session")]
