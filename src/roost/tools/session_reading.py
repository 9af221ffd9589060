"""Reads one action of the tool `session` from what a model gave, with the forgiveness of `actor`.

One level of wrapping too many or too few is forgiven, and another name for a field where only one
thing can be meant. What names a session that is there already is never taken for a new one.
"""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, Final, NoReturn, cast

import msgspec

from roost.tools.actor_operations import Action
from roost.tools.actor_reading import Fields, checked, distance, refuse, shown
from roost.tools.arguments import ArgumentsError, read_object
from roost.tools.session_operations import KINDS, Create, SetMode

_SESSION: Final = ("id", "sessionID", "sessionId", "session", "to_session_id", "child_id")
_ALIASES: Final[dict[str, dict[str, str]]] = {
    "session_id": dict.fromkeys(_SESSION, "session_id"),
    "session_ids": dict.fromkeys(("ids", "sessionIDs", "sessionIds", "sessions"), "session_ids"),
    "agent": {"mode": "agent"},
    "task": dict.fromkeys(("message", "content", "prompt"), "task"),
    "request_id": dict.fromkeys(("id", "requestID", "requestId", "request"), "request_id"),
    "dir": {"directory": "dir"},
}
"""Other names of fields, by the field that an action must have for them to be understood."""
_ROUTING: Final = frozenset(
    {*_SESSION, "session_id", "session_ids", "sessionIDs", "ids", "question", "target"}
    | {"request_id", "requestID"}
)
"""Fields that are about a session or a request that is there already."""
_EVERY_FIELD: Final = {name for kind in KINDS.values() for name in kind.__struct_fields__}
_TYPO: Final = 2


def read_operation(value: Fields, agents: Mapping[str, str]) -> Action:
    """The action in the arguments `value`. Raises `msgspec.ValidationError` with the way out."""
    fields = _fields_in(value)
    name = _action_of(fields["action"])
    kind = KINDS[name]
    fields = _renamed({**fields, "action": name}, kind)
    if kind is Create:
        _never_routes(fields)
    own = {key: one for key, one in fields.items() if one is not None or key not in _EVERY_FIELD}
    action = checked(own, KINDS, {})
    if isinstance(action, Create | SetMode) and action.agent is not None:
        _check_agent(action.agent, agents)
    return action


def _fields_in(value: Fields) -> Fields:
    if "operation" not in value:
        return _unwrapped(value)
    inner: object = value["operation"]
    others = {name: one for name, one in value.items() if name != "operation"}
    if isinstance(inner, str):
        word = inner.strip()
        if not word.startswith("{") and "action" not in others:
            return {"action": word, **others}
        inner = _from_json(inner)
    if not isinstance(inner, dict):
        refuse(f"operation: got {shown(inner)}, expected an object with `action`")
    if others:
        names = ", ".join(f"`{name}`" for name in others)
        refuse(f"beside `operation` stands {names}; put every field into it")
    fields = cast("Fields", inner)
    if set(fields) == {"operation"} and isinstance(fields["operation"], dict):
        fields = cast("Fields", fields["operation"])
    return _unwrapped(fields)


def _unwrapped(fields: Fields) -> Fields:
    if "action" in fields:
        return fields
    if len(fields) == 1:
        ((name, inner),) = fields.items()
        if name in KINDS:
            read = _from_json(inner) if isinstance(inner, str) else inner
            if isinstance(read, dict):
                return {**cast("Fields", read), "action": name}
    if "task" in fields and not (_ROUTING & set(fields)):
        return {"action": "create", **fields}
    return _no_action(fields)


def _no_action(fields: Fields) -> NoReturn:
    got = ", ".join(f"`{name}`" for name in fields) or "nothing"
    words = f"got {got}, expected `action`, one of {', '.join(KINDS)}, with its fields"
    if _ROUTING & set(fields):
        words += ". To give a session more work, `send` it a task; nothing new was begun"
    refuse(words)


def _action_of(action: object) -> str:
    if isinstance(action, str):
        name = action.strip().lower().replace("_", "-")
        if name in KINDS:
            return name
        near = [one for one in KINDS if distance(name[:40], one) <= _TYPO]
        guess = f" Did you mean {near[0]}?" if len(near) == 1 else ""
    else:
        guess = ""
    return refuse(f"action: got {shown(action)}, expected one of {', '.join(KINDS)}.{guess}")


def _renamed(fields: Fields, kind: type[Action]) -> Fields:
    """The fields by their own names; one that is given under two names is refused."""
    found: Fields = {}
    known = set(kind.__struct_fields__)
    names = {other: name for field in known for other, name in _ALIASES.get(field, {}).items()}
    for key, value in fields.items():
        name = key if key in known else names.get(key, key)
        if name in found and found[name] != value:
            refuse(f"{name} is given twice, once as {key}")
        found[name] = value
    if kind.__struct_config__.tag == "join" and isinstance(found.get("session_ids"), str):
        found["session_ids"] = [found["session_ids"]]
    return found


def _never_routes(fields: Fields) -> None:
    named = [name for name in fields if name in _ROUTING]
    if named:
        refuse(
            f"create has no field {shown(named[0])}: it always begins a new session. To give"
            f" {shown(fields[named[0]])} more work, `send` it a task; to go on with a matter, give"
            " its `topic`."
        )


def _check_agent(wanted: str, agents: Mapping[str, str]) -> None:
    if wanted in agents:
        return
    near = get_close_matches(wanted, list(agents), n=1)
    guess = f" Did you mean {near[0]}?" if near else ""
    refuse(f"agent: got {shown(wanted)}, expected one of {', '.join(agents)}.{guess}")


def _from_json(text: str) -> dict[str, Any]:
    try:
        return read_object(text)
    except ArgumentsError as error:
        raise msgspec.ValidationError(
            f"operation: got {shown(text)}, expected an object ({error.message})"
        ) from error
