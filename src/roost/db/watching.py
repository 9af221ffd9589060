"""Waits for what the database will say: by the news of this process, and by looking again, since
another process may be the one that writes it.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from math import inf
from typing import TypeVar

from roost.db.database import Database
from roost.db.transaction import Reader
from roost.events.bus import Bus
from roost.events.types import Event

T = TypeVar("T")


async def until(
    database: Database,
    bus: Bus,
    look: Callable[[Reader], T],
    over: Callable[[T], bool],
    *,
    concerns: Callable[[Event], bool],
    poll: float,
    seconds: float = inf,
    window: float = 0.0,
    each: Callable[[T], Awaitable[object]] | None = None,
    unheard: Callable[[T], Awaitable[object]] | None = None,
) -> T:
    """What `look` sees once it is `over`, or what it saw last when `seconds` have passed.

    It looks at once, then after each piece of news that `concerns` takes (`window` seconds after
    it, so that one look serves for several), and `poll` seconds after the last look at the latest.
    `each` is awaited after every look that goes on, `unheard` after a `poll` without news. Raises
    what `look` raises.
    """
    end = time.monotonic() + seconds
    with bus.subscribe(concerns) as news:
        while True:
            seen = await database.read(look)
            left = end - time.monotonic()
            if over(seen) or left <= 0:
                return seen
            if each is not None:
                await each(seen)
            try:
                await asyncio.wait_for(news.batch(window), min(left, poll))
            except TimeoutError:
                if unheard is not None and left > poll:
                    await unheard(seen)
