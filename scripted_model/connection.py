"""HTTP/1.1 on one connection, small enough to break it on purpose at any byte."""

import asyncio
import socket
import struct
from http import HTTPStatus
from typing import Final
from urllib.parse import unquote, urlsplit

from msgspec import Struct

MAX_HEAD: Final = 64 * 1024
MAX_BODY: Final = 64 * 1024 * 1024
_PHRASES: Final = {each.value: each.phrase for each in HTTPStatus}
_YIELD_EVERY: Final = 64
"""Writes after which other connections get their turn."""


class ClientGoneError(Exception):
    """The client closed or reset the connection."""


class BadRequestError(Exception):
    """The bytes are no HTTP request that this server reads."""


class HttpRequest(Struct, frozen=True):
    """One request as it came."""

    method: str
    path: str
    query: str
    headers: dict[str, str]
    """Names in lower case."""
    body: bytes


class Connection:
    """Reads requests and writes responses; everything that waits notices when the client goes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._early = bytearray()
        self._pending = bytearray()
        self._writes = 0
        self.keep_alive = True
        self.is_streaming = False
        """The head of a response went out and its end did not."""
        self.sent = 0
        """Bytes of response bodies sent so far."""

    @property
    def is_closing(self) -> bool:
        """Nothing can be written any more."""
        return self._writer.transport.is_closing()

    async def read_request(self) -> HttpRequest | None:
        """The next request, or None when the client is done. Raises `BadRequestError`."""
        while (end := self._early.find(b"\r\n\r\n")) < 0:
            if len(self._early) > MAX_HEAD:
                raise BadRequestError("the head is too large")
            if not await self._fill():
                return None
        head = self._early[:end].decode("latin-1")
        del self._early[: end + 4]
        line, *fields = head.split("\r\n")
        parts = line.split(" ")
        if len(parts) != 3:
            raise BadRequestError(f"not a request line: {line[:80]!r}")
        headers = dict(_field(field) for field in fields)
        self.keep_alive = headers.get("connection", "").lower() != "close"
        body = await self._read_body(headers)
        target = urlsplit(parts[1])
        return HttpRequest(parts[0], unquote(target.path), target.query, headers, body)

    async def _fill(self) -> bool:
        try:
            data = await self._reader.read(1 << 18)
        except ConnectionError:
            return False
        self._early += data
        return bool(data)

    async def _take(self, size: int) -> bytes:
        while len(self._early) < size:
            if not await self._fill():
                raise ClientGoneError
        data = bytes(self._early[:size])
        del self._early[:size]
        return data

    async def _read_body(self, headers: dict[str, str]) -> bytes:
        if headers.get("expect", "").lower() == "100-continue":
            self._write(b"HTTP/1.1 100 Continue\r\n\r\n")
        if headers.get("transfer-encoding", "").lower() == "chunked":
            return await self._read_chunks()
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > MAX_BODY:
            raise BadRequestError(f"cannot read a body of length {length!r}")
        return await self._take(int(length))

    async def _read_chunks(self) -> bytes:
        body = bytearray()
        while True:
            while (end := self._early.find(b"\r\n")) < 0:
                if not await self._fill():
                    raise ClientGoneError
            try:
                size = int(self._early[:end].split(b";")[0], 16)
            except ValueError as error:
                raise BadRequestError("not a chunk size") from error
            del self._early[: end + 2]
            body += (await self._take(size + 2))[:-2]
            if size == 0:
                return bytes(body)
            if len(body) > MAX_BODY:
                raise BadRequestError("the body is too large")

    def respond(self, status: int, headers: dict[str, str], body: bytes) -> None:
        """A whole response."""
        length = {"content-length": str(len(body))}
        self._write(_head(status, {**length, **headers, **self._connection()}) + body)
        self.sent += len(body)

    def start(self, status: int, headers: dict[str, str]) -> None:
        """The head of a response that streams."""
        self.is_streaming = True
        chunked = {"transfer-encoding": "chunked"}
        self._write(_head(status, {**headers, **chunked, **self._connection()}))

    def _connection(self) -> dict[str, str]:
        return {} if self.keep_alive else {"connection": "close"}

    async def stream(self, data: bytes, chunk: int) -> None:
        """Send `data` as one HTTP chunk, or re-cut into chunks of `chunk` bytes each."""
        if chunk <= 0:
            self._write(_chunk(data))
        else:
            self._pending += data
            whole = len(self._pending) // chunk * chunk
            cuts = range(0, whole, chunk)
            self._write(b"".join(_chunk(bytes(self._pending[at : at + chunk])) for at in cuts))
            del self._pending[:whole]
        self.sent += len(data)
        self._writes += 1
        await self._drain()
        if self._writes % _YIELD_EVERY == 0:
            await asyncio.sleep(0)

    def flush(self) -> None:
        """Send what is left over from cutting."""
        if self._pending:
            self._write(_chunk(bytes(self._pending)))
            self._pending.clear()

    def finish(self) -> None:
        """End a response that streams."""
        self.flush()
        self._write(b"0\r\n\r\n")
        self.is_streaming = False

    def _write(self, data: bytes) -> None:
        if self.is_closing:
            raise ClientGoneError
        if data:
            self._writer.write(data)

    async def pause(self, seconds: float | None) -> None:
        """Be silent for `seconds`, or for ever. Raises `ClientGoneError` as soon as it goes."""
        self.flush()
        try:
            async with asyncio.timeout(seconds):
                while await self._fill():
                    pass
        except TimeoutError:
            return
        raise ClientGoneError

    async def wait(self, event: asyncio.Event) -> None:
        """Be silent until `event`. Raises `ClientGoneError` when the client goes before."""
        opened = asyncio.ensure_future(event.wait())
        gone = asyncio.ensure_future(self.pause(None))
        try:
            await asyncio.wait({opened, gone}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            opened.cancel()
            gone.cancel()
            results = await asyncio.gather(opened, gone, return_exceptions=True)
        if results[0] is not True:
            raise ClientGoneError

    async def drop(self) -> None:
        """Close the connection once everything written is on its way."""
        await self._settle()
        self._writer.close()

    async def reset(self) -> None:
        """Reset the connection (RST) once everything written is on its way."""
        await self._settle()
        link = self._writer.get_extra_info("socket")
        link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()

    async def _settle(self) -> None:
        self.keep_alive = False
        self.flush()
        self._writer.transport.set_write_buffer_limits(high=0)
        await self._drain()

    async def _drain(self) -> None:
        try:
            await self._writer.drain()
        except ConnectionError as error:
            raise ClientGoneError from error

    async def close(self) -> None:
        """Close the connection if it is still open."""
        self._writer.close()
        try:
            await self._writer.wait_closed()
        except ConnectionError:
            return


def _field(line: str) -> tuple[str, str]:
    name, colon, value = line.partition(":")
    if not colon:
        raise BadRequestError(f"not a header: {line[:80]!r}")
    return name.strip().lower(), value.strip()


def _head(status: int, headers: dict[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} {_PHRASES.get(status, 'Unknown')}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)
