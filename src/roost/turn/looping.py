"""Notices, in linear time, that a stream repeats itself to the letter.

A miss is acceptable, a false alarm is not: only back-to-back copies count, more of them the shorter
they are, and many more inside code and tables, where honest repetition lives.
"""

from collections.abc import Sequence
from typing import Final

CHECK_EVERY: Final = 256
"""Characters between two looks."""
TAIL: Final = 16_384
"""Characters that are looked at."""
PROBE: Final = 48
"""The newest characters; where they stood last time gives the period."""
COPIES: Final[Sequence[tuple[int, int]]] = ((1, 400), (5, 120), (15, 60), (50, 24), (200, 14))
"""(longest period, copies that count as a loop); above the last period `LONG_COPIES`."""
LONG_COPIES: Final = 6
DENSE_PERIOD: Final = 30
DENSE_COPIES: Final = 60
"""Inside a code fence, or where most lines look like data, so many copies of at least this
period."""


class LoopDetector:
    """Watches one channel (text or reasoning) of one attempt."""

    def __init__(self) -> None:
        self._tail = ""
        self._unseen = 0
        self._fences = 0

    def feed(self, text: str) -> str | None:
        """Take in `text`; the repeated unit once it has been repeated too often, else None."""
        self._tail += text
        self._unseen += len(text)
        self._fences += text.count("```")
        if self._unseen < CHECK_EVERY:
            return None
        self._unseen = 0
        if len(self._tail) > TAIL:
            self._tail = self._tail[-TAIL:]
        return self._look()

    def _look(self) -> str | None:
        tail = self._tail
        if len(tail) < PROBE * 2:
            return None
        before = tail.rfind(tail[-PROBE:], 0, len(tail) - 1)
        if before < 0:
            return None
        period = len(tail) - PROBE - before
        unit = tail[-period:]
        copies = _copies(tail, unit)
        return unit if unit.strip() and copies >= self._allowed(period, unit) else None

    def _allowed(self, period: int, unit: str) -> int:
        if self._fences % 2 or _looks_like_data(unit):
            if period < DENSE_PERIOD:
                return TAIL
            return max(DENSE_COPIES, 1)
        return next((copies for limit, copies in COPIES if period <= limit), LONG_COPIES)


def _copies(tail: str, unit: str) -> int:
    """How many times `unit` stands back to back at the end of `tail`."""
    size = len(unit)
    count = 1
    while tail[-(count + 1) * size : -count * size] == unit:
        count += 1
    return count


def _looks_like_data(unit: str) -> bool:
    """Whether a unit is rather a row of a table, a line of code or a number than prose."""
    letters = sum(char.isalpha() or char.isspace() for char in unit)
    return "\n" in unit and letters < 0.7 * len(unit)
