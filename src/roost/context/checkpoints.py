"""When a checkpoint is due, and what counts as one. Pure.

A checkpoint is the account of a conversation that a model writes while the work goes on, so that it
is there when the conversation has to be shortened. It is worth its price once a conversation has
grown by a good part of the window since it last began anew.
"""

import re
from typing import Final

from roost.context.capacity import Window
from roost.context.checkpoint_store import Checkpoint
from roost.core.text import without_middle
from roost.sessions.parts import CompactionPart

SMALLEST: Final = 25_000
"""Tokens; a smaller window is shortened too often for an account of each to be worth it."""
RUNGS: Final = (0.45, 0.7)
"""Shares of what may be used at which one is written, of a conversation that began with nothing."""
HEADINGS: Final = ("Intent", "State", "Next", "Decisions", "Knowledge", "Dead ends", "Values")
NEEDED: Final = 3
"""Headings without which an answer is no account."""
LONGEST: Final = 32_000
"""Characters that are kept of one."""
_HEADING: Final = re.compile(r"^#{1,3}\s*(?:§?\d+[.:]?\s*)?(?P<title>[^\n#]+?)\s*$", re.MULTILINE)


def is_due(used: int, window: Window, last: Checkpoint | None, mark: CompactionPart | None) -> bool:
    """Whether one is to be begun, of a conversation of `used` tokens that last began with `mark`.

    `last` is the newest that was begun, whatever became of it: one that failed is not tried again
    before the next rung.
    """
    if window.usable < SMALLEST:
        return False
    begun = mark.after if mark else 0
    room = window.usable - begun
    rungs = [begun + int(room * share) for share in RUNGS]
    ours = last is not None and (mark is None or last.message_id >= mark.message_id)
    since = last.tokens if last is not None and ours else 0
    return any(since < rung <= used for rung in rungs)


def account_of(text: str) -> str | None:
    """The account in what a model said; None if it is none."""
    titles = {found["title"].strip().lower() for found in _HEADING.finditer(text)}
    known = sum(heading.lower() in titles for heading in HEADINGS)
    return without_middle(text.strip(), LONGEST) if known >= NEEDED else None
