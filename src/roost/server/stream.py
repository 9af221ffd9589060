"""Server-sent events: what happened, as frames of JSON, at the pace of the client.

The first event of a quiet stream goes out at once, later ones together every 16 ms. A client that
reads slowly costs bounded memory: the bus drops what does not fit and says `server.resync`, and one
that takes nothing for long is cut off.
"""

import asyncio
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import Final

import msgspec
from starlette.types import Receive, Send

from roost.actors import store as actors
from roost.events.bus import Subscription
from roost.events.types import Delta, Event, resync
from roost.server.directories import Place
from roost.server.endpoint import Streamed
from roost.server.faces import View
from roost.server.service import Service
from roost.server.waiting import gone, until_first

WINDOW: Final = 0.016
"""Seconds in which news is gathered into one write."""
WRITE_BYTES: Final = 64 * 1024
"""A write is handed to the connection in pieces of about this size."""
_HEADERS: Final = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
]
_CONNECTED: Final = "server.connected"
_HEARTBEAT: Final = "server.heartbeat"
_UNKEPT: Final = {_CONNECTED, _HEARTBEAT, "server.resync", "global.disposed"}
"""Events of one stream alone, which no other stream could go on from."""


class EventStream(Streamed):
    """The events of one folder (`/event`), or with `envelopes` of all served ones
    (`/global/event`).
    """

    media_type = "text/event-stream"

    def __init__(
        self,
        service: Service,
        *,
        directory: str,
        envelopes: bool,
        view: View,
        after: str | None,
        abort: Callable[[], None],
    ) -> None:
        """`after` is the id of the last event seen; `abort` cuts the connection."""
        self._service = service
        self._abort = abort
        self._directory = directory
        self._envelopes = envelopes
        self._view: View = view
        self._after = after
        self._heads: dict[str, bytes] = {}
        self._news: Subscription | None = None
        self._sending = False

    async def send(self, receive: Receive, send: Send) -> None:
        """Send events until the client goes away or the server stops."""
        self._service.streams += 1
        try:
            await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
            writer = _Writer(send, self._service.settings.write_timeout)
            await until_first(self._pump(writer), gone(receive), self._service.closing.wait())
            if self._service.closing.is_set():
                await writer.end(self._frame(Event("global.disposed", {})))
        except StalledError:
            self._abort()
            await gone(receive)
        finally:
            self._service.streams -= 1

    async def _pump(self, writer: "_Writer") -> None:
        heartbeat = self._service.settings.heartbeat
        clock = asyncio.get_running_loop().time
        with self._subscribed() as news:
            await writer.write([self._frame(Event(_CONNECTED, {}))])
            if self._after is not None and await self._text_streams():
                await writer.write([self._frame(resync())])
            beat = clock() + heartbeat
            while True:
                batch = await _until(beat, news)
                self._sending = True
                frames = await self._frames(batch)
                if clock() >= beat:
                    frames.append(self._frame(Event(_HEARTBEAT, {})))
                    beat = clock() + heartbeat
                await writer.write(frames)
                self._sending = False
                await asyncio.sleep(WINDOW)

    @contextmanager
    def _subscribed(self) -> Generator[Subscription]:
        bus, followers = self._service.runtime.bus, self._service.followers
        with bus.subscribe(self._wants, after=self._after) as news:
            self._news = news
            followers.add(self)
            try:
                yield news
            finally:
                followers.discard(self)

    @property
    def is_behind(self) -> bool:
        """Whether something happened that was not sent yet."""
        return self._sending or (self._news is not None and self._news.waits)

    async def _text_streams(self) -> bool:
        """Whether deltas may have been missed: they are not kept for clients that come back."""
        return bool(await self._service.runtime.database.read(actors.not_idle))

    def _wants(self, event: Event) -> bool:
        """What the bus asks for each event. One whose session was never seen is decided later."""
        if event.session_id is None:
            return self._envelopes or event.directory in {"", self._directory}
        place = self._service.directories.known(event.session_id)
        return place is None or self._fits(place)

    def _fits(self, place: Place) -> bool:
        return place.served and (self._envelopes or place.is_shown_in(self._directory))

    async def _frames(self, batch: Iterable[Event]) -> list[bytes]:
        frames: list[bytes] = []
        for event in batch:
            head = self._heads.get(event.session_id or event.directory)
            if head is None:
                head = await self._head(event)
            if head is not None:
                frames += await self._told(event, head)
        return frames

    async def _told(self, event: Event, head: bytes) -> list[bytes]:
        if self._view == "actors":
            return [self._frame(event, head)]
        faces = await self._service.faces.shown(event)
        return [self._framed(_kept_id(event) and one.id, one.data, head) for one in faces]

    async def _head(self, event: Event) -> bytes | None:
        """How a frame begins for news of a session; None if the client is not to have it."""
        if event.session_id is None:
            place = Place(event.directory, "", served=True)
        else:
            place = await self._place(event.session_id, event.directory)
            if place is None or not self._fits(place):
                return None
        head = _envelope(place) if self._envelopes else b""
        self._heads[event.session_id or event.directory] = head
        return head

    async def _place(self, session_id: str, directory: str) -> Place | None:
        directories = self._service.directories
        place = await directories.place(session_id)
        if place is None and directory:  # the session is deleted already
            place = Place(directory, "", await directories.serves(directory, ""))
        return place

    def _frame(self, event: Event, head: bytes | None = None) -> bytes:
        """An event as it is sent."""
        if head is None:
            head = _envelope(Place("", "", served=True)) if self._envelopes else b""
        return self._framed(_kept_id(event), event.encoded, head)

    def _framed(self, identifier: str | None, data: bytes, head: bytes) -> bytes:
        tail = b"}\n\n" if self._envelopes else b"\n\n"
        if identifier is None:
            return b"".join((b"data: ", head, data, tail))
        return b"".join((b"id: ", identifier.encode(), b"\ndata: ", head, data, tail))


def _kept_id(event: Event) -> str | None:
    """The id of an event that the bus can go on from."""
    return None if isinstance(event, Delta) or event.type in _UNKEPT else event.id


async def _until(beat: float, news: Subscription) -> list[Event]:
    """What comes until `beat`; nothing if nothing does."""
    try:
        async with asyncio.timeout_at(beat):
            return await news.batch()
    except TimeoutError:
        return []


def _envelope(place: Place) -> bytes:
    """The beginning of a frame of `/global/event`, up to the event."""
    fields = {"directory": place.directory} if place.directory else {}
    if place.project_id:
        fields["project"] = place.project_id
    start = msgspec.json.encode(fields)[:-1]
    return start + (b',"payload":' if fields else b'"payload":')


class StalledError(Exception):
    """The client takes nothing any more."""


class _Writer:
    """Writes to one client, in pieces, and not for ever."""

    def __init__(self, send: Send, timeout: float) -> None:
        self._send = send
        self._timeout = timeout

    async def write(self, frames: list[bytes]) -> None:
        """Send `frames`. Raises `StalledError`."""
        piece: list[bytes] = []
        size = 0
        for frame in frames:
            piece.append(frame)
            size += len(frame)
            if size >= WRITE_BYTES:
                await self._put(b"".join(piece))
                piece, size = [], 0
        if piece:
            await self._put(b"".join(piece))

    async def _put(self, data: bytes, *, more: bool = True) -> None:
        try:
            async with asyncio.timeout(self._timeout):
                await self._send({"type": "http.response.body", "body": data, "more_body": more})
        except TimeoutError as error:
            raise StalledError from error

    async def end(self, frame: bytes) -> None:
        """Send the last frame. Raises `StalledError`."""
        await self._put(frame, more=False)
