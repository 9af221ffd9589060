"""Named points at which answers wait until a test lets them go on."""

import asyncio
from collections import Counter


class Barriers:
    """Barriers by name. A released one stays open. Used on the server's loop only."""

    def __init__(self) -> None:
        self._events: dict[str, asyncio.Event] = {}
        self._arrived: Counter[str] = Counter()

    def arrive(self, name: str) -> asyncio.Event:
        """Note that an answer has come to this barrier; the event opens it."""
        self._arrived[name] += 1
        return self._event(name)

    def release(self, name: str) -> None:
        """Open a barrier for all that wait at it and all that come later."""
        self._event(name).set()

    def _event(self, name: str) -> asyncio.Event:
        return self._events.setdefault(name, asyncio.Event())

    def arrived(self, name: str) -> int:
        """How many answers have come to the barrier so far."""
        return self._arrived[name]

    def closed(self) -> list[str]:
        """Names of barriers that somebody waits at."""
        return [name for name, event in self._events.items() if not event.is_set()]
