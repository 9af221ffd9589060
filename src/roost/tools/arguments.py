"""Reads the arguments of a call strictly, forgiving one level of wrapping and nothing else."""

import json
from collections.abc import Mapping
from contextlib import suppress
from difflib import get_close_matches
from functools import cache
from math import isfinite
from typing import Any, Final, NoReturn, cast

import msgspec
from msgspec import Struct

from roost.core.errors import RoostError
from roost.core.text import clean, cut
from roost.tools.contract import Tool

RAW_SHOWN: Final = 800
"""Characters of arguments that are shown back to the model when they cannot be read."""
DEPTH: Final = 64
"""Levels of arrays and objects within arguments."""
_NAME_SHOWN: Final = 100
_TOO_DEEP: Final = f"it is nested more than {DEPTH} levels deep"
_WHOLE_NUMBERS: Final = range(-(2**63), 2**64)


class ArgumentsError(RoostError):
    """A call that cannot be run; `input` is what history keeps of its arguments."""

    def __init__(self, message: str, input_: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.input = input_ or {}


class Parsed(Struct, frozen=True):
    """A call that can be run."""

    tool: Tool[Any]
    arguments: Struct
    input: dict[str, Any]
    """The arguments as the model gave them."""


def parse_call(tools: Mapping[str, Tool[Any]], name: str, raw: str, *, complete: bool) -> Parsed:
    """The call of `name` with the JSON `raw`.

    Raises `ArgumentsError` for a tool that is not there, arguments that were cut off, are not an
    object of strict JSON, or do not fit. A number or a truth value may be written as a string, and
    a field that is no string may be JSON in a string; nothing else is repaired.
    """
    if not complete:
        size = len(raw.encode("utf-8", "replace"))
        raise ArgumentsError(
            f"The arguments of this call were cut off after {size} bytes, so it was not run. "
            "Make the call again, with less in it if it is long."
        )
    value = read_object(raw)
    tool = tools.get(name)
    if tool is None:
        raise ArgumentsError(_unknown(tools, name), value)
    value = _unwrapped(tool.parameters, value)
    try:
        arguments = tool.parse(value)
    except msgspec.ValidationError as error:
        raise ArgumentsError(f"The arguments of {name} do not fit: {error}", value) from error
    return Parsed(tool, arguments, value)


def _unwrapped(kind: type[Struct], value: dict[str, Any]) -> dict[str, Any]:
    """`value` with fields that were written as a string of JSON read, where no string fits."""
    result = dict(value)
    for field in _fields(kind):
        text = value.get(field.encode_name)
        if (
            isinstance(text, str)
            and text.lstrip()[:1] in {"{", "["}
            and not _fits(text, field.type)
        ):
            with suppress(ArgumentsError):  # then it is refused as what it is
                result[field.encode_name] = _cleaned(_strict(text, text))
    return result


@cache
def _fields(kind: type[Struct]) -> tuple[msgspec.structs.FieldInfo, ...]:
    return msgspec.structs.fields(kind)


def _fits(value: object, kind: Any) -> bool:
    try:
        msgspec.convert(value, kind, strict=False)
    except msgspec.ValidationError:
        return False
    return True


def _unknown(tools: Mapping[str, Tool[Any]], name: str) -> str:
    if not tools:
        return "No tool is run any more in this turn. Report in words."
    near = get_close_matches(name[:_NAME_SHOWN], list(tools), n=1)
    guess = f" Did you mean {near[0]}?" if near else ""
    shown = cut(clean(name), _NAME_SHOWN)
    return f"There is no tool {shown!r}.{guess} There are: {', '.join(tools)}."


def read_object(raw: str) -> dict[str, Any]:
    """A JSON object, or one that was written as a string; empty text counts as `{}`.

    Raises `ArgumentsError`.
    """
    if not raw.strip():
        return {}
    value = _strict(raw, raw)
    if isinstance(value, str):
        value = _strict(value, raw)
    if not isinstance(value, dict):
        _refuse("a JSON object is needed", raw)
    return cast("dict[str, Any]", _cleaned(value))


def _strict(text: str, raw: str) -> Any:
    try:
        value = json.loads(
            text,
            object_pairs_hook=_unique,
            parse_constant=_no_constant,
            parse_int=_whole_number,
            parse_float=_number,
        )
        _check_depth(value)
    except RecursionError:
        _refuse(_TOO_DEEP, raw)
    except ValueError as error:
        _refuse(str(error), raw)
    else:
        return value


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _whole_number(text: str) -> int:
    if len(text) > _NAME_SHOWN or (value := int(text)) not in _WHOLE_NUMBERS:
        raise ValueError(f"the number {cut(text, 24)} is too large")
    return value


def _number(text: str) -> float:
    if not isfinite(value := float(text)):
        raise ValueError(f"the number {cut(text, 24)} is too large")
    return value


def _check_depth(value: Any, depth: int = 0) -> None:
    if depth > DEPTH:
        raise ValueError(_TOO_DEEP)
    if isinstance(value, dict):
        for item in cast("dict[str, Any]", value).values():
            _check_depth(item, depth + 1)
    elif isinstance(value, list):
        for item in cast("list[Any]", value):
            _check_depth(item, depth + 1)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the field {cut(twice, _NAME_SHOWN)!r} stands there twice")
    return found


def _refuse(why: str, raw: str) -> NoReturn:
    raise ArgumentsError(
        f"The arguments cannot be read: {clean(why)}. The call was not run. They began:\n"
        f"{cut(clean(raw), RAW_SHOWN)}"
    )


def _cleaned(value: Any) -> Any:
    match value:
        case str():
            return clean(value)
        case list():
            return [_cleaned(item) for item in cast("list[Any]", value)]
        case dict():
            fields = cast("dict[str, Any]", value)
            return {clean(name): _cleaned(item) for name, item in fields.items()}
        case _:
            return value
