"""Reads the arguments of a call strictly, forgiving one level of wrapping and nothing else."""

import json
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, Final, NoReturn, cast

import msgspec
from msgspec import Struct

from roost.core.errors import RoostError
from roost.core.text import clean, cut
from roost.tools.contract import Tool

RAW_SHOWN: Final = 800
"""Characters of arguments that are shown back to the model when they cannot be read."""


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
    object of strict JSON, or do not fit. Nothing is repaired by guessing.
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
    try:
        arguments = msgspec.convert(value, tool.parameters, strict=False)
    except msgspec.ValidationError as error:
        raise ArgumentsError(f"The arguments of {name} do not fit: {error}", value) from error
    return Parsed(tool, arguments, value)


def _unknown(tools: Mapping[str, Tool[Any]], name: str) -> str:
    near = get_close_matches(name, list(tools), n=1)
    guess = f" Did you mean {near[0]}?" if near else ""
    return f"There is no tool {clean(name)!r}.{guess} There are: {', '.join(tools)}."


def read_object(raw: str) -> dict[str, Any]:
    """A JSON object, or one that was written as a string; empty text counts as `{}`."""
    if not raw.strip():
        return {}
    value = _strict(raw, raw)
    if isinstance(value, str):
        value = _strict(value, raw)
    if not isinstance(value, dict):
        _refuse("a JSON object is needed", raw)
    return cast("dict[str, Any]", _cleaned(value))


def _strict(text: str, raw: str) -> Any:
    def constant(name: str) -> NoReturn:
        raise ValueError(f"{name} is not JSON")

    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=constant)
    except (ValueError, RecursionError) as error:
        _refuse(str(error), raw)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the field {twice!r} stands there twice")
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
