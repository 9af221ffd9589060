"""A request that waits for a person, as lines: what is asked for, and how to answer it."""

from typing import Any, Final, cast

from roost.cli.terminal import Look
from roost.core.text import cut, terminal_safe
from roost.permissions.asks import Ask
from roost.permissions.words import in_words

_LONGEST: Final = 400
"""Characters of what is asked for."""
_ICON: Final = "?"


def request_lines(ask: Ask, look: Look) -> list[str]:
    """Who waits, and for what; below it, how a person answers."""
    who = terminal_safe(f"{ask.actor_id} waits for a person: {_what(ask)}")
    return [
        f"{look.paint(_ICON, 'yellow')} {who}",
        f"  answer it in another terminal: roost requests  ({ask.id})",
    ]


def _what(ask: Ask) -> str:
    words = _questions(ask.request) if ask.kind == "question" else _permission(ask.request)
    return cut(" ".join(words.split()), _LONGEST)


def _permission(request: dict[str, Any]) -> str:
    """`running `make` needs approval`; a rule may have said more."""
    metadata = cast("dict[str, Any]", request.get("metadata") or {})
    if reason := metadata.get("reason"):
        return str(reason)
    patterns = ", ".join(map(str, request.get("patterns") or ()))
    return f"{in_words(str(request.get('permission')), patterns)} needs approval"


def _questions(request: dict[str, Any]) -> str:
    asked = cast("list[dict[str, Any]]", request.get("questions") or [])
    return " ".join(str(one.get("question", "")) for one in asked)
