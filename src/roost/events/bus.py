"""Carries events from commits to subscribers; a slow subscriber costs bounded memory.

Everything here runs on the event loop's thread.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from sys import getsizeof
from typing import Final

from roost.events.types import Delta, Event, resync

QUEUE_BYTES: Final = 4 * 1024 * 1024
"""Most bytes of memory that waiting text and JSON take for one subscriber."""
RING_EVENTS: Final = 4_096
RING_BYTES: Final = 8 * 1024 * 1024
"""Events, and bytes of them, kept for subscribers that come back with `Last-Event-ID`."""
_EVENT_OVERHEAD: Final = 1_024
"""What an event costs beside its JSON, the object that it tells of left out."""

Accept = Callable[[Event], bool]


class _Run:
    """Deltas of one place that wait, kept as pieces of text: small deltas are mostly overhead."""

    def __init__(self, first: Delta) -> None:
        self.first = first
        self.pieces: list[str] = []

    def merged(self) -> Delta:
        if len(self.pieces) == 1:
            return self.first
        return Delta(self.first.place, "".join(self.pieces), self.first.directory)


class Subscription:
    """The events that one subscriber has not read yet, in order, deltas of a part merged."""

    def __init__(self, accept: Accept, limit: int = QUEUE_BYTES) -> None:
        self._accept = accept
        self._limit = limit
        self._waiting: list[Event | _Run] = []
        self._open_runs: dict[str, _Run] = {}
        self._bytes = 0
        self._lost = False
        self._news = asyncio.Event()

    @property
    def waits(self) -> bool:
        """Whether there is news that was not taken yet."""
        return bool(self._waiting) or self._lost

    def offer(self, event: Event) -> None:
        """Queue `event` if the subscriber wants it."""
        if not self._accept(event):
            return
        if isinstance(event, Delta):
            self._offer_delta(event)
        else:
            if event.part_id is not None:
                self._open_runs.pop(event.part_id, None)
            self._waiting.append(event)
            self._bytes += _size(event)
        if self._bytes > self._limit:
            self._shed()
        self._news.set()

    def _offer_delta(self, delta: Delta) -> None:
        place = delta.place
        run = self._open_runs.get(place.part_id)
        if run is None or (run.first.place is not place and run.first.place != place):
            run = _Run(delta)
            self._open_runs[place.part_id] = run
            self._waiting.append(run)
            self._bytes += _EVENT_OVERHEAD
        run.pieces.append(delta.text)
        self._bytes += getsizeof(delta.text)

    def _shed(self) -> None:
        """Drop deltas; if that is not enough drop all. Either way the subscriber must resync."""
        events = [item for item in self._waiting if isinstance(item, Event)]
        self._bytes = sum(map(_size, events))
        if self._bytes > self._limit:
            events, self._bytes = [], 0
        self._waiting = [*events]
        self._open_runs.clear()
        self._lost = True

    def take(self) -> list[Event]:
        """All that waits, without waiting for more; ends with `server.resync` if news was lost."""
        batch = [item.merged() if isinstance(item, _Run) else item for item in self._waiting]
        if self._lost:
            batch.append(resync())
        self._waiting = []
        self._open_runs.clear()
        self._bytes = 0
        self._lost = False
        self._news.clear()
        return batch

    async def batch(self, window: float = 0.0) -> list[Event]:
        """Wait for news, then `window` seconds for more of it, and take all."""
        await self._news.wait()
        if window:
            await asyncio.sleep(window)
        return self.take()


def _size(event: Event) -> int:
    return len(event.encoded) + _EVENT_OVERHEAD


class Bus:
    """All events of this process."""

    def __init__(self) -> None:
        self._subscriptions: set[Subscription] = set()
        self._ring: deque[Event] = deque()
        self._ring_bytes = 0
        self._listeners: list[Callable[[Event], None]] = []

    def listen(self, listener: Callable[[Event], None]) -> None:
        """Call `listener` with every event but deltas, at once and in order. It must not raise."""
        self._listeners.append(listener)

    def publish(self, events: Iterable[Event]) -> None:
        """Offer `events` to every subscriber, in order."""
        for event in events:
            if not isinstance(event, Delta):
                self._remember(event)
                for listener in self._listeners:
                    listener(event)
            for subscription in self._subscriptions:
                subscription.offer(event)

    def _remember(self, event: Event) -> None:
        self._ring.append(event)
        self._ring_bytes += _size(event)
        while len(self._ring) > RING_EVENTS or self._ring_bytes > RING_BYTES:
            self._ring_bytes -= _size(self._ring.popleft())

    @contextmanager
    def subscribe(
        self, accept: Accept, *, after: str | None = None, limit: int = QUEUE_BYTES
    ) -> Generator[Subscription]:
        """Receive what `accept` takes until the block ends.

        With `after`, the id of the last event seen, what came since is offered first; if it is no
        longer known the first event is `server.resync`.
        """
        subscription = Subscription(accept, limit)
        for event in self._since(after):
            subscription.offer(event)
        self._subscriptions.add(subscription)
        try:
            yield subscription
        finally:
            self._subscriptions.discard(subscription)

    def _since(self, after: str | None) -> list[Event]:
        if after is None:
            return []
        kept = list(self._ring)
        for index, event in enumerate(kept):
            if event.id == after:
                return kept[index + 1 :]
        return [resync()]
