"""The conversation of an actor as people see it: what was said, and behind it what is queued.

The one reader of messages: every surface asks it. A queued prompt is shown as it will be heard, a
user message behind all others; other mail is shown once it was heard.
"""

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct

from roost.core.errors import NotFoundError
from roost.core.text import echo
from roost.db.transaction import Reader
from roost.inbox import store as inbox
from roost.inbox.models import InboxRow, PromptBody
from roost.inbox.shown import as_message
from roost.sessions import transcript
from roost.sessions.models import Message
from roost.sessions.parts import Part, ReasoningPart, TextPart, is_open


class Page(Struct, frozen=True):
    """Messages, oldest first, and the id that the next page ends before; None: none are older."""

    messages: list[Message]
    before: str | None
    queued: frozenset[str] = frozenset()
    """Ids of the messages that were not heard yet."""


def read_page(
    db: Reader,
    session_id: str,
    actor_id: str | None,
    *,
    limit: int | None = None,
    before: str | None = None,
) -> Page:
    """The newest messages of an actor (None: of all) that are older than the message `before`.

    Streaming text is there as far as it is saved; see `as_it_streams`. Raises `NotFoundError` if
    there is no message `before` in the session.
    """
    queued = _queued(db, session_id, actor_id)
    place = next((i for i, m in enumerate(queued) if m.info.id == before), None)
    seq = None
    if place is not None:
        queued = queued[:place]
    elif before is not None:
        queued = []
        seq = _place_of(db, session_id, before)
    more = None if limit is None else max(0, limit + 1 - len(queued))
    found = transcript.load(db, session_id, actor_id, limit=more, before=seq) if more != 0 else []
    messages = found + queued
    waiting = frozenset(message.info.id for message in queued)
    if limit is None or len(messages) <= limit:
        return Page(messages, None, waiting)
    messages = messages[-limit:]
    return Page(messages, messages[0].info.id, waiting)


def _place_of(db: Reader, session_id: str, message_id: str) -> int:
    seq = transcript.seq_in(db, session_id, message_id)
    if seq is None:
        raise NotFoundError(f"there is no message {echo(message_id)} in session {echo(session_id)}")
    return seq


def _queued(db: Reader, session_id: str, actor_id: str | None) -> list[Message]:
    rows = inbox.queued_in(db, session_id, actor_id)
    return [as_message(row) for row in rows if isinstance(row.body, PromptBody)]


def read_answer(db: Reader, session_id: str, prompt_id: str, *, limit: int) -> list[Message]:
    """What stands after a prompt in the turn that took it up; at most the newest `limit`."""
    row = find_row(db, session_id, prompt_id)
    if row is None or row.turn_id is None:
        return []
    actor_id = row.receiver.actor_id
    messages = transcript.load(db, session_id, actor_id, limit=limit, turn_id=row.turn_id)
    ids = [message.info.id for message in messages]
    return messages[ids.index(row.message_id) + 1 :] if row.message_id in ids else messages


def find_message(db: Reader, session_id: str, message_id: str) -> Message:
    """One message, also while it is queued. Raises `NotFoundError`."""
    if (found := transcript.find_message(db, session_id, message_id)) is not None:
        return found
    row = find_row(db, session_id, message_id)
    if row is not None and isinstance(row.body, PromptBody):
        if row.state == "queued":
            return as_message(row)
        heard = transcript.find_message(db, session_id, row.message_id or "")
        if row.state == "delivered" and heard is not None:
            return heard
    raise NotFoundError(f"there is no message {echo(message_id)} in session {echo(session_id)}")


def find_row(db: Reader, session_id: str, identifier: str) -> InboxRow | None:
    """Mail of a session by its id, by the id that a client chose, or that it is shown as."""
    row = inbox.queued_as(db, session_id, identifier) or inbox.find(db, identifier)
    return row if row is not None and row.receiver.session_id == session_id else None


def as_it_streams(messages: Sequence[Message], texts: Mapping[str, str]) -> list[Message]:
    """`messages` with the text of open parts as far as it has streamed.

    `texts` is what the recorders of this process hold, by part id: up to half a second more than
    what is saved. A part that is not yet stored is not added.
    """
    if not texts:
        return list(messages)
    return [_streaming(message, texts) for message in messages]


def _streaming(message: Message, texts: Mapping[str, str]) -> Message:
    if not any(part.id in texts for part in message.parts):
        return message
    parts = tuple(_with_text(part, texts.get(part.id)) for part in message.parts)
    return msgspec.structs.replace(message, parts=parts)


def _with_text(part: Part, text: str | None) -> Part:
    if text is None or not isinstance(part, TextPart | ReasoningPart) or not is_open(part):
        return part
    return msgspec.structs.replace(part, text=text)
