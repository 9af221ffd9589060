"""JSON with comments and trailing commas, read so that every fault names its file and line."""

import math
import re
from collections.abc import Iterator
from typing import Any, Final, cast

import pyjson5
from msgspec import Struct

from roost.core.errors import ConfigError

KeyPath = tuple[str | int, ...]

_TOKEN: Final = re.compile(
    r"""(?P<skip>\s+|//[^\n\r\u2028\u2029]*|/\*.*?\*/)
      | (?P<text>"(?:[^"\\]|\\.)*" | '(?:[^'\\]|\\.)*')
      | (?P<mark>[{}\[\]:,])
      | (?P<word>[^\s{}\[\]:,"'/]+)""",
    re.DOTALL | re.VERBOSE,
)
# The decoder tells where it stopped only inside its message.
_PLACE: Final = re.compile(r"(?:starting )?near (\d+)")
_POINT: Final = re.compile(r"U\+([0-9A-Fa-f]{4,6})")
"""A character, as the parser names it."""


class Document(Struct, frozen=True):
    """A configuration file as data."""

    value: dict[str, Any]
    lines: dict[KeyPath, int]
    """The line, from 1, on which each key stands."""


def value_at(value: Any, path: KeyPath) -> Any:
    """What stands in `value` at `path`."""
    for piece in path:
        value = value[piece]
    return value


def show_key(path: KeyPath) -> str:
    """`("agent", "my.agent", "tools", 0)` as `agent["my.agent"].tools[0]`."""
    shown = ""
    for piece in path:
        if isinstance(piece, int):
            shown += f"[{piece}]"
        elif re.fullmatch(r"[\w$-]+", piece):
            shown += f".{piece}" if shown else piece
        else:
            shown += f'["{piece}"]'
    return shown


def parse(data: bytes, name: str) -> Document:
    """The object in `data`; nothing but blanks and comments counts as `{}`.

    Raises ConfigError naming `name` and the line for bytes that are not UTF-8, a syntax error, a
    key given twice, a number that is not finite, or anything but an object at the top.
    """
    text = _decode(data, name)
    tokens = list(_tokens(text))
    if not tokens:
        return Document({}, {})
    # Not chained: the decoder's error carries what it had read, keys and passwords included.
    try:
        value: object = pyjson5.decode(text)
    except (pyjson5.Json5DecoderException, ValueError) as error:
        # Extra data is counted from before the blanks in front of it, all else from behind.
        offset = 1 if isinstance(error, pyjson5.Json5ExtraData) else -1
        raise _syntax_error(text, name, str(error.args[0]), offset) from None
    if not isinstance(value, dict):
        raise ConfigError(
            f"{name}: holds {_kind(value)}, not an object", hint="Write { … } around the settings."
        )
    document = Document(cast("dict[str, Any]", value), _key_lines(tokens, name))
    _check_numbers(document.value, (), document.lines, name)
    return document


def _decode(data: bytes, name: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(
            f"{name}:{line}: is not UTF-8 text (byte {data[error.start]:#04x})",
            hint="Save the file as UTF-8.",
        ) from error


def _syntax_error(text: str, name: str, reason: str, offset: int) -> ConfigError:
    place = _PLACE.search(reason)
    line = text.count("\n", 0, max(0, int(place.group(1)) + offset)) + 1 if place else 1
    what = re.sub(r"\bb'(\w+)'", r"\1", _PLACE.sub("", reason).replace(" ,", ","))
    what = _POINT.sub(lambda point: repr(chr(int(point[1], 16))), what)
    return ConfigError(
        f"{name}:{line}: is not JSON: {what.strip()}",
        hint="Comments and trailing commas are allowed, everything else is strict JSON.",
    )


def _kind(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case str():
            return "a text"
        case list():
            return "a list"
        case _:
            return "a number"


def _tokens(text: str) -> Iterator[tuple[str, str, int]]:
    """Kind, text and line of everything that is neither blank nor comment."""
    line = 1
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or ""
        if kind != "skip":
            yield kind, match.group(), line
        line += match.group().count("\n")


class _Open:
    """An object or a list that has not been closed yet."""

    def __init__(self, mark: str) -> None:
        self.is_object = mark == "{"
        self.at: str | int = "" if self.is_object else 0
        self.wants_key = self.is_object
        self.seen: set[str] = set()


def _key_lines(tokens: list[tuple[str, str, int]], name: str) -> dict[KeyPath, int]:
    """Where each key of a valid document stands; raises ConfigError for a key given twice."""
    lines: dict[KeyPath, int] = {}
    stack: list[_Open] = []
    for kind, written, line in tokens:
        if kind != "mark":
            if stack and stack[-1].wants_key:
                key = written if kind == "word" else pyjson5.decode(written)
                _enter_key(stack, key, name, line)
                lines[tuple(one.at for one in stack)] = line
        elif written in "{[":
            stack.append(_Open(written))
        elif written in "}]":
            stack.pop()
        elif written == ",":
            top = stack[-1]
            top.wants_key = top.is_object
            top.at = top.at + 1 if isinstance(top.at, int) else top.at
    return lines


def _enter_key(stack: list[_Open], key: str, name: str, line: int) -> None:
    top = stack[-1]
    top.at, top.wants_key = key, False
    if key in top.seen:
        raise ConfigError(
            f"{name}:{line}: {show_key(tuple(one.at for one in stack))} is given twice",
            hint="Keep one of the two: which one counts would depend on the reader.",
        )
    top.seen.add(key)


def _check_numbers(value: object, path: KeyPath, lines: dict[KeyPath, int], name: str) -> None:
    if isinstance(value, dict):
        for key, inner in cast("dict[str, object]", value).items():
            _check_numbers(inner, (*path, key), lines, name)
    elif isinstance(value, list):
        for index, inner in enumerate(cast("list[object]", value)):
            _check_numbers(inner, (*path, index), lines, name)
    elif isinstance(value, float) and not math.isfinite(value):
        raise ConfigError(
            f"{place(name, path, lines)}: {value} is not a number that can be used",
            hint="Leave the key out for no limit.",
        )


def place(name: str, path: KeyPath, lines: dict[KeyPath, int]) -> str:
    """`file:line: key` with the line of the nearest key that has one."""
    for end in range(len(path), 0, -1):
        if (line := lines.get(path[:end])) is not None:
            return f"{name}:{line}: {show_key(path)}"
    return f"{name}: {show_key(path)}" if path else name
