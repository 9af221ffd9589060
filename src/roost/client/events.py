"""The event stream as a client sees it: it goes on whatever the connection does.

Silence for three heartbeats counts as a lost connection. After a loss the server is asked for what
was missed; when that cannot be had, an event of type `server.resync` says: read the state again.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Final

import msgspec
from msgspec import Struct

from roost.client.connection import Connection
from roost.client.models import RESYNC, RateError, ServerEvent, UnreachableError

FIRST_PAUSE: Final = 0.1
LONGEST_PAUSE: Final = 5.0
"""Seconds between two tries to connect."""
_MOST_BYTES: Final = 64 * 1024 * 1024
_HEARTBEAT: Final = "server.heartbeat"
_CONNECTED: Final = "server.connected"


class _Envelope(Struct):
    payload: ServerEvent
    directory: str | None = None


_event = msgspec.json.Decoder(ServerEvent)
_envelope = msgspec.json.Decoder(_Envelope)


class Frames:
    """Frames of a stream from chunks cut anywhere: the id of each, if it has one, and its data."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, chunk: bytes) -> list[tuple[str | None, bytes]]:
        """The frames that `chunk` completes. Raises `UnreachableError` for one without end."""
        head, ended, self._rest = (self._rest + chunk).rpartition(b"\n\n")
        if len(self._rest) > _MOST_BYTES:
            raise UnreachableError("the server sends an event without end")
        return [_frame(block) for block in head.split(b"\n\n")] if ended else []


def _frame(block: bytes) -> tuple[str | None, bytes]:
    identifier: str | None = None
    data: list[bytes] = []
    for line in block.split(b"\n"):
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"id":
            identifier = value.decode(errors="replace")
        elif name == b"data":
            data.append(value)
    return identifier, b"\n".join(data)


def _plain(data: bytes) -> ServerEvent:
    return _event.decode(data)


def _enveloped(data: bytes) -> ServerEvent:
    return _envelope.decode(data).payload


def _ignored(_: bool) -> None:
    pass


class EventFollower:
    """Follows one stream. `connected` is told when the connection comes and goes."""

    def __init__(
        self, connection: Connection, path: str, connected: Callable[[bool], None] | None = None
    ) -> None:
        self._connection = connection
        self._path = path
        self._connected = connected or _ignored
        self._decode = _enveloped if path == "/global/event" else _plain
        self._last: str | None = None
        self._ever = False
        self._pause = FIRST_PAUSE

    async def events(self) -> AsyncGenerator[ServerEvent]:
        """Every event but heartbeats, without end.

        Raises what the server refuses with (`DeniedError`), but never for a lost connection.
        """
        while True:
            try:
                async with aclosing(self._one_connection()) as events:
                    async for event in events:
                        yield event
            except UnreachableError:
                pass
            except RateError as error:
                self._pause = max(self._pause, error.retry_after)
            self._connected(False)
            await asyncio.sleep(self._pause)
            self._pause = min(LONGEST_PAUSE, self._pause * 2)

    async def _one_connection(self) -> AsyncGenerator[ServerEvent]:
        import httpx2

        headers = {"last-event-id": self._last} if self._last else {}
        frames = Frames()
        async with self._connection.open("GET", self._path, headers=headers) as response:
            self._connected(True)
            if self._ever and self._last is None:
                yield ServerEvent(RESYNC, {})
            self._ever = True
            try:
                async for chunk in response.aiter_raw():
                    for identifier, data in frames.feed(chunk):
                        event = self._decode(data)
                        self._pause = FIRST_PAUSE
                        if event.type != _HEARTBEAT:
                            yield event
                        self._last = identifier or self._last
            except httpx2.TransportError as error:
                raise UnreachableError(f"the event stream was cut: {error}") from error
            except msgspec.MsgspecError as error:
                raise UnreachableError(f"the event stream cannot be read: {error}") from error
