"""What becomes of what is queued before it is read: it is taken back, reworded, told otherwise, or
made to wake nobody.
"""

import msgspec

from roost.core.clock import now_ms
from roost.core.errors import ConflictError, UsageError
from roost.core.failpoints import failpoint
from roost.db.transaction import Transaction
from roost.events.types import Event
from roost.inbox import shown, store
from roost.inbox.models import (
    RUNTIME_KINDS,
    Address,
    Body,
    InboxRow,
    PromptBody,
    PromptPart,
    encode_body,
)
from roost.sessions import transcript


def withdraw(tx: Transaction, inbox_id: str) -> InboxRow:
    """Take back a queued prompt or message.

    Raises `ConflictError` once it was read: what an actor has heard cannot be unsaid, and
    `UsageError` for what the runtime itself says.
    """
    row = store.get(tx, inbox_id)
    if row.kind in RUNTIME_KINDS:
        raise UsageError(f"message {inbox_id} is a {row.kind}, which only Roost itself takes back")
    if not tx.run(
        "UPDATE inbox SET state = 'rejected' WHERE id = ? AND state = 'queued'", (row.id,)
    ):
        raise ConflictError(f"message {inbox_id} was {row.state} already")
    shown.tell_state(tx, row.receiver.session_id, row.id, "rejected")
    tell_unsaid(tx, row)
    return row


def expire(tx: Transaction, row: InboxRow) -> bool:
    """Note that nobody has read a row for too long; False if somebody did meanwhile."""
    if not tx.run(
        "UPDATE inbox SET state = 'expired' WHERE seq = ? AND state = 'queued'", (row.seq,)
    ):
        return False
    shown.tell_state(tx, row.receiver.session_id, row.id, "expired")
    tell_unsaid(tx, row)
    failpoint("expire.marked")
    return True


def tell_unsaid(tx: Transaction, row: InboxRow) -> None:
    """Tell clients: a queued prompt that nobody will read is shown no longer."""
    if isinstance(row.body, PromptBody):
        session_id = row.receiver.session_id
        about = {"sessionID": session_id, "messageID": row.body.message_id}
        tx.emit(Event("message.removed", about, session_id=session_id))


def forget(tx: Transaction, receiver: Address, key: str) -> None:
    """Remove what an actor was told of something that was thrown away, heard or not."""
    row = store.by_key(tx, receiver, key)
    if row is not None and tx.run("DELETE FROM inbox WHERE seq = ?", (row.seq,)):
        shown.tell_state(tx, receiver.session_id, row.id, "rejected")


def take_back(tx: Transaction, key: str) -> None:
    """Let nobody hear what is queued under `key` any more: the runtime has no need to tell it."""
    queued = tx.all(
        "SELECT seq, id, receiver_session FROM inbox WHERE key = ? AND state = 'queued'", (key,)
    )
    for row in queued:
        tx.run("UPDATE inbox SET state = 'rejected' WHERE seq = ?", (row["seq"],))
        shown.tell_state(tx, row["receiver_session"], row["id"], "rejected")


def edit(tx: Transaction, inbox_id: str, parts: tuple[PromptPart, ...]) -> InboxRow:
    """Replace what a queued prompt says; its place in the queue stays.

    Raises `ConflictError` once it was read, `UsageError` if it is not a prompt.
    """
    row = store.get(tx, inbox_id)
    if row.kind != "prompt" or not isinstance(row.body, PromptBody):
        raise UsageError(f"message {inbox_id} is not a prompt")
    body = msgspec.structs.replace(row.body, parts=parts)
    if not tx.run(
        "UPDATE inbox SET body = ? WHERE id = ? AND state = 'queued'",
        (encode_body(body), row.id),
    ):
        raise ConflictError(f"message {inbox_id} was {row.state} already")
    changed = msgspec.structs.replace(row, body=body)
    for old in row.body.parts:
        if old.id not in {part.id for part in parts}:
            transcript.tell_removed(tx, old)
    shown.tell(tx, changed)
    return changed


def consume(tx: Transaction, receiver: Address, key: str, message_id: str, turn_id: str) -> bool:
    """Mark a queued row as delivered by the message `message_id`, which says the same.

    False if it was delivered before: then it must not be told again.
    """
    changed = tx.run(
        "UPDATE inbox SET state = 'delivered', message_id = ?, turn_id = ?, delivered = ?"
        " WHERE receiver_session = ? AND receiver_actor = ? AND key = ? AND state = 'queued'",
        (message_id, turn_id, now_ms(), receiver.session_id, receiver.actor_id, key),
    )
    failpoint("consume.marked")
    if not changed:
        return False
    row = tx.one(
        "SELECT id FROM inbox WHERE receiver_session = ? AND receiver_actor = ? AND key = ?",
        (receiver.session_id, receiver.actor_id, key),
    )
    assert row is not None
    shown.tell_state(tx, receiver.session_id, row["id"], "delivered")
    return True


def hush(tx: Transaction, receiver: Address) -> None:
    """Let what waits for an actor, prompts apart, start no turn of itself."""
    tx.run(
        "UPDATE inbox SET wake = 0 WHERE receiver_session = ? AND receiver_actor = ?"
        " AND state = 'queued' AND kind != 'prompt'",
        (receiver.session_id, receiver.actor_id),
    )


def renew(tx: Transaction, receiver: Address, sender: Address, prefix: str, body: Body) -> bool:
    """Let a row that waits say `body` instead, so that news of one thing does not pile up.

    It is the oldest of `sender` whose key begins with `prefix`. False if none waits.
    """
    row = tx.one(
        "SELECT seq, id FROM inbox WHERE receiver_session = ? AND receiver_actor = ?"
        " AND state = 'queued' AND sender_session = ? AND sender_actor = ?"
        " AND substr(key, 1, ?) = ? ORDER BY seq LIMIT 1",
        (
            receiver.session_id,
            receiver.actor_id,
            sender.session_id,
            sender.actor_id,
            len(prefix),
            prefix,
        ),
    )
    if row is None:
        return False
    tx.run("UPDATE inbox SET body = ? WHERE seq = ?", (encode_body(body), row["seq"]))
    shown.tell_state(tx, receiver.session_id, row["id"], "queued")
    return True
