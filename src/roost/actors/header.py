"""The two lines at the head of a report: asked of an actor in its brief, read from its last words.

Reading is lenient, since models decorate: list marks, bold, quotes, another order, words before
it. What is not one of the four states is no state; it is never taken for success.
"""

import re
from typing import Final, Literal, get_args

from msgspec import Struct

from roost.core.text import cut

Reported = Literal["success", "partial", "failed", "blocked"]
SUMMARY_LIMIT: Final = 500
"""Characters of a summary."""
_LINES: Final = 40
"""How far into the text a header is looked for."""

RETURN_FORMAT: Final = """

---
How to end: your last message is your report, and the only thing that is passed on. Begin it with
these two lines:

**Status**: success | partial | failed | blocked
**Summary**: what came of it, in one sentence

Then whatever the reader needs: findings with paths and lines, **Files touched**, and under
**Findings worth promoting** what will still matter after this task."""
"""Goes behind the brief of an actor whose agent has a completion gate."""

_FIELD: Final = re.compile(
    r"^[\s>#*_\-`]*(?P<name>status|summary)[\s*_`]*[:\uff1a][\s*_`]*(?P<value>.*)$", re.IGNORECASE
)
_WORD: Final = re.compile(r"[A-Za-z]+")


class Header(Struct, frozen=True):
    """What an actor says of its own work."""

    status: Reported | None
    """None: nothing was reported that can be read."""
    summary: str


def parse_header(text: str) -> Header:
    """The header of a report; the first line that reads as one counts."""
    status: Reported | None = None
    seen: set[str] = set()
    summary = ""
    for line in text.split("\n")[:_LINES]:
        match = _FIELD.match(line[: 4 * SUMMARY_LIMIT])
        if match is None or (name := match["name"].lower()) in seen:
            continue
        seen.add(name)
        if name == "status":
            status = _state(match["value"])
        else:
            summary = cut(match["value"].strip().rstrip("*_`").strip(), SUMMARY_LIMIT)
    return Header(status, summary)


def _state(value: str) -> Reported | None:
    """The one state that `value` names; none if it names several, as a copied template does."""
    words = {word.lower() for word in _WORD.findall(value)}
    named = [state for state in get_args(Reported) if state in words]
    return named[0] if len(named) == 1 else None
