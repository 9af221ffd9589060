"""What the three dialects have in common for a reader of requests, and how each names a place."""

import re
from typing import Any, Final, Protocol

import msgspec

from scripted_model.json_strict import Object
from scripted_model.picture import Dialect, MediaBlock, Message, Request
from scripted_model.violations import Violation

_UNKNOWN: Final = re.compile(r"Object contains unknown field `(.+?)`(?: - at `\$(.*)`)?$")
_MISSING: Final = re.compile(r"Object missing required field `(.+?)`(?: - at `\$(.*)`)?$")
_OTHER: Final = re.compile(r"(.+?)(?: - at `\$(.*)`)?$", re.DOTALL)
_INDEX: Final = re.compile(r"\[(\d+)\]")


class Grammar(Protocol):
    """How one dialect writes a request: `check_*` are strict, the rest takes anything."""

    dialect: Dialect
    list_key: str
    """The top-level list that grows: `messages` or `input`."""

    def head(self, body: Object) -> Request:
        """Everything but the messages."""
        ...

    def message(self, item: Any) -> Message:
        """One item of the list."""
        ...

    def check_head(self, body: Object) -> list[Violation]:
        """Fields that should not be there, are missing or badly typed."""
        ...

    def check_item(self, item: Any, path: str) -> list[Violation]:
        """The same for one item of the list."""
        ...


def join(dialect: Dialect, *parts: str | int) -> str:
    """A path as the dialect writes it: `messages[0].content` or `messages.0.content`."""
    path = ""
    for part in parts:
        if isinstance(part, int):
            path += f".{part}" if dialect == "anthropic" else f"[{part}]"
        else:
            path += f".{part}" if path and part else part
    return path


def check(dialect: Dialect, value: Any, schema: Any, path: str = "") -> list[Violation]:
    """What `schema` finds wrong with `value`: at most one thing, in the provider's words."""
    try:
        msgspec.convert(value, schema)
    except msgspec.ValidationError as error:
        return [_explain(dialect, str(error), path)]
    return []


def _explain(dialect: Dialect, error: str, path: str) -> Violation:
    if found := _UNKNOWN.match(error):
        where = _place(dialect, path, found[2], found[1])
        if dialect == "anthropic":
            return Violation("fields", f"{where}: Extra inputs are not permitted", where)
        return Violation("fields", f"Unknown parameter: '{where}'.", where, "unknown_parameter")
    if found := _MISSING.match(error):
        where = _place(dialect, path, found[2], found[1])
        if dialect == "anthropic":
            return Violation("fields", f"{where}: Field required", where)
        code = "missing_required_parameter"
        return Violation("fields", f"Missing required parameter: '{where}'.", where, code)
    other = _OTHER.match(error)
    said, inner = (other[1], other[2]) if other else (error, "")
    where = _place(dialect, path, inner, "")
    if dialect == "anthropic":
        return Violation("fields", f"{where}: {said}", where)
    return Violation("fields", f"Invalid value for '{where}': {said}.", where, "invalid_value")


def _place(dialect: Dialect, path: str, inner: str | None, name: str) -> str:
    tail = (inner or "").lstrip(".")
    if dialect == "anthropic":
        tail = _INDEX.sub(r".\1", tail).lstrip(".")
    return join(dialect, *(part for part in (path, tail, name) if part))


def media_from_url(url: str) -> MediaBlock:
    """The image or document that a `data:` address holds; other addresses stay addresses."""
    if not url.startswith("data:"):
        return MediaBlock("", "", url)
    head, _, data = url[5:].partition(",")
    return MediaBlock(head.partition(";")[0], data)
