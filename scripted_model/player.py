"""Plays a reply over a connection: content, silence and faults, in the order of the script."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Literal, assert_never

from msgspec import Struct

from scripted_model.answer import arguments_text
from scripted_model.connection import ClientGoneError, Connection
from scripted_model.scenario import (
    Barrier,
    Begin,
    Call,
    Delay,
    Drop,
    Fail,
    Finish,
    NoEnd,
    Parallel,
    Piece,
    Raw,
    Reasoning,
    Reply,
    Reset,
    Stall,
    Status,
    Text,
    Usage,
    cut,
)
from scripted_model.violations import error_body
from scripted_model.wire import Wire

Outcome = Literal["done", "status", "failed", "no-end", "dropped", "reset", "client-gone"]


class Stage(Struct, frozen=True):
    """What a reply is played on."""

    connection: Connection
    wire: Wire
    stream: bool
    """The client asked for events; else it gets one JSON object at the end."""
    headers: dict[str, str]
    barrier: Callable[[str], asyncio.Event]
    """Notes that somebody waits for a name, and gives the event to wait for."""
    on_finish: Callable[[], None]
    """Called when all content is said, just before the client can know it."""
    on_outcome: Callable[[Outcome], None]
    """Called with the end that the reply comes to, just before the client can know it."""


class Player:
    """Plays one reply."""

    def __init__(self, stage: Stage, reply: Reply) -> None:
        self._stage = stage
        self._reply = reply
        self._begun = False
        self._finished = False
        self._reason = ""
        self._raw = b""

    async def play(self) -> Outcome:
        """Play the reply to its end, whatever end that is."""
        try:
            for piece in self._reply.pieces:
                if (outcome := await self._piece(piece)) is not None:
                    return outcome
            return await self._end()
        except ClientGoneError:
            return "client-gone"

    async def _piece(self, piece: Piece) -> Outcome | None:
        match piece:
            case Text() | Reasoning() | Call() | Parallel():
                await self._say(piece)
            case Begin():
                await self._begin()
            case Delay():
                await self._stage.connection.pause(piece.seconds)
            case Barrier():
                await self._stage.connection.wait(self._stage.barrier(piece.name))
            case Raw():
                await self._send_raw(piece.data)
            case Usage():
                pass  # read before the answer began
            case Finish():
                await self._finish(piece.reason)
            case Stall():
                await self._stage.connection.pause(None)
            case Status() | Fail() | Drop() | Reset() | NoEnd():
                return await self._break(piece)
            case _:
                assert_never(piece)
        return None

    async def _break(self, piece: Status | Fail | Drop | Reset | NoEnd) -> Outcome:
        match piece:
            case Status():
                return self._status(piece)
            case Fail():
                return await self._fail(piece)
            case Drop():
                await self._drop(piece)
                return "dropped"
            case Reset():
                self._stage.on_outcome("reset")
                await self._stage.connection.reset()
                return "reset"
            case NoEnd():
                return await self._no_end()

    async def _say(self, piece: Text | Reasoning | Call | Parallel) -> None:
        await self._begin()
        wire = self._stage.wire
        match piece:
            case Text():
                events = wire.text(piece, piece.chunks or _repeated(piece))
            case Reasoning():
                events = wire.reasoning(piece, piece.chunks or cut(piece.text, piece.size))
            case Call():
                events = wire.calls([(piece, _argument_deltas(piece))])
            case Parallel():
                events = wire.calls([(call, _argument_deltas(call)) for call in piece.calls])
        await self._send(events, pace=self._reply.pace)

    async def _begin(self) -> None:
        if self._begun:
            return
        self._begun = True
        events = self._stage.wire.begin()
        if self._stage.stream:
            stream_headers = {
                "content-type": "text/event-stream; charset=utf-8",
                "cache-control": "no-cache",
            }
            headers = {**stream_headers, **self._stage.headers, **self._reply.headers}
            self._stage.connection.start(200, headers)
            await self._send(events)

    async def _send(self, events: Iterable[bytes], pace: float = 0.0) -> None:
        connection, chunk = self._stage.connection, self._reply.wire_chunk
        for event in events:
            if self._stage.stream:
                await connection.stream(self._line_ends(event), chunk)
            if pace:
                await connection.pause(pace)

    def _line_ends(self, event: bytes) -> bytes:
        # JSON has no line ends of its own, so every one belongs to the event stream.
        if self._reply.newline == "\n":
            return event
        return event.replace(b"\n", self._reply.newline.encode())

    async def _send_raw(self, data: bytes) -> None:
        await self._begin()
        self._raw += data
        if self._stage.stream:
            await self._stage.connection.stream(data, self._reply.wire_chunk)

    async def _finish(self, reason: str) -> None:
        await self._begin()
        self._finished = True
        self._reason = reason
        if self._stage.stream:
            events = self._stage.wire.finish(reason)
            self._stage.on_finish()
            await self._send(events)

    async def _end(self) -> Outcome:
        if not self._finished:
            calls = bool(self._stage.wire.answer.calls)
            await self._finish("tool-calls" if calls else "stop")
        if self._stage.stream:
            self._stage.on_outcome("done")
            await self._send(self._stage.wire.end())
            self._stage.connection.finish()
            return "done"
        body = self._raw or self._stage.wire.body(self._reason)
        self._stage.on_finish()
        self._stage.on_outcome("done")
        self._stage.connection.respond(200, self._json_headers(), body)
        return "done"

    async def _no_end(self) -> Outcome:
        await self._begin()
        self._stage.on_outcome("no-end")
        if self._stage.stream:
            self._stage.connection.finish()
            return "no-end"
        # Without a stream the nearest thing is a body that is cut off.
        body = self._stage.wire.body(self._reason or "stop")
        self._stage.connection.keep_alive = False
        self._stage.connection.start(200, self._json_headers())
        await self._stage.connection.stream(body[: len(body) // 2], 0)
        self._stage.connection.finish()
        return "no-end"

    async def _drop(self, piece: Drop) -> None:
        connection = self._stage.connection
        if piece.cut:
            await self._begin()
        if piece.cut and self._stage.stream:
            event = b"".join(self._stage.wire.text(Text(), ("cut off \u2026 here",)))
            await connection.stream(self._line_ends(event)[: piece.cut], self._reply.wire_chunk)
        self._stage.on_outcome("dropped")
        await connection.drop()

    async def _fail(self, piece: Fail) -> Outcome:
        await self._begin()
        self._stage.on_outcome("failed")
        events = self._stage.wire.fail(piece)
        if self._stage.stream:
            await self._send(events)
            self._stage.connection.finish()
        else:
            dialect = self._stage.wire.answer.request.dialect
            body = error_body(dialect, 500, piece.message, code=piece.code)
            self._stage.connection.respond(500, self._json_headers(), body)
        return "failed"

    def _status(self, piece: Status) -> Outcome:
        if self._begun:
            raise ValueError("a Status cannot come after content")
        dialect = self._stage.wire.answer.request.dialect
        body = error_body(dialect, piece.code) if piece.body is None else piece.body.encode()
        self._stage.on_outcome("status")
        self._stage.connection.respond(piece.code, {**self._json_headers(), **piece.headers}, body)
        return "status"

    def _json_headers(self) -> dict[str, str]:
        json = {"content-type": "application/json"}
        return {**json, **self._stage.headers, **self._reply.headers}


def _repeated(piece: Text) -> tuple[str, ...]:
    return cut(piece.text * piece.repeat, piece.size)


def _argument_deltas(call: Call) -> tuple[str, ...]:
    return call.chunks or cut(arguments_text(call), call.size)
