"""JSON read the way the pickiest provider reads it, and typed access to what it holds."""

import json
import re
from typing import Any, Final, cast

import msgspec
from msgspec import Raw, Struct

Object = dict[str, Any]
"""A JSON object; its values are foreign, so nothing is known of them."""

_SUSPECT: Final = re.compile(rb"\\u(?:0000|[dD][89a-fA-F])")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


class JsonError(ValueError):
    """The bytes are not JSON that every provider takes; the text says what is wrong."""


def loads(data: bytes) -> Any:
    """The value in `data`. Raises `JsonError` for what Python's own parser lets through:

    invalid UTF-8, a lone surrogate, NaN and infinities, a repeated key, NUL inside a string.
    """
    try:
        text = data.decode("utf-8")
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse)
    except UnicodeDecodeError as error:
        raise JsonError(f"not valid UTF-8 at byte {error.start}") from error
    except json.JSONDecodeError as error:
        raise JsonError(f"not valid JSON: {error}") from error
    except RecursionError as error:
        raise JsonError("nested too deeply") from error
    if _SUSPECT.search(data) and (bad := _bad_character(value)):
        raise JsonError(f"{bad} inside a string")
    return value


def _bad_character(value: Any) -> str:
    if isinstance(value, str):
        if "\x00" in value:
            return "NUL"
        return "lone surrogate" if _SURROGATE.search(value) else ""
    inner: list[Any] = []
    if isinstance(value, dict):
        pairs = cast("Object", value)
        inner = [*pairs, *pairs.values()]
    elif isinstance(value, list):
        inner = cast("list[Any]", value)
    return next((bad for each in inner if (bad := _bad_character(each))), "")


def _unique(pairs: list[tuple[str, Any]]) -> Object:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))
        raise JsonError(f"the key {twice!r} is given twice")
    return found


def _refuse(word: str) -> Any:
    raise JsonError(f"{word} is not JSON")


class _Chat(Struct):
    messages: Raw = Raw()


class _Responses(Struct):
    input: Raw = Raw()


def split(body: bytes, key: str) -> tuple[bytes, list[bytes]]:
    """`body` without the items of its list `key`, and those items, each as its own bytes.

    Most of a request repeats the one before it, so the items are compared as bytes and only new
    ones are read. A value of `key` that is no list stays where it is. Raises `JsonError`.
    """
    try:
        if key == "messages":
            whole = msgspec.json.decode(body, type=_Chat).messages
        else:
            whole = msgspec.json.decode(body, type=_Responses).input
        raw = bytes(whole)
        if not raw.startswith(b"["):
            return body, []
        items = [bytes(item) for item in msgspec.json.decode(raw, type=list[Raw])]
    except msgspec.DecodeError as error:
        raise JsonError(str(error)) from error
    # Looking for the first bytes only is ten times faster, and nearly always right.
    at = body.find(raw[:128])
    if body[at : at + len(raw)] != raw:
        at = body.find(raw)
    return body[:at] + b"[]" + body[at + len(raw) :], items


def lenient(data: bytes) -> Any:
    """The value in `data` with no more asked of it than that it is JSON. Raises `JsonError`."""
    try:
        return msgspec.json.decode(data)
    except msgspec.DecodeError as error:
        raise JsonError(str(error)) from error


def text(value: Any, key: str) -> str:
    """The string at `key` of an object, or nothing where there is none."""
    found = cast("Object", value).get(key) if isinstance(value, dict) else None
    return found if isinstance(found, str) else ""


def items(value: Any, key: str) -> list[Any]:
    """The list at `key` of an object, or an empty one where there is none."""
    found = cast("Object", value).get(key) if isinstance(value, dict) else None
    return cast("list[Any]", found) if isinstance(found, list) else []


def child(value: Any, key: str) -> Object:
    """The object at `key` of an object, or an empty one where there is none."""
    found = cast("Object", value).get(key) if isinstance(value, dict) else None
    return cast("Object", found) if isinstance(found, dict) else {}


def is_object(data: str) -> str:
    """What is wrong with `data` as a JSON object written as text; nothing when it is one."""
    try:
        value = loads(data.encode("utf-8", errors="surrogatepass"))
    except JsonError as error:
        return str(error)
    return "" if isinstance(value, dict) else "not a JSON object"
