"""Closes what a stopped process left open in one actor's slice. A second repair changes nothing."""

from typing import Final

import msgspec

from roost.core.clock import now_ms
from roost.db.transaction import Transaction
from roost.sessions import transcript
from roost.sessions.models import AssistantInfo, Message, MessageError
from roost.sessions.parts import (
    Part,
    ReasoningPart,
    Span,
    TextPart,
    ToolFailed,
    ToolPart,
    ToolPending,
    ToolRunning,
    ToolTime,
    is_open,
)
from roost.sessions.unreadable import is_stand_in

INTERRUPTED: Final = (
    "The process stopped while this tool ran. It may have had effects; check before you repeat it."
)
NEVER_STARTED: Final = "The process stopped before this tool started. It had no effect."
DIED: Final = MessageError(
    "MessageAbortedError", {"message": "The process stopped during this step"}
)


def closed(
    part: Part, now: int, *, ran: str = INTERRUPTED, never_started: str = NEVER_STARTED
) -> Part:
    """`part` in a final state: text as far as it came, a tool as an error that says why."""
    match part:
        case ToolPart(state=ToolPending() as state):
            ended = ToolTime(now, now)
            failed = ToolFailed(state.input, never_started, ended, {"interrupted": True})
            return msgspec.structs.replace(part, state=failed)
        case ToolPart(state=ToolRunning() as state):
            metadata = {**(state.metadata or {}), "interrupted": True}
            failed = ToolFailed(state.input, ran, ToolTime(state.time.start, now), metadata)
            return msgspec.structs.replace(part, state=failed)
        case TextPart(time=Span() as span) | ReasoningPart(time=Span() as span):
            return msgspec.structs.replace(part, time=Span(span.start, span.end or now))
        case _:
            return part


def repair(tx: Transaction, session_id: str, actor_id: str, error: MessageError = DIED) -> None:
    """Close every open message of the slice and its parts; `error` says why they were open."""
    now = now_ms()
    for message in transcript.load_open(tx, session_id, actor_id):
        _mend(tx, message, now, error)


def _mend(tx: Transaction, message: Message, now: int, error: MessageError) -> None:
    info = message.info
    assert isinstance(info, AssistantInfo)
    parts = tuple(closed(part, now) for part in message.parts)
    for old, new in zip(message.parts, parts, strict=True):
        if is_open(old):
            transcript.put_part(tx, new)
    if is_stand_in(info):
        return  # nobody knows what stood there, so nothing is written over it
    info = msgspec.structs.replace(
        info,
        time=msgspec.structs.replace(info.time, completed=now),
        error=info.error or error,
    )
    transcript.update_message(tx, info)
