"""What becomes of mail when the end of a session is taken back for good: it was never said."""

from collections.abc import Iterable

from roost.core.failpoints import failpoint
from roost.db.transaction import Reader, Transaction
from roost.inbox import changes, shown, store
from roost.inbox.models import PromptBody


def last_seq(db: Reader) -> int:
    """The place of the newest mail of all; what comes later has a greater one."""
    row = db.one("SELECT max(seq) AS seq FROM inbox")
    return int(row["seq"] or 0) if row else 0


def seq_of_heard(db: Reader, session_id: str, message_id: str) -> int:
    """The place of the mail that became a message; 0 if none did."""
    row = db.one(
        "SELECT max(seq) AS seq FROM inbox WHERE receiver_session = ? AND message_id = ?",
        (session_id, message_id),
    )
    return int(row["seq"] or 0) if row else 0


def forget_heard(tx: Transaction, session_id: str, message_ids: Iterable[str]) -> None:
    """Delete the mail that became these messages."""
    for message_id in message_ids:
        tx.run(
            "DELETE FROM inbox WHERE receiver_session = ? AND message_id = ?"
            " AND state = 'delivered'",
            (session_id, message_id),
        )


def forget_unheard(tx: Transaction, session_id: str, after: int, until: int) -> None:
    """Delete what waits in a session and came after the mail `after`, up to the mail `until`: words
    of a person, and what its own actors and the runtime said. What other sessions said stays.
    """
    for row in store.queued_in(tx, session_id, None):
        own = row.kind == "prompt" or row.sender is None or row.sender.session_id == session_id
        if not own or not after < row.seq <= until:
            continue
        tx.run("DELETE FROM inbox WHERE seq = ?", (row.seq,))
        shown.tell_state(tx, session_id, row.id, "rejected")
        if isinstance(row.body, PromptBody):
            changes.tell_unsaid(tx, row)
        failpoint("undo.unheard")
