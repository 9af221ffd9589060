"""What becomes of what is old: mail that nobody reads expires, sessions nobody uses are removed.

Times are milliseconds since the epoch.
"""

import msgspec

from roost.actors import peers, store
from roost.actors.claim import rest_unless_due
from roost.actors.limits import HOPS
from roost.actors.report import notice_about
from roost.actors.send import send
from roost.core.failpoints import failpoint
from roost.db.transaction import Transaction
from roost.inbox import aged, changes
from roost.inbox.models import InboxRow, Letter
from roost.sessions import aged as sessions_aged
from roost.sessions import store as sessions


def expire_unread(
    tx: Transaction, session_id: str, before: int, limit: int, *, hops: int = HOPS
) -> int:
    """Let at most `limit` rows of a session expire that have been queued since `before`; how many
    there were.

    Whoever sent one is told, unless it was the runtime's own news; `hops` is how many messages in
    a row may wake somebody.
    """
    rows = aged.unread(tx, session_id, before, limit)
    for row in rows:
        if changes.expire(tx, row):
            _tell_sender(tx, row, hops)
            rest_unless_due(tx, row.receiver)
    return len(rows)


def _tell_sender(tx: Transaction, row: InboxRow, hops: int) -> None:
    sender, receiver = row.sender, store.find(tx, row.receiver)
    if row.kind not in {"message", "brief"} or sender is None or receiver is None:
        return
    if store.find(tx, sender) is None:
        return
    body = msgspec.structs.replace(notice_about(receiver, "undelivered"), message_id=row.id)
    letter = Letter(
        receiver=sender,
        kind="notice",
        body=body,
        sender=row.receiver,
        key=f"expired:{row.id}",
        wake=row.hops < hops,
        hops=row.hops + 1,
    )
    send(tx, letter)
    failpoint("expire.told")


def remove_history(tx: Transaction, session_id: str, before: int, limit: int) -> int:
    """Delete mail of a session as `roost.inbox.aged.remove_history` does, but for what turns that
    still run have taken up.
    """
    at_work = store.not_idle(tx, session_id)
    turns = [one.current_turn for one in at_work if one.current_turn is not None]
    return aged.remove_history(tx, session_id, before, limit, but_of=turns)


def remove_if_unused(tx: Transaction, session_id: str, before: int) -> bool:
    """Remove a session that nobody has used since `before`, with all that belongs to it.

    One that works, has sessions below it, or has a working tree of its own is in use.
    """
    peer = peers.find(tx, session_id)
    in_use = store.not_idle(tx, session_id) or (peer is not None and peer.worktree is not None)
    if in_use or not sessions_aged.is_unused(tx, session_id, before):
        return False
    sessions.delete(tx, session_id)
    failpoint("retention.session")
    return True
