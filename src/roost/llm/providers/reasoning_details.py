"""OpenRouter's `reasoning_details`: thinking in pieces that must go back as whole entries.

Format: https://openrouter.ai/docs/use-cases/reasoning-tokens (entries of type `reasoning.text`,
`reasoning.summary`, `reasoning.encrypted`, told apart by `index`).
"""

from collections.abc import Iterable
from typing import Any, Final

_GROWING: Final = ("text", "summary", "data")


def joined_details(pieces: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Entries put together: neighbours of one type and index are one entry, its texts joined."""
    entries: list[dict[str, Any]] = []
    for piece in pieces:
        if entries and _goes_on(entries[-1], piece):
            _grow(entries[-1], piece)
        else:
            entries.append(dict(piece))
    return entries


def _goes_on(entry: dict[str, Any], piece: dict[str, Any]) -> bool:
    same_place = entry.get("type") == piece.get("type") and entry.get("index") == piece.get("index")
    ids = (entry.get("id"), piece.get("id"))
    return same_place and (None in ids or ids[0] == ids[1])


def _grow(entry: dict[str, Any], piece: dict[str, Any]) -> None:
    for key, value in piece.items():
        if key in _GROWING and isinstance(value, str):
            entry[key] = (entry.get(key) or "") + value
        elif value is not None:
            entry[key] = value
