"""Sends an answer to a client that is still sending.

When a connection is closed while bytes of it are unread, the system resets it, and the client sees
the reset in place of the answer. So the answer is sent at once, and what the client still sends is
taken and dropped, within bounds, before the connection is closed.
"""

import asyncio
from contextlib import suppress
from typing import Final

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from roost.server.stopping import StoppingError

LINGER_SECONDS: Final = 5.0
LINGER_BYTES: Final = 1024 * 1024 * 1024
"""How long, and for how much, a client is listened to that was answered before its body ended."""


async def answer_early(answer: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    """Send `answer`, which must close the connection, to a request whose body was not read."""
    if not _has_body(scope):
        await answer(scope, receive, send)
        return

    async def send_but_not_end(message: Message) -> None:
        if message["type"] == "http.response.body":
            message = {**message, "more_body": True}
        await send(message)

    await answer(scope, receive, send_but_not_end)
    with suppress(TimeoutError, StoppingError):
        async with asyncio.timeout(LINGER_SECONDS):
            await _drop(receive)
    await send({"type": "http.response.body", "body": b"", "more_body": False})


def _has_body(scope: Scope) -> bool:
    headers = Headers(scope=scope)
    return headers.get("content-length", "0") != "0" or "transfer-encoding" in headers


async def _drop(receive: Receive) -> None:
    left = LINGER_BYTES
    while left > 0:
        message = await receive()
        if message["type"] == "http.disconnect" or not message.get("more_body", False):
            return
        left -= len(message.get("body", b""))
