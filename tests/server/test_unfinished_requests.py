"""A server that stops while requests are half sent or at work: soon, and without a fault."""

import asyncio
import logging
import sqlite3
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from server_stage import Served, served


class Client:
    """A connection that speaks byte by byte."""

    def __init__(self, stage: Served) -> None:
        self._stage = stage
        self._reader: asyncio.StreamReader
        self._writer: asyncio.StreamWriter

    async def send(self, head: str, body: bytes = b"", *, secret: str | None = None) -> None:
        place = self._stage.place
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", place.port)
        lines = [
            f"{head} HTTP/1.1",
            f"Host: 127.0.0.1:{place.port}",
            f"Authorization: Bearer {secret or place.token}",
            "Content-Type: application/json",
        ]
        self._writer.write("\r\n".join(lines).encode() + b"\r\n" + body)
        await self._writer.drain()

    async def rest(self) -> bytes:
        """All that the server still says, up to its end of the connection."""
        try:
            async with asyncio.timeout(10):
                return await self._reader.read()
        except ConnectionError:
            return b""
        finally:
            self._writer.close()


LENGTH = b"Content-Length: 1000\r\n\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n"
REQUESTS: dict[str, tuple[str, bytes, str | None]] = {
    "a body that is not there": ("POST /session", LENGTH, None),
    "half a body": ("POST /session", LENGTH + b'{"title": "', None),
    "half a chunk": ("POST /session", CHUNKED + b'b\r\n{"title', None),
    "a route that is not there": ("POST /nowhere", LENGTH + b"{", None),
    "a secret that is not right": ("POST /session", LENGTH + b"{", "wrong"),
    "half a head": ("POST /session", b"X-Half: ", None),
}


@pytest.mark.parametrize("what", REQUESTS)
def test_half_a_request_holds_up_no_end_and_is_no_fault(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, what: str
) -> None:
    head, body, secret = REQUESTS[what]

    async def play() -> tuple[float, bytes]:
        async with served(tmp_path) as stage:
            client = Client(stage)
            await client.send(head, body, secret=secret)
            assert (await stage.http.get("/global/health")).status_code == 200
            began = time.monotonic()
        return time.monotonic() - began, await client.rest()

    with caplog.at_level(logging.WARNING):
        seconds, answer = asyncio.run(play())
    assert [record.message for record in caplog.records] == []
    assert seconds < 1.5
    if head.startswith("POST /session") and secret is None and what != "half a head":
        assert answer.startswith(b"HTTP/1.1 503"), answer
        assert b"the server stops" in answer


def test_a_request_that_is_at_work_past_all_patience_is_cut_without_a_fault(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def play() -> float:
        async with served(tmp_path, grace=1.0) as stage:
            with _locked(stage.runtime.paths.database, seconds=2.5):
                client = Client(stage)
                await client.send("POST /session", b"Content-Length: 2\r\n\r\n{}")
                assert (await stage.http.get("/global/health")).status_code == 200
                began = time.monotonic()
        assert await client.rest() == b""
        return time.monotonic() - began

    with caplog.at_level(logging.WARNING):
        seconds = asyncio.run(play())
    assert [record.message for record in caplog.records if record.exc_info] == []
    assert [record.message[:16] for record in caplog.records] == ["Cancel 1 running"]
    assert seconds < 8


@contextmanager
def _locked(path: Path, seconds: float) -> Generator[None]:
    """Let nobody else write the database until so long after the end of the block."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute("BEGIN IMMEDIATE")

    def free() -> None:
        connection.execute("ROLLBACK")
        connection.close()

    yield
    threading.Timer(seconds, free).start()  # closing the database blocks the loop
