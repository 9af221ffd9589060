"""The effective slice: what of an actor's messages its model is shown since the conversation was
last shortened. Nothing stored is altered by that; this is where the newest mark is obeyed.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec
from msgspec import Struct

from roost.db.transaction import Reader
from roost.sessions import transcript
from roost.sessions.models import AssistantInfo, Message
from roost.sessions.parts import CompactionPart, Part, decode_part

_PAGE: Final = 50


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
    tail = _shown(_from(messages[:at], start)) if start else ()
    return Slice((messages[at], *tail, *messages[at + 1 :]), 1 + len(tail))


def _from(messages: Sequence[Message], message_id: str) -> Sequence[Message]:
    ids = (at for at, one in enumerate(messages) if one.info.id == message_id)
    return messages[next(ids, len(messages)) :]


def _shown(messages: Iterable[Message]) -> tuple[Message, ...]:
    return tuple(one for one in messages if mark_of(one) is None and not is_hidden(one))


def is_hidden(message: Message) -> bool:
    """Whether it is a step that is left out of the model's view."""
    return isinstance(message.info, AssistantInfo) and message.info.hidden


def aimed(part: Part, names: Mapping[str, str]) -> Part:
    """`part` in a copy of its conversation where messages have other `names`: a mark points to the
    message of the copy that its tail begins with.
    """
    if not isinstance(part, CompactionPart) or part.tail_start_id is None:
        return part
    return msgspec.structs.replace(part, tail_start_id=names.get(part.tail_start_id))


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


def heard_before(db: Reader, session_id: str, actor_id: str, before: int) -> Iterator[Message]:
    """What an actor heard before the `seq` `before`, the newest first, read as it is asked for."""
    while True:
        rows = db.all(
            "SELECT seq, id FROM message WHERE session_id = ? AND actor_id = ? AND role = 'user'"
            " AND seq < ? ORDER BY seq DESC LIMIT ?",
            (session_id, actor_id, before, _PAGE),
        )
        found = (transcript.find_message(db, session_id, row["id"]) for row in rows)
        yield from (message for message in found if message is not None)
        if len(rows) < _PAGE:
            return
        before = rows[-1]["seq"]


def since(db: Reader, session_id: str, actor_id: str, after: str, before: int) -> list[Message]:
    """The messages of an actor after the message `after` (all, if that is not there) and before
    the `seq` `before`, oldest first.
    """
    first = (transcript.seq_in(db, session_id, after) or 0) + 1
    return transcript.load(db, session_id, actor_id, since=first, before=before)
