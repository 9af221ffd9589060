"""Keeps the ids of messages in the order in which they are heard.

OpenCode's clients sort a conversation by message id, while order inside Roost is the order of
acceptance (`seq`). So within one actor's slice each message has an id that sorts after the one
ahead of it. A client that makes an id for its prompt may have a slow clock, or be overtaken by
another prompt or by the model; then the server allots a new id, and tells it as the message is told
(`message.updated`, and `message.removed` for an id that was shown before). The id that the client
chose stays the prompt's key: sent again it is the same prompt, and whoever waits for it by that id
gets its answer.
"""

from typing import Any

import msgspec

from roost.core.ids import can_be_followed, new_id
from roost.db.transaction import Reader, Transaction
from roost.events.types import Event
from roost.inbox.models import Address, PromptBody
from roost.sessions import transcript
from roost.sessions.models import Message


def in_order(tx: Transaction, receiver: Address, body: PromptBody) -> PromptBody:
    """`body` with an id that sorts after all that `receiver` has heard and all that it will hear
    before; its own, if that does.
    """
    newest = transcript.newest_id(tx, receiver.session_id, receiver.actor_id)
    last = max(filter(None, (newest, _last_queued(tx, receiver))), default=None)
    chosen = body.message_id
    if can_be_followed(chosen) and (last is None or chosen > last):
        return body
    fresh = new_id("message", after=last)
    parts = tuple(msgspec.structs.replace(part, message_id=fresh) for part in body.parts)
    return msgspec.structs.replace(body, message_id=fresh, parts=parts)


def _last_queued(db: Reader, receiver: Address) -> str | None:
    row = db.one(
        "SELECT max(message_id) AS id FROM inbox WHERE receiver_session = ?"
        " AND receiver_actor = ? AND state = 'queued'",
        (receiver.session_id, receiver.actor_id),
    )
    return row["id"] if row else None


def placed_last(tx: Transaction, message: Message, actor_id: str) -> Message:
    """`message` as it is delivered: under a new id if the model spoke after it was accepted."""
    info = message.info
    newest = transcript.newest_id(tx, info.session_id, actor_id)
    if newest is None or info.id > newest:
        return message
    fresh = new_id("message", after=newest)
    gone: dict[str, Any] = {"sessionID": info.session_id, "messageID": info.id}
    tx.emit(Event("message.removed", gone, session_id=info.session_id))
    parts = tuple(msgspec.structs.replace(part, message_id=fresh) for part in message.parts)
    return Message(msgspec.structs.replace(info, id=fresh), parts)
