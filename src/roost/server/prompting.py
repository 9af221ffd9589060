"""Leaving a prompt with an actor, and waiting for what it says."""

import re
from typing import Final

from roost.actors.models import Turn
from roost.core.errors import BusyError, NotFoundError, UsageError
from roost.events.types import Event
from roost.inbox import store as inbox
from roost.inbox.models import InboxRow
from roost.runtime.models import Accepted, PromptInput
from roost.runtime.runtime import Runtime
from roost.server.problems import RefusalError
from roost.sessions import transcript
from roost.sessions.models import AssistantInfo, Message

_ID: Final = re.compile(r"(msg|prt)_[0-9A-Za-z]{1,60}")


def check_ids(given: PromptInput) -> None:
    """Refuse ids of another shape than OpenCode's, which clients sort by. Raises `UsageError`."""
    chosen = [("msg", given.message_id), *(("prt", part.id) for part in given.parts)]
    for prefix, identifier in chosen:
        if identifier is None:
            continue
        match = _ID.fullmatch(identifier)
        if match is None or match.group(1) != prefix:
            raise UsageError(f"{identifier!r} is no id of the shape {prefix}_…")
    parts = [part.id for part in given.parts if part.id is not None]
    if len(set(parts)) < len(parts):
        raise UsageError("two parts have the same id")


async def accept(
    runtime: Runtime,
    session_id: str,
    actor_id: str | None,
    given: PromptInput,
    news: tuple[Event, ...] = (),
    *,
    idle_only: bool,
) -> Accepted:
    """Leave a prompt with an actor, with `idle_only` unless it is busy; `news` is told with it.

    Raises `BusyError`, but not when this very prompt is what the actor is busy with: a client that
    sends it again after its connection was cut waits for the same answer.
    """
    try:
        return await leave(runtime, session_id, actor_id, given, idle_only=idle_only, news=news)
    except BusyError:
        if given.message_id is None or not await is_known(runtime, session_id, given.message_id):
            raise
    return await leave(runtime, session_id, actor_id, given)


async def leave(
    runtime: Runtime,
    session_id: str,
    actor_id: str | None,
    given: PromptInput,
    *,
    idle_only: bool = False,
    news: tuple[Event, ...] = (),
) -> Accepted:
    """Leave a prompt with an actor. Raises as `Runtime.prompt` does."""
    check_ids(given)
    return await runtime.prompt(
        session_id, given, actor_id=actor_id, idle_only=idle_only, news=news
    )


async def is_known(runtime: Runtime, session_id: str, message_id: str) -> bool:
    """Whether a prompt of that id was left in the session before."""
    try:
        row = await _row(runtime, message_id)
    except NotFoundError:
        return False
    return row.receiver.session_id == session_id


async def _row(runtime: Runtime, message_id: str) -> InboxRow:
    return await runtime.database.read(lambda db: inbox.get(db, message_id))


async def answer_to(runtime: Runtime, session_id: str, message_id: str) -> Message:
    """Wait for the turn that takes up a prompt and give the last thing the model said in it.

    A turn that failed gives its message with the error in it. Raises `RefusalError` when there is
    no message at all.
    """
    result = await runtime.wait_turn(session_id, message_id)
    message = result.message or await _last_said(runtime, result.turn)
    if message is not None:
        return message
    if error := result.turn.error:
        raise RefusalError(502, error.message)
    raise RefusalError(502, f"the turn ended as {result.turn.outcome} without an answer")


async def _last_said(runtime: Runtime, turn: Turn) -> Message | None:
    """What the model was saying when a turn was stopped."""
    newest = await runtime.database.read(
        lambda db: transcript.load(db, turn.session_id, turn.actor_id, limit=1)
    )
    said = [message for message in newest if isinstance(message.info, AssistantInfo)]
    return said[0] if said and said[0].info.time.created >= turn.started else None


async def abandon(runtime: Runtime, session_id: str, actor_id: str | None, message_id: str) -> None:
    """Stop the turn that took up a prompt, or take the prompt back if none has."""
    row = await _row(runtime, message_id)
    if row.turn_id is None:
        await runtime.withdraw(row.id)
    else:
        await runtime.abort(session_id, actor_id=actor_id, turn_id=row.turn_id)
