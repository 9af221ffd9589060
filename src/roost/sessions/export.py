"""A session as one JSON document, `{info, messages: [{info, parts}]}`, and back.

The shape is that of OpenCode's `export` (v1.14), so documents of either program load.
"""

from collections.abc import Callable
from typing import Any, Final

import msgspec
from msgspec import Struct

from roost.core.errors import UsageError
from roost.core.ids import Kind
from roost.db.transaction import Reader
from roost.sessions import store, transcript
from roost.sessions.effective import aimed
from roost.sessions.models import AssistantInfo, Info, Message, Session, decode_info
from roost.sessions.parts import Part, UnknownPart, decode_part, encode_part

_HINT: Final = "Give a file that `roost sessions export` wrote."
NewId = Callable[[Kind], str]


class Exported(Struct, frozen=True):
    """A session with the messages of all its actors, in order."""

    info: Session
    messages: tuple[Message, ...]


class _RawMessage(Struct):
    info: msgspec.Raw
    parts: list[msgspec.Raw]


class _Document(Struct):
    info: Session
    messages: list[_RawMessage]


_document_decoder = msgspec.json.Decoder(_Document)


def read_session(db: Reader, session_id: str) -> Exported:
    """The session of that id. Raises `NotFoundError`."""
    session = store.get(db, session_id)
    return Exported(session, tuple(transcript.load(db, session_id, None)))


def encode(exported: Exported) -> bytes:
    """The document, indented for people."""
    messages = [
        {
            "info": message.info,
            "parts": [msgspec.Raw(encode_part(p).encode()) for p in message.parts],
        }
        for message in exported.messages
    ]
    data = msgspec.json.encode({"info": exported.info, "messages": messages})
    return msgspec.json.format(data, indent=2) + b"\n"


def decode(data: bytes, name: str) -> Exported:
    """The session in `data`. Raises `UsageError` that says what is wrong in the file `name`."""
    try:
        document = _document_decoder.decode(data)
    except msgspec.DecodeError as error:
        raise UsageError(f"{name} holds no session: {error}", hint=_HINT) from error
    messages = tuple(
        _message(raw, f"{name}: message {number}")
        for number, raw in enumerate(document.messages, start=1)
    )
    exported = Exported(document.info, messages)
    _check(exported, name)
    return _without_reverted(exported)


def _without_reverted(exported: Exported) -> Exported:
    """The session without what was taken back of it: only where it was can that be brought back."""
    revert = exported.info.revert
    if revert is None:
        return exported
    kept: list[Message] = []
    for message in exported.messages:
        if message.info.id == revert.message_id:
            ids = [part.id for part in message.parts]
            if revert.part_id in ids:
                kept.append(Message(message.info, message.parts[: ids.index(revert.part_id)]))
            break
        kept.append(message)
    return Exported(msgspec.structs.replace(exported.info, revert=None), tuple(kept))


def _message(raw: _RawMessage, where: str) -> Message:
    try:
        info = decode_info(bytes(raw.info).decode())
        return Message(info, tuple(decode_part(bytes(part).decode()) for part in raw.parts))
    except msgspec.DecodeError as error:
        raise UsageError(f"{where} cannot be read: {error}", hint=_HINT) from error


def _check(exported: Exported, name: str) -> None:
    """Every part belongs to its message, every message to the session, and no id comes twice."""
    session_id = exported.info.id
    seen: set[str] = set()
    for message in exported.messages:
        message_id = message.info.id
        owners = [(message_id, message.info.session_id, message_id)]
        owners += [(part.id, part.session_id, part.message_id) for part in message.parts]
        for identifier, in_session, in_message in owners:
            if in_session != session_id or in_message != message_id:
                raise UsageError(f"{name}: {identifier} belongs to another session or message")
            if identifier in seen:
                raise UsageError(f"{name}: the id {identifier} comes twice")
            seen.add(identifier)


def with_new_ids(exported: Exported, new: NewId) -> Exported:
    """The same session under ids that nobody has used. `new` must give ascending message ids."""
    session_id = new("session")
    names = {message.info.id: new("message") for message in exported.messages}
    messages = tuple(
        Message(
            _renamed_info(message.info, session_id, names),
            tuple(
                _renamed_part(aimed(part, names), new("part"), session_id, names[message.info.id])
                for part in message.parts
            ),
        )
        for message in exported.messages
    )
    return Exported(msgspec.structs.replace(exported.info, id=session_id), messages)


def _renamed_info(info: Info, session_id: str, names: dict[str, str]) -> Info:
    changes: dict[str, Any] = {"id": names[info.id], "session_id": session_id}
    if isinstance(info, AssistantInfo):
        changes["parent_id"] = names.get(info.parent_id, info.parent_id)
    return msgspec.structs.replace(info, **changes)


def _renamed_part(part: Part, part_id: str, session_id: str, message_id: str) -> Part:
    changes: dict[str, Any] = {"id": part_id, "session_id": session_id, "message_id": message_id}
    if isinstance(part, UnknownPart):
        fields: dict[str, Any] = msgspec.json.decode(part.raw)
        fields |= {"id": part_id, "sessionID": session_id, "messageID": message_id}
        changes["raw"] = msgspec.Raw(msgspec.json.encode(fields))
    return msgspec.structs.replace(part, **changes)
