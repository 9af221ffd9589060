"""Takes known secrets out of a timeline, whichever way it is shown. Pure."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

import msgspec

from roost.cli.trace.entries import Entry, Head

T = TypeVar("T")
Hide = Callable[[str], str]


def hidden(entry: T, hide: Hide, kind: Any) -> T:
    """`entry`, of the types `kind`, with `hide` applied to every text in it."""
    return cast("T", msgspec.convert(_within(msgspec.to_builtins(entry), hide), kind))


def hidden_entries(entries: Sequence[Entry], hide: Hide) -> list[Entry]:
    """The entries without secrets."""
    return [hidden(entry, hide, Entry) for entry in entries]


def hidden_head(head: Head, hide: Hide) -> Head:
    """The head without secrets."""
    return hidden(head, hide, Head)


def _within(value: Any, hide: Hide) -> Any:
    if isinstance(value, str):
        return hide(value)
    if isinstance(value, dict):
        entries = cast("dict[str, Any]", value)
        return {name: _within(inner, hide) for name, inner in entries.items()}
    if isinstance(value, list | tuple):
        return [_within(one, hide) for one in cast("list[Any]", value)]
    return value
