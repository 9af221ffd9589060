"""Checks one configuration file against the structs of `models.py`, with words a user can act on.

The decoder of msgspec is fast and stops at the first fault with a path that leaves out the keys of
maps. So it runs first, and only a file that it refuses is walked here to say what is wrong where.
"""

import difflib
import re
import types
import typing
from collections.abc import Iterator
from typing import Annotated, Any, Final, Literal, Union, cast, get_args, get_origin

import msgspec
from msgspec import Struct

from roost.config.jsonc import Document, KeyPath, place
from roost.config.models import AgentConfig, Config
from roost.core.errors import ConfigError

_NEAR: Final = 0.75


class Fault(Struct, frozen=True):
    """One thing that is wrong with a file."""

    path: KeyPath
    what: str
    hint: str
    unknown: bool = False
    """The key is none of Roost's; in a file of OpenCode that is no fault."""


def validate(document: Document, name: str, *, lenient: bool) -> tuple[dict[str, Any], list[str]]:
    """The settings of a file that may be used, and what was left out of them.

    `lenient` leaves unknown keys out instead of refusing them, as a file made for another program
    needs. Keys of an agent that are no setting of Roost become options for its model.

    Raises ConfigError naming file, line and key of the first fault.
    """
    value = with_agent_options(document.value)
    left_out: list[str] = []
    while not _fits(value):
        fault = next(faults(value, Config, ()), Fault((), "is not a configuration", ""))
        where = place(name, fault.path, document.lines)
        if not (lenient and fault.unknown):
            raise ConfigError(f"{where}: {fault.what}", hint=fault.hint)
        value = cast("dict[str, Any]", _without(value, fault.path))
        left_out.append(f"{where}: is no setting of Roost and does nothing here")
    return value, left_out


def _fits(value: object) -> bool:
    try:
        msgspec.convert(value, Config)
    except msgspec.ValidationError:
        return False
    return True


def with_agent_options(value: dict[str, Any]) -> dict[str, Any]:
    """OpenCode passes an agent's other keys to the model, so that `reasoningEffort` works."""
    agents: object = value.get("agent")
    if not isinstance(agents, dict):
        return value
    known = _fields(AgentConfig)
    moved: dict[str, Any] = {}
    for name, agent in cast("dict[str, Any]", agents).items():
        moved[name] = _move_extras(cast("dict[str, Any]", agent), known) if _is(agent) else agent
    return {**value, "agent": moved}


def _move_extras(agent: dict[str, Any], known: dict[str, Any]) -> dict[str, Any]:
    agent = _renamed(agent)
    extras = {k: v for k, v in agent.items() if k not in known and not near(k, known)}
    options: object = agent.get("options", {})
    if not extras or not isinstance(options, dict):
        return agent
    kept = {k: v for k, v in agent.items() if k not in extras}
    return {**kept, "options": {**extras, **cast("dict[str, Any]", options)}}


_OTHER_NAMES: Final = {"maxSteps": "steps", "completionGate": "completion_gate"}
"""Names under which other versions of the file know a setting of an agent."""


def _renamed(agent: dict[str, Any]) -> dict[str, Any]:
    """`agent` with its settings under their one name; where both stand, the proper one counts."""
    if agent.keys().isdisjoint(_OTHER_NAMES):
        return agent
    renamed = {_OTHER_NAMES.get(key, key): value for key, value in agent.items()}
    return {**renamed, **{key: agent[key] for key in _OTHER_NAMES.values() if key in agent}}


def _is(value: object) -> bool:
    return isinstance(value, dict)


def _without(value: Any, path: KeyPath) -> Any:
    head, *rest = path
    if isinstance(value, list):
        items = cast("list[Any]", value)
        return [_without(v, tuple(rest)) if i == head else v for i, v in enumerate(items)]
    entries = cast("dict[Any, Any]", value)
    if not rest:
        return {key: inner for key, inner in entries.items() if key != head}
    return {key: _without(v, tuple(rest)) if key == head else v for key, v in entries.items()}


def near(key: str, known: typing.Iterable[str]) -> str | None:
    """The known name that `key` was probably meant to be."""
    folded = {name.lower().replace("_", ""): name for name in known}
    found = difflib.get_close_matches(key.lower().replace("_", ""), folded, 1, _NEAR)
    return folded[found[0]] if found else None


def faults(value: object, kind: Any, path: KeyPath) -> Iterator[Fault]:
    """What keeps `value` from being a `kind`, each with the path of its key."""
    members = list(_members(kind))
    struct = next((m for m in members if isinstance(m, type) and issubclass(m, Struct)), None)
    table = next((m for m in members if get_origin(m) is dict), None)
    if struct is not None and isinstance(value, dict):
        yield from _struct_faults(cast("dict[str, object]", value), struct, path)
    elif table is not None and isinstance(value, dict):
        inner_kind = get_args(table)[1]
        for key, inner in cast("dict[str, object]", value).items():
            yield from faults(inner, inner_kind, (*path, key))
    else:
        yield from _leaf_faults(value, kind, members, path)


def _members(kind: Any) -> Iterator[Any]:
    origin = get_origin(kind)
    if origin is Annotated:
        yield from _members(get_args(kind)[0])
    elif origin is Union or origin is types.UnionType:
        for member in get_args(kind):
            yield from _members(member)
    else:
        yield kind


def _fields(struct: type[Struct]) -> dict[str, Any]:
    return {one.encode_name: one for one in msgspec.structs.fields(struct)}


def _struct_faults(
    value: dict[str, object], struct: type[Struct], path: KeyPath
) -> Iterator[Fault]:
    known = _fields(struct)
    before = False
    for key, inner in value.items():
        if key in known:
            found = list(faults(inner, known[key].type, (*path, key)))
        elif struct.__struct_config__.forbid_unknown_fields:
            found = [_unknown(key, known, (*path, key))]
        else:
            found = []
        before = before or bool(found)
        yield from found
    missing = [name for name, one in known.items() if one.required and name not in value]
    for name in missing:
        yield Fault((*path, name), "is missing", f"Give {name} a value.")
    if not before and not missing:
        yield from _leaf_faults(value, struct, [struct], path)


def _unknown(key: str, known: dict[str, Any], path: KeyPath) -> Fault:
    meant = near(key, known)
    hint = f"Did you mean {meant}?" if meant else f"Known here: {', '.join(known)}."
    return Fault(path, "is not a setting", hint, unknown=True)


def _leaf_faults(value: object, kind: Any, members: list[Any], path: KeyPath) -> Iterator[Fault]:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        words = str(error).replace("`", "").partition(" - at $")
        index = words[2].strip("[]")
        at = (*path, int(index)) if index.isdigit() else path
        allowed = [str(one) for m in members if get_origin(m) is Literal for one in get_args(m)]
        hint = f"Allowed: {', '.join(allowed)}." if allowed else ""
        yield Fault(at, _plain(words[0][:1].lower() + words[0][1:]), hint)


_PLAIN: Final = {
    "str": "text in quotes",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list [ … ]",
    "object": "an object { … }",
    "null": "null",
}


def _plain(words: str) -> str:
    """`expected str | null, got int` in words of the file instead of the program's."""
    if words.startswith("invalid enum value "):
        return f"is none of the values it may have: {words.removeprefix('invalid enum value ')}"
    return re.sub(r"\b(str|int|float|bool|array|object|null)\b", lambda m: _PLAIN[m[0]], words)
