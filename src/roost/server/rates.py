"""How often one source may do something: a sliding window."""

import math
from collections import deque
from typing import Final

_SOURCES: Final = 1_000
"""Sources that are remembered before idle ones are dropped."""


class Rate:
    """At most `count` times in `seconds`, by source; without limit where `count` is 0.

    Times are those of any one rising clock.
    """

    def __init__(self, count: int, seconds: float) -> None:
        self._count = count
        self._seconds = seconds
        self._seen: dict[str, deque[float]] = {}

    def wait(self, source: str, now: float) -> int:
        """Count one more of `source` and give 0, or the whole seconds until it may try again."""
        if self._count <= 0:
            return 0
        if len(self._seen) > _SOURCES:
            self._drop_idle(now)
        times = self._seen.setdefault(source, deque())
        while times and times[0] <= now - self._seconds:
            times.popleft()
        if len(times) < self._count:
            times.append(now)
            return 0
        return max(1, math.ceil(times[0] + self._seconds - now))

    def _drop_idle(self, now: float) -> None:
        idle = [s for s, times in self._seen.items() if times[-1] <= now - self._seconds]
        for source in idle:
            del self._seen[source]
