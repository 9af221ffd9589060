"""Notices, in linear time, that a stream repeats itself.

A miss is acceptable, a false alarm is not: of exact copies only those back to back count, more of
them the shorter they are, and many more inside code and data, where honest repetition lives.
"""

import re
from collections.abc import Sequence
from typing import Final

from roost.turn.cycling import CycleDetector

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
_ENCODED: Final = re.compile(r"[A-Za-z0-9+/_=-]{80}\Z")
"""What stands before a run of one letter in honest base64, line ends left out."""
_BEFORE: Final = 200
"""Characters before a run in which that is looked for."""
_FENCES: Final = ("```", "~~~")
_LINE_HEAD: Final = 80
"""Characters of a line that are looked at for a fence."""


class LoopDetector:
    """Watches one channel (text, reasoning, arguments of a call) of one attempt."""

    def __init__(self, *, data: bool = False) -> None:
        """`data`: the channel carries data, where nothing but an endless run is a loop."""
        self._data = data
        self._cycles = CycleDetector()
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
        if (unit := self._look(len(text))) is not None:
            return unit
        return None if self._data or self._in_fence else self._cycles.feed(text)

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
        if allowed is None or copies < allowed:
            return None
        before = tail[: -copies * period][-_BEFORE:].replace("\n", "")
        return None if _ENCODED.search(before) else unit

    def _allowed(self, period: int, unit: str) -> int | None:
        """Copies of `unit` that are a loop; None: no number that fits into the tail."""
        if self._data:
            return None
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
