"""A request that waits for a person, as lines: what is asked for, and how to answer it."""

from typing import Final

from roost.cli.requests.words import what
from roost.cli.terminal import Look
from roost.core.text import cut, terminal_safe
from roost.permissions.asks import Ask

_LONGEST: Final = 400
"""Characters of what is asked for."""
_ICON: Final = "?"
_ANSWERS: Final = {
    "permission": "roost requests allow {} (or deny)",
    "question": 'roost requests answer {} "..."',
}


def request_lines(ask: Ask, look: Look) -> list[str]:
    """Who waits, and for what; below it, how a person answers."""
    waits = {"permission": "waits for permission", "question": "asks"}[ask.kind]
    about = cut(" ".join(what(ask).split()), _LONGEST)
    said = terminal_safe(f"{ask.actor_id} {waits}: {about}")
    return [
        f"{look.paint(_ICON, 'yellow')} {said}",
        f"  in another terminal: {_ANSWERS[ask.kind].format(ask.id)}",
    ]
