"""Ids on narrow screens: as much of each as tells it from the others, which commands take, too."""

from collections.abc import Iterable
from typing import Final

WIDE: Final = 100
"""Cells of a line from which on ids are shown whole."""
_LEAST: Final = 12
"""Characters that are shown at least: the kind, and a moment of 16 ms."""


def shown_ids(ids: Iterable[str], width: int | None) -> dict[str, str]:
    """How each of `ids` is shown on lines of `width` cells; None: nobody has to fit them in."""
    known = list(dict.fromkeys(ids))
    if width is None or width >= WIDE:
        return {one: one for one in known}
    size = _LEAST
    longest = max(map(len, known), default=0)
    while size < longest and len({one[:size] for one in known}) < len(known):
        size += 1
    return {one: one[:size] for one in known}
