"""Bounded waits for a loop that waits thousands of times: one timer, not one a wait.

`asyncio.timeout` sets and clears a timer around each wait, which costs more than a whole delta of a
stream should. Here a timer is set once; when it rings it looks whether the wait of then is over.
"""

import asyncio
from collections.abc import Awaitable
from types import TracebackType
from typing import Self, TypeVar

T = TypeVar("T")


class Patience:
    """Bounds the waits of one task, one at a time. Use as a context manager within that task."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._waiting: asyncio.Task[object] | None = None
        self._deadline = 0.0
        self._expired = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()

    async def wait(self, pending: Awaitable[T], seconds: float) -> T:
        """The result of `pending`. Raises TimeoutError after `seconds`, when it is cancelled."""
        task = self._waiting = asyncio.current_task()
        self._deadline = self._loop.time() + seconds
        if self._timer is None or self._timer.when() > self._deadline:
            self._set()
        try:
            return await pending
        except asyncio.CancelledError:
            if not self._expired or task is None:
                raise
            self._expired = False
            if task.uncancel() > 0:
                raise  # Somebody else wants the task to end, too.
            raise TimeoutError from None
        finally:
            self._waiting = None

    def _set(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(self._deadline, self._ring)

    def _ring(self) -> None:
        self._timer = None
        if self._waiting is None:
            return
        if self._loop.time() < self._deadline:
            self._set()
            return
        self._expired = True
        self._waiting.cancel()
