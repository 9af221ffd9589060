"""Carries events from commits to subscribers; a slow subscriber costs bounded memory.

Everything here runs on the event loop's thread.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import Final

from roost.events.types import Delta, Event, resync

QUEUE_BYTES: Final = 4 * 1024 * 1024
"""Most bytes of text and JSON that wait for one subscriber."""
RING_EVENTS: Final = 4_096
"""Events kept for subscribers that come back with `Last-Event-ID`."""
_EVENT_OVERHEAD: Final = 512

Accept = Callable[[Event], bool]


class Subscription:
    """The events that one subscriber has not read yet, in order, deltas of a part merged."""

    def __init__(self, accept: Accept, limit: int = QUEUE_BYTES) -> None:
        self._accept = accept
        self._limit = limit
        self._waiting: list[Event | list[Delta]] = []
        self._open_deltas: dict[str, list[Delta]] = {}
        self._bytes = 0
        self._lost = False
        self._news = asyncio.Event()

    def offer(self, event: Event) -> None:
        """Queue `event` if the subscriber wants it."""
        if not self._accept(event):
            return
        if isinstance(event, Delta):
            self._offer_delta(event)
        else:
            if event.part_id is not None:
                self._open_deltas.pop(event.part_id, None)
            self._waiting.append(event)
            self._bytes += len(event.encoded) + _EVENT_OVERHEAD
        if self._bytes > self._limit:
            self._shed()
        self._news.set()

    def _offer_delta(self, delta: Delta) -> None:
        run = self._open_deltas.get(delta.place.part_id)
        if run is None or run[0].place != delta.place:
            run = list[Delta]()
            self._open_deltas[delta.place.part_id] = run
            self._waiting.append(run)
            self._bytes += _EVENT_OVERHEAD
        run.append(delta)
        self._bytes += len(delta.text)

    def _shed(self) -> None:
        """Drop deltas; if that is not enough drop all. Either way the subscriber must resync."""
        self._waiting = [item for item in self._waiting if not isinstance(item, list)]
        self._open_deltas.clear()
        self._lost = True
        self._bytes = sum(
            len(item.encoded) + _EVENT_OVERHEAD
            for item in self._waiting
            if not isinstance(item, list)
        )
        if self._bytes > self._limit:
            self._waiting.clear()
            self._bytes = 0

    def take(self) -> list[Event]:
        """All that waits, without waiting for more; ends with `server.resync` if news was lost."""
        batch = [_merged(item) if isinstance(item, list) else item for item in self._waiting]
        if self._lost:
            batch.append(resync())
        self._waiting = []
        self._open_deltas.clear()
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


def _merged(run: list[Delta]) -> Delta:
    if len(run) == 1:
        return run[0]
    return Delta(run[0].place, "".join(delta.text for delta in run), run[0].directory)


class Bus:
    """All events of this process."""

    def __init__(self) -> None:
        self._subscriptions: set[Subscription] = set()
        self._ring: deque[Event] = deque(maxlen=RING_EVENTS)

    def publish(self, events: Iterable[Event]) -> None:
        """Offer `events` to every subscriber, in order."""
        for event in events:
            if not isinstance(event, Delta):
                self._ring.append(event)
            for subscription in self._subscriptions:
                subscription.offer(event)

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
