"""A session made anew from the beginning of another: the same words up to a message, then its own
way. What was done to files stays the other's to take back.
"""

import re
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from roost.actors import store as actors
from roost.actors.models import Actor
from roost.core.errors import NotFoundError
from roost.core.ids import new_id
from roost.db.transaction import Transaction
from roost.inbox.conversation import find_message
from roost.inbox.models import Address
from roost.runtime.runtime import Runtime
from roost.sessions import store as sessions
from roost.sessions import transcript
from roost.sessions.effective import aimed
from roost.sessions.models import AssistantInfo, Message, ModelName, NewSession, Session
from roost.sessions.parts import Part, PatchPart, UnknownPart

_NUMBERED: Final = re.compile(r"(?P<title>.*) \(fork #(?P<number>\d{1,6})\)\Z", re.DOTALL)


async def fork(runtime: Runtime, session_id: str, message_id: str | None = None) -> Session:
    """A copy of a session up to the message `message_id`, which is left out; None: all of it.

    What is unfinished or taken back is left out, and so is what other actors of the session said.
    Raises `NotFoundError` if it has no such message.
    """
    return await runtime.database.write(lambda tx: _fork(tx, session_id, message_id))


def _fork(tx: Transaction, session_id: str, message_id: str | None) -> Session:
    old = sessions.get(tx, session_id)
    front = actors.front(tx, session_id)
    said = transcript.load(tx, session_id, front.actor_id)
    end = _own_message(tx, old, front, message_id) if message_id else None
    kept = _before(said, {end, old.revert.message_id if old.revert else None})
    new = NewSession(
        directory=old.directory,
        project_id=old.project_id,
        title=forked_title(old.title),
        permission=old.permission,
    )
    made = sessions.create(tx, new)
    actor = actors.new_main(made.id, front.agent)
    actors.register(tx, actor)
    if front.model is not None:
        chosen = ModelName.of(front.model, front.variant)
        actors.note_choice(tx, actor.address, front.agent, chosen)
    _copy(tx, kept, actor.address)
    return sessions.get(tx, made.id)


def _own_message(tx: Transaction, session: Session, front: Actor, message_id: str) -> str:
    """The id that a message of a session's front has by now. Raises `NotFoundError`."""
    found = find_message(tx, session.id, message_id).info
    if found.agent_id not in {None, front.actor_id}:
        raise NotFoundError(f"message {message_id} is of another actor of session {session.id}")
    return found.id


def _before(said: Sequence[Message], ends: set[str | None]) -> list[Message]:
    """The messages before the first of `ends`, and before what is unfinished."""
    kept: list[Message] = []
    for message in said:
        info = message.info
        unfinished = isinstance(info, AssistantInfo) and info.time.completed is None
        if info.id in ends or unfinished:
            break
        kept.append(message)
    return kept


def _copy(tx: Transaction, messages: Sequence[Message], to: Address) -> None:
    ids: dict[str, str] = {}
    for message in messages:
        identifier = ids[message.info.id] = new_id("message")
        changes: dict[str, Any] = {"id": identifier, "session_id": to.session_id, "agent_id": None}
        if isinstance(message.info, AssistantInfo):
            changes["parent_id"] = ids.get(message.info.parent_id, "")
        info = msgspec.structs.replace(message.info, **changes)
        parts = tuple(
            _copied(aimed(part, ids), to.session_id, identifier)
            for part in message.parts
            if not isinstance(part, PatchPart)
        )
        transcript.append_message(tx, Message(info, parts), actor_id=to.actor_id, turn_id=None)


def _copied(part: Part, session_id: str, message_id: str) -> Part:
    identifier = new_id("part")
    if isinstance(part, UnknownPart):
        fields: dict[str, Any] = msgspec.json.decode(part.raw)
        fields |= {"id": identifier, "sessionID": session_id, "messageID": message_id}
        raw = msgspec.Raw(msgspec.json.encode(fields))
        return UnknownPart(identifier, session_id, message_id, part.type, raw)
    return msgspec.structs.replace(
        part, id=identifier, session_id=session_id, message_id=message_id
    )


def forked_title(title: str) -> str:
    """The title of a fork: that of its session with a number."""
    match = _NUMBERED.fullmatch(title)
    if match is None:
        return f"{title} (fork #1)"
    return f"{match['title']} (fork #{int(match['number']) + 1})"
