"""Reads one action from what a model gave: the right shape, or one that is a single step from it.

Forgiven is one level of wrapping too many, too few or in the wrong place, since then only one thing
can be meant. The fields themselves are read strictly, and nothing that names an actor that is
there already is ever taken for the order of a new one.
"""

import re
from collections.abc import Mapping
from typing import Any, Final, NoReturn, TypeAlias, cast, get_args

import msgspec

from roost.core.text import clean, cut
from roost.tools.actor_operations import ALL, Action, Kinds, Order, WaitForMail
from roost.tools.arguments import ArgumentsError, read_object

Fields: TypeAlias = dict[str, Any]
TRIPLE: Final = frozenset({"subagent_type", "description", "prompt"})
NO_CHILDREN: Final = (
    "this actor starts, runs and stops no others, whatever the call looks like. Do the work"
    " yourself, or `send` your parent what you would have handed on"
)
_EXISTING: Final = re.compile(
    r"^(?:actor|to_actor|agent|session|to_session|subagent)_?id$", re.IGNORECASE
)
"""Fields that name somebody who is there already."""
_ACTOR_ID: Final = re.compile(r"^(?P<agent>.+)-\d+$")
_SESSION_ID: Final = re.compile(r"^ses_\w+$")
_PLACE: Final = re.compile(r" - at `\$\.?(?P<place>[^`]*)`$")
_EVERY_FIELD: Final = {name for kind in ALL.values() for name in kind.__struct_fields__}
_SHOWN: Final = 120
"""Characters of a value that are shown back."""
_TYPO: Final = 2
"""Letters that may be wrong in a word that is still recognised for what was meant."""


def refuse(words: str) -> NoReturn:
    """Raise `msgspec.ValidationError`, which is what readers of arguments raise."""
    raise msgspec.ValidationError(clean(words))


def operation_in(value: Fields) -> Fields:
    """The fields of the one action in the arguments `value`. Raises `msgspec.ValidationError`."""
    if "operation" not in value:
        return _unwrapped(value, place="")
    inner: object = value["operation"]
    others = {name: one for name, one in value.items() if name != "operation"}
    if isinstance(inner, str):
        if (word := inner.strip()) in ALL and "action" not in others:
            return {"action": word, **others}
        inner = _from_json(inner, "operation")
    if not isinstance(inner, dict):
        refuse(f"operation: got {shown(inner)}, expected an object with `action`")
    if others:
        refuse(f"beside `operation` stands {_names(others)}; put every field into it")
    fields = cast("Fields", inner)
    if set(fields) == {"operation"} and isinstance(fields["operation"], dict):
        fields = cast("Fields", fields["operation"])
        return fields if "action" in fields else _no_action(fields, "operation.operation")
    return _unwrapped(fields, place="operation")


def _unwrapped(fields: Fields, *, place: str) -> Fields:
    if "action" in fields:
        return fields
    if len(fields) == 1:
        ((name, inner),) = fields.items()
        if name in ALL and isinstance(inner, str):
            inner = _from_json(inner, name)
        if name in ALL and isinstance(inner, dict):
            return _named(name, cast("Fields", inner))
    if _is_order(fields):
        return {"action": "spawn", **fields}
    return _no_action(fields, place)


def _named(name: str, fields: Fields) -> Fields:
    """The fields of `{"spawn": {…}}`."""
    if fields.get("action", name) != name:
        refuse(f"{name}.action: got {shown(fields['action'])}, expected {name!r} or nothing")
    return {"action": name, **{key: one for key, one in fields.items() if key != "action"}}


def _is_order(fields: Fields) -> bool:
    """Whether fields without an action can only be the order of a new actor."""
    return set(fields) >= TRIPLE and not any(map(_EXISTING.match, fields))


def _no_action(fields: Fields, place: str) -> NoReturn:
    got = f"got {_names(fields)}" if fields else "got nothing"
    words = f"{place}: " if place else ""
    words += f"{got}, expected `action`, one of {', '.join(ALL)}, with its fields"
    named = next((one for name, one in fields.items() if _EXISTING.match(name)), None)
    if named is not None:
        words += f". {_send_instead(named)}"
    elif not place:
        words += ', for example {"operation": {"action": "status"}}'
    refuse(words)


def checked(operation: Fields, kinds: Kinds, agents: Mapping[str, str]) -> Action:
    """The action that `operation` says, one of `kinds`. Raises `msgspec.ValidationError`.

    A refusal names the field, what it got and what is expected.
    """
    kind = kind_of(operation["action"], kinds)
    name = operation["action"]
    _check_names(name, kind, operation)
    given = {key: one for key, one in operation.items() if one is not None}
    fields = {key: _read(key, one) for key, one in given.items()}
    try:
        action = msgspec.convert(fields, kind, strict=False)
    except msgspec.ValidationError as error:
        raise msgspec.ValidationError(_explained(str(error), kind, fields)) from error
    _check_words(action, kind)
    if isinstance(action, Order):
        _check_order(action, agents)
    return action


def kind_of(action: object, kinds: Kinds) -> type[Action]:
    """The kind of `action`. Raises `msgspec.ValidationError` with the one that may be meant."""
    if isinstance(action, str) and action in kinds:
        return kinds[action]
    if isinstance(action, str) and action in ALL:
        refuse(f"action: got {shown(action)}, but {NO_CHILDREN}")
    near = [name for name in kinds if distance(str(action)[:_SHOWN].lower(), name) <= _TYPO]
    guess = f" Did you mean {near[0]}?" if len(near) == 1 else ""
    refuse(f"action: got {shown(action)}, expected one of {', '.join(kinds)}.{guess}")


def _check_names(name: str, kind: type[Action], operation: Fields) -> None:
    known = {one.encode_name: one for one in msgspec.structs.fields(kind)}
    unknown = [key for key, one in operation.items() if not (key in known or _is_void(key, one))]
    if unknown:
        listed = f"it takes {', '.join(known)}" if known else "it takes nothing else"
        hint = _unknown_hint(kind, unknown[0], operation)
        refuse(f"{name} has no field {shown(unknown[0])}; {listed}.{hint}")
    given = {key for key, one in operation.items() if one is not None}
    missing = [key for key, one in known.items() if one.required and key not in given]
    if missing:
        got = _names({key: None for key in operation if key != "action"}) or "nothing"
        refuse(f"{name} needs {' and '.join(missing)}; got {got}.")


def _is_void(name: str, value: object) -> bool:
    """Whether a field says nothing: the tag, or a null for what another action takes."""
    return name == "action" or (value is None and name in _EVERY_FIELD)


def _unknown_hint(kind: type[Action], name: str, operation: Fields) -> str:
    if issubclass(kind, Order):
        if _EXISTING.match(name):
            return f" It always makes a new actor. {_send_instead(operation[name])}"
        if name == "timeout_ms":
            return " It does not wait, so there is nothing to time; only `run` does."
    if kind is WaitForMail and name == "actor_id":
        return " This actor waits for mail only: leave it out."
    return ""


def _send_instead(actor_id: object) -> str:
    named = cut(actor_id, _SHOWN) if isinstance(actor_id, str) else "an actor"
    return f"To give {named} more work, `send` it a message: that wakes it, with all it knows."


def _read(name: str, value: object) -> object:
    """A field; an object that was written as a string of JSON is read."""
    if name == "output_schema" and isinstance(value, str):
        return _from_json(value, name)
    return value


def _from_json(text: str, place: str) -> Fields:
    try:
        return read_object(text)
    except ArgumentsError as error:
        raise msgspec.ValidationError(
            f"{place}: got {shown(text)}, expected an object ({clean(error.message)})"
        ) from error


def _check_words(action: Action, kind: type[Action]) -> None:
    for field in msgspec.structs.fields(kind):
        value: object = getattr(action, field.name)
        if field.required and isinstance(value, str) and not value.strip():
            refuse(f"{field.name}: got {shown(value)}, expected words")


def _check_order(order: Order, agents: Mapping[str, str]) -> None:
    wanted = order.subagent_type
    if wanted not in agents:
        if (match := _ACTOR_ID.match(wanted)) and match["agent"] in agents:
            hint = _send_instead(wanted)
        else:
            near = [one for one in agents if distance(wanted[:_SHOWN].lower(), one) <= _TYPO]
            hint = f"Did you mean {near[0]}?" if len(near) == 1 else ""
        listed = ", ".join(agents)
        refuse(f"subagent_type: got {shown(wanted)}, expected one of {listed}. {hint}".rstrip())
    task = (order.task_id or "").strip()
    match = _ACTOR_ID.match(task)
    if _SESSION_ID.match(task) or (match and match["agent"] in agents):
        refuse(
            f"task_id: got {shown(task)}, expected a task of your list, such as T1. A new actor"
            f" cannot go on as another. {_send_instead(task)}"
        )


def _explained(error: str, kind: type[Action], fields: Fields) -> str:
    """An error of the converter with the field and the value in it."""
    match = _PLACE.search(error)
    if match is None:
        return error
    place = match["place"]
    name = place.partition(".")[0].partition("[")[0]
    field = next((one for one in msgspec.structs.fields(kind) if one.encode_name == name), None)
    expected = error[: match.start()].partition(", got ")[0]
    if field is not None and (choices := _choices(field.type)):
        expected = f"expected one of {', '.join(map(str, choices))}"
    expected = expected.replace("`", "").replace(" | null", "")
    return f"{place}: got {shown(fields.get(name))}, {expected[:1].lower()}{expected[1:]}"


def _choices(kind: object) -> list[object]:
    """The values of the literals in an annotation."""
    inner = get_args(kind)
    if inner and all(isinstance(one, str) for one in inner):
        return list(inner)
    return [choice for one in inner for choice in _choices(one)]


def shown(value: object) -> str:
    """A value as it is shown back to who gave it, on one line and not too long."""
    if isinstance(value, str):
        return repr(cut(value, _SHOWN))
    try:
        return cut(msgspec.json.encode(value).decode(), _SHOWN)
    except (TypeError, UnicodeEncodeError):
        return type(value).__name__


def _names(fields: Mapping[str, object]) -> str:
    return cut(", ".join(f"`{name}`" for name in fields), _SHOWN * 2)


def distance(one: str, other: str) -> int:
    """How many letters must be put in, taken out or changed to turn `one` into `other`."""
    row = list(range(len(other) + 1))
    for at, letter in enumerate(one, 1):
        before, row[0] = row[0], at
        for there, wanted in enumerate(other, 1):
            changed = before + (letter != wanted)
            before = row[there]
            row[there] = min(changed, before + 1, row[there - 1] + 1)
    return row[-1]
