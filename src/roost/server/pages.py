"""Pages of a conversation, newest first in pages and oldest first within one.

What is queued for an actor is shown as it will be heard: user messages behind all others.
"""

import base64
import binascii
from typing import Final

from msgspec import Struct

from roost.actors import store as actors
from roost.core.errors import NotFoundError, UsageError
from roost.db.transaction import Reader
from roost.inbox import store as inbox
from roost.inbox.models import Address, PromptBody
from roost.sessions import transcript
from roost.sessions.models import Message

PAGE_LIMIT: Final = 1_000
ALL_ACTORS: Final = "*"


class Page(Struct, frozen=True):
    """Messages, and the id that the next page ends before; None: there are no older ones."""

    messages: list[Message]
    before: str | None


def encode_cursor(message_id: str) -> str:
    """An opaque cursor for the messages before `message_id`."""
    return base64.urlsafe_b64encode(message_id.encode()).decode().rstrip("=")


def decode_cursor(cursor: str) -> str:
    """The message id in a cursor. Raises `UsageError`."""
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        message_id = base64.b64decode(padded, altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError) as error:
        raise UsageError(f"{cursor!r} is no cursor of this server") from error
    return message_id


def read_page(
    db: Reader, session_id: str, actor_id: str, *, limit: int | None, before: str | None
) -> Page:
    """The newest messages of an actor (`*`: of all) that are older than the message `before`.

    Raises `NotFoundError` if there is no such message.
    """
    one = None if actor_id == ALL_ACTORS else actor_id
    queued = _queued(db, session_id, one)
    place = next((i for i, m in enumerate(queued) if m.info.id == before), None)
    seq = None
    if place is not None:
        queued = queued[:place]
    elif before is not None:
        queued = []
        seq = _place_of(db, session_id, before)
    more = None if limit is None else max(0, limit + 1 - len(queued))
    found = transcript.load(db, session_id, one, limit=more, before=seq) if more != 0 else []
    messages = found + queued
    if limit is None or len(messages) <= limit:
        return Page(messages, None)
    messages = messages[-limit:]
    return Page(messages, messages[0].info.id)


def _place_of(db: Reader, session_id: str, message_id: str) -> int:
    seq = transcript.seq_of(db, message_id)
    if seq is None or transcript.find_message(db, session_id, message_id) is None:
        raise NotFoundError(f"there is no message {message_id} in session {session_id}")
    return seq


def _queued(db: Reader, session_id: str, actor_id: str | None) -> list[Message]:
    names = [actor_id] if actor_id else [a.actor_id for a in actors.of_session(db, session_id)]
    rows = [row for name in names for row in inbox.queued(db, Address(session_id, name))]
    rows.sort(key=lambda row: row.seq)
    return [inbox.as_message(row) for row in rows if isinstance(row.body, PromptBody)]


def find_message(db: Reader, session_id: str, message_id: str) -> Message:
    """One message, also while it is queued. Raises `NotFoundError`."""
    if (found := transcript.find_message(db, session_id, message_id)) is not None:
        return found
    row = inbox.get(db, message_id)
    is_here = row.receiver.session_id == session_id and row.state == "queued"
    if not is_here or not isinstance(row.body, PromptBody):
        raise NotFoundError(f"there is no message {message_id} in session {session_id}")
    return inbox.as_message(row)
