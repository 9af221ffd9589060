"""Lets what must not be left half done end, although whoever waits for it is being stopped."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar

T = TypeVar("T")
logger = logging.getLogger(__name__)
FINISH_SECONDS: Final = 60.0
"""How long one that is being stopped takes care of what it has to leave in order."""


async def see_through(
    work: Coroutine[Any, Any, object], what: str, *, seconds: float = FINISH_SECONDS
) -> None:
    """Wait until `work` has ended, for `seconds` at most; then it is cancelled.

    Cancellations that come meanwhile do not reach `work`; the first is raised once this is done.
    What `work` raises is logged with `what`, since its caller has something else to tell.
    """
    loop = asyncio.get_running_loop()
    task = loop.create_task(work)
    end = loop.time() + seconds
    stopped: asyncio.CancelledError | None = None
    while not task.done() and (left := end - loop.time()) > 0:
        try:
            await asyncio.wait({task}, timeout=left)
        except asyncio.CancelledError as error:
            stopped = stopped or error
    if not task.done():
        task.cancel()
        logger.warning("%s: it took longer than %g s", what, seconds)
    elif not task.cancelled() and (error := task.exception()) is not None:
        logger.warning("%s: %s", what, error)
    if stopped is not None:
        raise stopped


async def make_or_undo(
    making: Coroutine[Any, Any, T],
    undo: Callable[[T], Coroutine[Any, Any, object]],
    what: str,
    *,
    seconds: float = FINISH_SECONDS,
) -> T:
    """What `making` makes, which is not interrupted; if the caller is stopped meanwhile, that is
    undone as soon as it is there, and the cancellation raised. See `see_through`.
    """
    task = asyncio.ensure_future(making)

    async def unmade() -> None:
        await undo(await task)

    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await see_through(unmade(), what, seconds=seconds)
        raise
