"""The effective slice: what of an actor's messages its model is shown since the conversation was
last shortened. Nothing stored is altered by that; this is where the newest mark is obeyed.
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from roost.db.transaction import Reader
from roost.sessions import transcript
from roost.sessions.models import Message
from roost.sessions.parts import CompactionPart, decode_part


class Slice(Struct, frozen=True):
    """The effective slice of an actor."""

    messages: tuple[Message, ...]
    """The newest mark, if there is one, the tail that it keeps, and what came since."""
    settled: int = 0
    """How many of them are the mark and its tail; 0: the conversation was never shortened."""

    @property
    def mark(self) -> CompactionPart | None:
        """How the conversation was last shortened."""
        return mark_of(self.messages[0]) if self.settled else None


def mark_of(message: Message) -> CompactionPart | None:
    """The mark that a message carries, if it does."""
    return next((one for one in message.parts if isinstance(one, CompactionPart)), None)


def effective(messages: Sequence[Message]) -> Slice:
    """The effective slice of messages in the order in which they were stored, or of one that was
    effective before and has grown.
    """
    at = next((at for at in range(len(messages) - 1, -1, -1) if mark_of(messages[at])), None)
    if at is None:
        return Slice(tuple(messages))
    mark = mark_of(messages[at])
    start = mark.tail_start_id if mark else None
    tail = _without_marks(_from(messages[:at], start)) if start else ()
    return Slice((messages[at], *tail, *messages[at + 1 :]), 1 + len(tail))


def _from(messages: Sequence[Message], message_id: str) -> Sequence[Message]:
    ids = (at for at, one in enumerate(messages) if one.info.id == message_id)
    return messages[next(ids, len(messages)) :]


def _without_marks(messages: Iterable[Message]) -> tuple[Message, ...]:
    return tuple(one for one in messages if mark_of(one) is None)


def load(db: Reader, session_id: str, actor_id: str, *, before: int | None = None) -> Slice:
    """The effective slice of an actor, with `before` as it was before the message of that `seq`.

    What came before its tail is not read, however long the conversation is.
    """
    row = db.one(
        "SELECT m.seq, p.data FROM part p JOIN message m ON m.id = p.message_id"
        " WHERE p.session_id = ? AND p.type = 'compaction' AND m.actor_id = ?"
        " AND (? IS NULL OR m.seq < ?) ORDER BY m.seq DESC LIMIT 1",
        (session_id, actor_id, before, before),
    )
    if row is None:
        return Slice(tuple(transcript.load(db, session_id, actor_id, before=before)))
    mark = decode_part(row["data"])
    tail = mark.tail_start_id if isinstance(mark, CompactionPart) else None
    start = transcript.seq_in(db, session_id, tail) if tail else None
    since = min(row["seq"], start or row["seq"])
    return effective(transcript.load(db, session_id, actor_id, since=since, before=before))


def said_to(
    db: Reader, session_id: str, actor_id: str, *, before: int, limit: int
) -> list[Message]:
    """The newest `limit` messages that an actor heard before the `seq` `before`, newest first."""
    rows = db.all(
        "SELECT id FROM message WHERE session_id = ? AND actor_id = ? AND role = 'user'"
        " AND seq < ? ORDER BY seq DESC LIMIT ?",
        (session_id, actor_id, before, limit),
    )
    found = (transcript.find_message(db, session_id, row["id"]) for row in rows)
    return [message for message in found if message is not None]


def since(db: Reader, session_id: str, actor_id: str, after: str, before: int) -> list[Message]:
    """The messages of an actor after the message `after` (all, if that is not there) and before
    the `seq` `before`, oldest first.
    """
    first = (transcript.seq_in(db, session_id, after) or 0) + 1
    return transcript.load(db, session_id, actor_id, since=first, before=before)
