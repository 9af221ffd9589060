"""Requests that a server finds half sent, or still at work, when it stops."""

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from roost.server.problems import RefusalError


class StoppingError(RefusalError):
    """The server stops before all of a request has come."""

    def __init__(self) -> None:
        words = "the server stops, and the rest of the request was not waited for"
        super().__init__(503, words, headers={"Connection": "close"})


class Stoppable:
    """An app whose requests end when the server stops.

    One whose body has not come whole gets `StoppingError` from where it reads it. One that is
    cancelled, since the server's patience is over, is cut, and that is no fault.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._waiting: set[asyncio.Timeout] = set()
        """Of those that wait for more of a body."""
        self._stopping = False

    def stop(self) -> None:
        """Wait for no body any more."""
        self._stopping = True
        for limit in self._waiting:
            limit.reschedule(asyncio.get_running_loop().time())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        whole = False

        async def receive_or_stop() -> Message:
            nonlocal whole
            if whole:
                return await receive()
            message = await self._next(receive)
            whole = not message.get("more_body", False)
            return message

        try:
            await self._app(scope, receive_or_stop, send)
        except asyncio.CancelledError:
            if not self._stopping:
                raise
            scope["state"]["abort"]()
            await asyncio.sleep(0)  # the connection notes it before it asks what became of it

    async def _next(self, receive: Receive) -> Message:
        """The next piece of a body. Raises `StoppingError`."""
        try:
            async with asyncio.timeout(0 if self._stopping else None) as limit:
                self._waiting.add(limit)
                try:
                    return await receive()
                finally:
                    self._waiting.discard(limit)
        except TimeoutError as error:
            raise StoppingError from error
