"""Takes what people and projects could be known by out of a session: texts, paths, data, titles.

What stays is its structure: roles, order, times, models, tools, states, tokens and cost. Each text
becomes `[redacted:kind:id]`.
"""

from typing import Any, assert_never

import msgspec

from roost.sessions.export import Exported
from roost.sessions.models import (
    AssistantInfo,
    Info,
    Message,
    MessageError,
    MessagePath,
    Session,
    UserInfo,
)
from roost.sessions.parts import (
    AgentPart,
    CompactionPart,
    FilePart,
    Part,
    PatchPart,
    ReasoningPart,
    RetryPart,
    StepFinishPart,
    StepStartPart,
    SubtaskPart,
    TextPart,
    ToolCompleted,
    ToolFailed,
    ToolPart,
    ToolPending,
    ToolRunning,
    ToolState,
    UnknownPart,
)


def sanitize(exported: Exported) -> Exported:
    """`exported` without content."""
    messages = (
        Message(_info(message.info), tuple(_part(part) for part in message.parts))
        for message in exported.messages
    )
    return Exported(_session(exported.info), tuple(messages))


def _mark(kind: str, identifier: str) -> str:
    return f"[redacted:{kind}:{identifier}]"


def _session(info: Session) -> Session:
    return msgspec.structs.replace(
        info,
        title=_mark("title", info.id),
        directory=_mark("directory", info.id),
        permission=None,
        goal=None,
        revert=None,
    )


def _info(info: Info) -> Info:
    match info:
        case UserInfo():
            return msgspec.structs.replace(
                info,
                system=_mark("system", info.id) if info.system else None,
                summary=None,
                format=None,
                provenance=None,
            )
        case AssistantInfo():
            mark = _mark("path", info.id)
            return msgspec.structs.replace(
                info, path=MessagePath(mark, mark), error=_error(info), structured=None
            )
        case _:
            assert_never(info)


def _error(info: AssistantInfo) -> MessageError | None:
    if info.error is None:
        return None
    return MessageError(info.error.name, {"message": _mark("error", info.id)})


def _part(part: Part) -> Part:
    replace = msgspec.structs.replace
    match part:
        case TextPart():
            return replace(part, text=_mark("text", part.id), metadata=None)
        case ReasoningPart():
            return replace(part, text=_mark("reasoning", part.id), metadata=None)
        case FilePart():
            return _file(part)
        case AgentPart():
            return replace(part, source=None)
        case SubtaskPart():
            words = {"prompt": _mark("prompt", part.id), "description": _mark("text", part.id)}
            return replace(part, **words)
        case ToolPart():
            return replace(part, state=_state(part), metadata=None)
        case RetryPart():
            return replace(part, error={"message": _mark("error", part.id)})
        case StepStartPart() | StepFinishPart() | CompactionPart():
            return part
        case PatchPart():
            mark = _mark("path", part.id)
            return replace(part, files=(mark,) * len(part.files), outside=())
        case UnknownPart():
            return _unknown(part)
        case _:
            assert_never(part)


def _file(part: FilePart) -> FilePart:
    mark = _mark("file", part.id)
    return msgspec.structs.replace(part, url=f"data:text/plain,{mark}", filename=mark, source=None)


def _unknown(part: UnknownPart) -> UnknownPart:
    """Nobody knows what it holds, so only its head stays."""
    head = {
        "id": part.id,
        "sessionID": part.session_id,
        "messageID": part.message_id,
        "type": part.type,
    }
    return msgspec.structs.replace(part, raw=msgspec.Raw(msgspec.json.encode(head)))


def _state(part: ToolPart) -> ToolState:
    replace = msgspec.structs.replace
    state = part.state
    arguments: dict[str, Any] = {name: _mark("input", part.id) for name in state.input}
    match state:
        case ToolPending():
            return ToolPending(arguments, _mark("input", part.id) if state.raw else "")
        case ToolRunning():
            title = _mark("title", part.id) if state.title else None
            return replace(state, input=arguments, title=title, metadata=None)
        case ToolCompleted():
            files = tuple(_file(file) for file in state.attachments or ()) or None
            return replace(
                state,
                input=arguments,
                output=_mark("output", part.id),
                title=_mark("title", part.id),
                metadata={},
                attachments=files,
            )
        case ToolFailed():
            return replace(state, input=arguments, error=_mark("error", part.id), metadata=None)
        case _:
            assert_never(state)
