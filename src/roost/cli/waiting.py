"""Waits that a person can end."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from roost.cli.run.stopping import Stop

T = TypeVar("T")


async def unless_stopped(work: Coroutine[Any, Any, T], stop: Stop) -> T | None:
    """What `work` gives; None if the person wanted it no more, and then it is cancelled."""
    working = asyncio.create_task(work)
    stopped = asyncio.create_task(stop.asked.wait())
    try:
        await asyncio.wait({working, stopped}, return_when=asyncio.FIRST_COMPLETED)
        return await working if working.done() else None
    finally:
        stopped.cancel()
        working.cancel()
        await asyncio.gather(working, stopped, return_exceptions=True)
