"""An answer that takes long: blanks until it is there, so that nobody takes the silence for death.

If it is there before the first blank is due, it comes with its own status. After that the status is
200 already, and an error can only stand in the body.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Generic, TypeVar

import msgspec
from starlette.types import Receive, Send

from roost.server.endpoint import Streamed
from roost.server.problems import EXPECTED, Answered, RefusalError, answered
from roost.server.service import Service

logger = logging.getLogger(__name__)
T = TypeVar("T")
_encoder = msgspec.json.Encoder()


async def until_first(*work: Coroutine[Any, Any, object]) -> None:
    """Do several things side by side until the first of them ends; the others are cancelled.

    Raises what one of them raised.
    """
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one) for one in work]
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in tasks:
                task.cancel()
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None


async def gone(receive: Receive) -> None:
    """Return when the client closes its connection. Its request must have been read."""
    while (await receive())["type"] != "http.disconnect":
        pass


class Waiting(Streamed, Generic[T]):
    """Waits for `work`, which gives the answer.

    When the client goes away before that, `work` is cancelled and `left` called.
    """

    def __init__(
        self,
        service: Service,
        work: Callable[[], Awaitable[T]],
        left: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._service = service
        self._work = work
        self._left = left
        self._started = False

    async def send(self, receive: Receive, send: Send) -> None:
        """Send blanks, then the answer."""
        answer = Answered(200, b"")
        done = False

        async def finish() -> None:
            nonlocal answer, done
            answer = await self._answer()
            done = True

        async def closing() -> None:
            nonlocal answer, done
            await self._service.closing.wait()
            words = "the server stops; the prompt is stored and goes on when it runs again"
            answer, done = answered(RefusalError(503, words)), True

        await until_first(finish(), closing(), self._blanks(send), gone(receive))
        if done:
            await self._end(send, answer)
        elif self._left is not None:
            await self._left()

    async def _answer(self) -> Answered:
        try:
            answer = _encoder.encode(await self._work())
            await self._service.told()
            return Answered(200, answer)
        except EXPECTED as error:
            return answered(error)
        except Exception as error:
            logger.exception("an answer that was waited for failed")
            return answered(error)

    async def _blanks(self, send: Send) -> None:
        while True:
            await asyncio.sleep(self._service.settings.heartbeat)
            if not self._started:
                await self._start(send, 200, {})
            await send({"type": "http.response.body", "body": b" ", "more_body": True})

    async def _start(self, send: Send, status: int, headers: dict[str, str]) -> None:
        self._started = True
        pairs = {"content-type": "application/json", **headers}
        raw = [(name.lower().encode(), value.encode()) for name, value in pairs.items()]
        await send({"type": "http.response.start", "status": status, "headers": raw})

    async def _end(self, send: Send, answer: Answered) -> None:
        if not self._started:
            await self._start(send, answer.status, answer.headers)
        await send({"type": "http.response.body", "body": answer.body, "more_body": False})
