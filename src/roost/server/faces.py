"""Messages as they look to clients that know no actors: OpenCode's own.

The slice of an actor is a session of its own (`slices.py`), and the tools that OpenCode has under
another name carry that name and its arguments, since its clients show them by it.
"""

from typing import Any, Final, Literal

import msgspec

from roost.actors.models import BusyStatus, NoticeStatus, SessionStatus
from roost.server.slices import slice_id
from roost.server.wire import MessageView, message_view
from roost.sessions.models import Info, Message, UserInfo
from roost.sessions.parts import (
    Part,
    ToolCompleted,
    ToolPart,
    ToolPending,
    ToolRunning,
    UnknownPart,
)
from roost.tools import actor, task
from roost.tools.actor_command import operation_of_line
from roost.tools.actor_operations import ALL
from roost.tools.actor_reading import operation_in
from roost.turn.by_hand import is_by_hand

View = Literal["sessions", "actors"]
"""What a client knows: sessions alone, or actors too."""
_THEIRS: Final = {actor.NAME: "task", task.TaskTool.name: "todowrite"}
_OURS: Final = {name: ours for ours, name in _THEIRS.items()}
"""Tools that OpenCode has under another name."""
_NO_OUTPUT: Final = "(no output)"


def meant_tools(tools: dict[str, bool] | None, view: View) -> dict[str, bool] | None:
    """What a client switches on and off by the names that it knows, by ours."""
    if tools is None or view == "actors":
        return tools
    return {_OURS.get(name, name): on for name, on in tools.items()}


def shown_status(status: SessionStatus) -> SessionStatus:
    """What an actor does, in OpenCode's words."""
    return BusyStatus() if isinstance(status, NoticeStatus) else status


def shown_message(message: Message, view: View) -> MessageView:
    """A message for a client."""
    if view == "actors":
        return message_view(message)
    owner = message.info.agent_id
    parts = tuple(shown_part(part, owner) for part in message.parts)
    return message_view(Message(shown_info(message.info), parts))


def shown_info(info: Info) -> Info:
    """The head of a message, in the session that its actor's slice is shown as."""
    if isinstance(info, UserInfo):
        info = _shown_prompt(info)
    if info.agent_id is None:
        return info
    return msgspec.structs.replace(info, session_id=slice_id(info.session_id, info.agent_id))


def _shown_prompt(info: UserInfo) -> UserInfo:
    if is_by_hand(info):
        info = msgspec.structs.replace(info, format=None)  # which those clients do not know
    if info.tools is None or _THEIRS.keys().isdisjoint(info.tools):
        return info
    tools = {_THEIRS.get(name, name): on for name, on in info.tools.items()}
    return msgspec.structs.replace(info, tools=tools)


def shown_part(part: Part, owner: str | None) -> Part:
    """A part of a message of the actor `owner`; None: the one that fronts the session."""
    if isinstance(part, ToolPart):
        part = _shown_tool(part)
    if owner is None:
        return part
    session_id = slice_id(part.session_id, owner)
    if isinstance(part, UnknownPart):
        fields: dict[str, Any] = msgspec.json.decode(part.raw)
        raw = msgspec.json.encode({**fields, "sessionID": session_id})
        return msgspec.structs.replace(part, session_id=session_id, raw=msgspec.Raw(raw))
    return msgspec.structs.replace(part, session_id=session_id)


def _shown_tool(part: ToolPart) -> ToolPart:
    match part.tool:
        case "bash":
            return _with_words(part)
        case actor.NAME:
            return _as_subagent(part)
        case task.TaskTool.name:
            return _as_todos(part)
        case _:
            return part


def _with_words(part: ToolPart) -> ToolPart:
    """A command that printed nothing is shown to have done so."""
    state = part.state
    if not isinstance(state, ToolCompleted) or state.metadata.get("output") != "":
        return part
    metadata = {**state.metadata, "output": _NO_OUTPUT}
    return msgspec.structs.replace(part, state=msgspec.structs.replace(state, metadata=metadata))


def _as_subagent(part: ToolPart) -> ToolPart:
    """Starting an actor is OpenCode's `task`; what else can be done with one it does not have."""
    order = _order(part.state.input)
    if order is None:
        return part
    given = {
        "description": order.get("description", ""),
        "prompt": order.get("prompt", ""),
        "subagent_type": order.get("subagent_type", ""),
    }
    background = order["action"] == "spawn"
    state = part.state
    if isinstance(state, ToolPending):
        state = msgspec.structs.replace(state, input=given)
    else:
        metadata = {**_child_of(state.metadata or {}), "background": background}
        state = msgspec.structs.replace(state, input=given, metadata=metadata)
    return msgspec.structs.replace(part, tool="task", state=state)


def _order(given: dict[str, Any]) -> dict[str, Any] | None:
    """The fields of the call if it starts an actor."""
    line = given.get("command")
    try:
        fields = operation_of_line(line, ALL) if isinstance(line, str) else operation_in(given)
    except msgspec.ValidationError:
        return None
    return fields if fields.get("action") in {"spawn", "run"} else None


def _child_of(metadata: dict[str, Any]) -> dict[str, Any]:
    """`metadata` with the id of the session that the child's slice is shown as."""
    session_id, actor_id = metadata.get("sessionID"), metadata.get("actorID")
    if not isinstance(session_id, str) or not isinstance(actor_id, str):
        return metadata
    return {**metadata, "sessionId": slice_id(session_id, actor_id)}


def _as_todos(part: ToolPart) -> ToolPart:
    """A change of the task list is OpenCode's `todowrite`, a look at it `todoread`."""
    state = part.state
    if part.state.input.get("action") in {"list", "get"}:
        return msgspec.structs.replace(part, tool="todoread")
    todos = None if isinstance(state, ToolPending) else (state.metadata or {}).get("todos")
    if todos is not None and isinstance(state, ToolCompleted | ToolRunning):
        state = msgspec.structs.replace(state, input={**state.input, "todos": todos})
    return msgspec.structs.replace(part, tool="todowrite", state=state)
