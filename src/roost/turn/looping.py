"""Notices, in linear time, that a stream repeats itself to the letter.

A miss is acceptable, a false alarm is not: only back-to-back copies count, more of them the shorter
they are, and many more inside code and data, where honest repetition lives.
"""

from collections.abc import Sequence
from typing import Final

CHECK_EVERY: Final = 256
"""Characters between two looks."""
TAIL: Final = 16_384
"""Characters that are looked at."""
PROBE: Final = 48
"""The newest characters; where they stood last time gives the period."""
COPIES: Final[Sequence[tuple[int, int]]] = ((1, 400), (5, 200), (15, 120), (50, 30), (200, 14))
"""(longest period, copies that count as a loop); above the last period `LONG_COPIES`."""
LONG_COPIES: Final = 6
DENSE_PERIOD: Final = 30
DENSE_COPIES: Final = 250
"""Inside a code fence, or where the text looks like data, so many copies of at least this period;
shorter ones are left alone up to `ENDLESS`.
"""
ENDLESS: Final = 65_536
"""Characters of nothing but copies that are a loop, whatever they look like."""
_FENCES: Final = ("```", "~~~")
_LINE_HEAD: Final = 80
"""Characters of a line that are looked at for a fence."""


class LoopDetector:
    """Watches one channel (text or reasoning) of one attempt."""

    def __init__(self) -> None:
        self._tail = ""
        self._new: list[str] = []
        self._unseen = 0
        self._line = ""
        self._in_fence = False
        self._steady = 0
        """Characters in a row that were nothing but copies."""

    def feed(self, text: str) -> str | None:
        """Take in `text`; the repeated unit once it has been repeated too often, else None."""
        self._new.append(text)
        self._unseen += len(text)
        if self._unseen < CHECK_EVERY:
            return None
        return self._take_in("".join(self._new))

    def _take_in(self, text: str) -> str | None:
        self._new.clear()
        self._unseen = 0
        self._follow_fences(text)
        self._tail = (self._tail + text)[-TAIL:]
        return self._look(len(text))

    def _follow_fences(self, text: str) -> None:
        """A fence opens or closes code where a line begins with it."""
        *ended, rest = text.split("\n")
        for line in ended:
            if (self._line + line[:_LINE_HEAD]).lstrip().startswith(_FENCES):
                self._in_fence = not self._in_fence
            self._line = ""
        self._line += rest[: _LINE_HEAD - len(self._line)]

    def _look(self, new: int) -> str | None:
        tail = self._tail
        before = tail.rfind(tail[-PROBE:], 0, len(tail) - 1)
        if before < 0:
            self._steady = 0
            return None
        period = len(tail) - PROBE - before
        unit = tail[-period:]
        copies = _copies(tail, unit)
        self._steady = self._steady + new if (copies + 1) * period > len(tail) else 0
        if self._steady >= ENDLESS:
            return unit
        allowed = self._allowed(period, unit)
        return unit if allowed is not None and copies >= allowed else None

    def _allowed(self, period: int, unit: str) -> int | None:
        """Copies of `unit` that are a loop; None: no number that fits into the tail."""
        if self._in_fence or _looks_like_data(unit):
            return DENSE_COPIES if period >= DENSE_PERIOD else None
        return next((copies for limit, copies in COPIES if period <= limit), LONG_COPIES)


def _copies(tail: str, unit: str) -> int:
    """How many times `unit` stands back to back at the end of `tail`."""
    size = len(unit)
    count = 1
    while tail[-(count + 1) * size : -count * size] == unit:
        count += 1
    return count


def _looks_like_data(unit: str) -> bool:
    """Whether a unit is rather a rule, a row of a table, a line of code or numbers than prose."""
    letters = sum(char.isalpha() for char in unit)
    spaces = sum(char.isspace() for char in unit)
    return letters <= len(unit) / 4 or ("\n" in unit and letters + spaces < 0.7 * len(unit))
