"""Takes back or rewords what is queued, as long as nobody has heard it."""

import msgspec

from roost.core.errors import ConflictError, UsageError
from roost.db.transaction import Transaction
from roost.events.types import Event
from roost.inbox import store
from roost.inbox.models import RUNTIME_KINDS, InboxRow, PromptBody, PromptPart, encode_body
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
    _tell_state(tx, msgspec.structs.replace(row, state="rejected"))
    if isinstance(row.body, PromptBody):
        tx.emit(
            Event(
                "message.removed",
                {"sessionID": row.receiver.session_id, "messageID": row.body.message_id},
                session_id=row.receiver.session_id,
            )
        )
    return row


def take_back(tx: Transaction, key: str) -> None:
    """Let nobody hear what is queued under `key` any more: the runtime has no need to tell it."""
    for row in tx.all("SELECT * FROM inbox WHERE key = ? AND state = 'queued'", (key,)):
        tx.run("UPDATE inbox SET state = 'rejected' WHERE seq = ?", (row["seq"],))
        _tell_state(tx, msgspec.structs.replace(store.from_row(row), state="rejected"))


def _tell_state(tx: Transaction, row: InboxRow) -> None:
    tx.emit(
        Event(
            "inbox.updated",
            {"sessionID": row.receiver.session_id, "id": row.id, "state": row.state},
            session_id=row.receiver.session_id,
        )
    )


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
    store.tell(tx, changed)
    return changed
