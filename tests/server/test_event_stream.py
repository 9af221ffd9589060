"""Event streams: order, folders, gaps, readers that do not read, clients that are gone."""

import asyncio
import gc
import json
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

from server_stage import Served, served

from roost.events.types import Delta, DeltaPlace, Event
from scripted_model.scenario import Barrier, scenario, step


def on_server(folder: Path, check: Callable[[Served], Awaitable[None]], **more: Any) -> None:
    async def run() -> None:
        async with served(folder, **more) as stage:
            await check(stage)

    asyncio.run(run())


async def until(events: AsyncIterator[dict[str, Any]], type_: str) -> list[dict[str, Any]]:
    """The events up to the first of a type, it included."""
    seen: list[dict[str, Any]] = []
    async with asyncio.timeout(10):
        async for event in events:
            seen.append(event)
            if event.get("payload", event)["type"] == type_:
                return seen
    raise AssertionError("the stream ended")


def types(events: list[dict[str, Any]]) -> list[str]:
    return [event.get("payload", event)["type"] for event in events]


def delta(session_id: str, text: str) -> Delta:
    return Delta(DeltaPlace(session_id, "msg_1", "prt_1"), text)


class RawStream:
    """A connection that asks for the stream and reads only when told to."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    @classmethod
    async def open(cls, stage: Served, path: str = "/event", **headers: str) -> "RawStream":
        reader, writer = await asyncio.open_connection("127.0.0.1", stage.place.port, limit=2**16)
        lines = [
            f"GET {path} HTTP/1.1",
            f"Host: 127.0.0.1:{stage.place.port}",
            f"Authorization: Bearer {stage.place.token}",
            *(f"{name}: {value}" for name, value in headers.items()),
        ]
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())
        await writer.drain()
        return cls(reader, writer)

    async def frames(self, count: int) -> list[list[bytes]]:
        """The next frames, as lines."""
        found: list[list[bytes]] = []
        lines: list[bytes] = []
        async with asyncio.timeout(5):
            while len(found) < count:
                line = (await self.reader.readline()).strip()
                if line.startswith((b"data:", b"id:")):
                    lines.append(line)
                elif not line and lines:
                    found.append(lines)
                    lines = []
        return found

    def close(self) -> None:
        self.writer.transport.abort()


def test_a_turn_is_told_in_the_order_in_which_it_happened(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        session_id = await stage.session()
        async with stage.events() as events:
            await stage.prompt(session_id, "ping")
            seen = await until(events, "session.idle")
        assert seen[0] == {"id": seen[0]["id"], "type": "server.connected", "properties": {}}
        told = types(seen)
        order = ["message.updated", "session.status", "message.part.delta", "session.idle"]
        places = [told.index(name) for name in order]
        assert places == sorted(places)
        texts = [e for e in seen if e["type"] == "message.part.delta"]
        assert "".join(e["properties"]["delta"] for e in texts) == "pong"
        whole = [e for e in seen if e["type"] == "message.part.updated"]
        assert any(e["properties"]["part"].get("text") == "pong" for e in whole)
        assert all(e["id"].startswith("evt_") for e in seen)

    on_server(tmp_path, check)


def test_the_global_stream_puts_each_event_in_an_envelope(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        async with stage.events("/global/event") as events:
            session_id = await stage.session()
            first, made = await until(events, "session.created")
        assert set(first) == {"payload"}
        assert made["directory"] == str(stage.project)
        assert made["project"]
        assert made["payload"]["properties"]["info"]["id"] == session_id

    on_server(tmp_path, check)


def test_a_folder_hears_only_of_itself(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        other = stage.project / "below"
        other.mkdir()
        there = (await stage.runtime.create_session(other)).id
        here = await stage.session()
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        hidden = (await stage.runtime.create_session(elsewhere)).id
        async with stage.events() as narrow, stage.events("/global/event") as wide:
            for session_id in (hidden, there, here):
                event = Event("test.news", {"sessionID": session_id}, session_id=session_id)
                stage.runtime.bus.publish([event])
            stage.runtime.bus.publish([Event("test.end", {})])
            heard = await until(narrow, "test.end")
            heard_wide = await until(wide, "test.end")
        assert [e["properties"]["sessionID"] for e in heard[1:-1]] == [here]
        shown = [e["payload"]["properties"]["sessionID"] for e in heard_wide[1:-1]]
        assert shown == [there, here]

    on_server(tmp_path, check)


def test_a_deleted_session_is_still_told_of(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        session_id = await stage.session()
        async with stage.events() as events:
            await stage.http.delete(f"/session/{session_id}")
            seen = await until(events, "session.deleted")
        assert seen[-1]["properties"]["sessionID"] == session_id

    on_server(tmp_path, check)


def test_heartbeats_come_as_events_whatever_else_comes(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        async with stage.events() as events:
            seen = await until(events, "server.heartbeat")
            assert types(seen) == ["server.connected", "server.heartbeat"]
            for _ in range(60):
                stage.runtime.bus.publish([Event("test.news", {})])
                await asyncio.sleep(0.005)
            assert "test.news" in types(await until(events, "server.heartbeat"))

    on_server(tmp_path, check, heartbeat=0.15)


def test_the_first_delta_of_a_quiet_stream_goes_out_at_once(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        session_id = await stage.session()
        stream = await RawStream.open(stage)
        await stream.frames(1)
        delays: list[float] = []
        for _ in range(20):
            await asyncio.sleep(0.04)
            start = time.monotonic()
            stage.runtime.bus.publish([delta(session_id, "x")])
            await stream.frames(1)
            delays.append(time.monotonic() - start)
        assert sorted(delays)[10] < 0.012
        stream.close()

    on_server(tmp_path, check)


def test_deltas_that_come_fast_are_joined(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        session_id = await stage.session()
        async with stage.events() as events:
            await until(events, "server.connected")
            words = [f"{number} " for number in range(1_000)]
            for word in words:
                stage.runtime.bus.publish([delta(session_id, word)])
                if len(word) == 4 and word.endswith("0 "):
                    await asyncio.sleep(0.001)
            stage.runtime.bus.publish([Event("test.end", {})])
            seen = await until(events, "test.end")
        assert len(seen) < 60
        assert "".join(e["properties"]["delta"] for e in seen[:-1]) == "".join(words)

    on_server(tmp_path, check)


def test_a_client_that_comes_back_hears_what_it_missed(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        session_id = await stage.session()
        stream = await RawStream.open(stage)
        await stream.frames(1)
        stage.runtime.bus.publish([Event("test.one", {})])
        ((identifier, _),) = await stream.frames(1)
        stream.close()
        await stage.prompt(session_id, "ping")
        again = await RawStream.open(stage, **{"Last-Event-ID": identifier.split()[1].decode()})
        frames = await again.frames(6)
        kinds = [json.loads(lines[-1].removeprefix(b"data: "))["type"] for lines in frames]
        assert kinds[:2] == ["server.connected", "inbox.arrived"]
        assert "server.resync" not in kinds
        again.close()

    on_server(tmp_path, check)


def test_a_client_that_comes_back_too_late_is_told_to_read_again(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        async with stage.events(**{"Last-Event-ID": "evt_long_ago"}) as events:
            assert types(await until(events, "server.resync")) == [
                "server.connected",
                "server.resync",
            ]

    on_server(tmp_path, check)


def test_a_client_that_comes_back_while_text_streams_is_told_to_read_again(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        session_id = await stage.session()
        async with stage.events() as events:
            waiting = asyncio.create_task(stage.prompt(session_id, "ping"))
            seen = await until(events, "message.part.delta")
        kept = [e["id"] for e in seen if e["type"] == "message.updated"]
        async with stage.events(**{"Last-Event-ID": kept[-1]}) as events:
            await until(events, "server.resync")
            stage.model.release("gate")
            last = await until(events, "session.idle")
        await waiting
        texts = [e["properties"]["part"] for e in last if e["type"] == "message.part.updated"]
        assert any(part.get("text") == "first second" for part in texts)
        assert (await stage.texts(session_id))[-1] == "first second"

    script = scenario(step("first ", Barrier("gate"), "second"))
    on_server(tmp_path, check, script=script)


def resident() -> int:
    """Bytes of memory this process holds."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


async def flood(stage: Served, session_id: str, megabytes: int) -> float:
    """Publish so much text; the longest that `/global/health` took meanwhile, in seconds."""
    longest = 0.0
    text = "x" * 1_000
    for _ in range(megabytes):
        for _ in range(20):
            stage.runtime.bus.publish(delta(session_id, text) for _ in range(50))
            await asyncio.sleep(0)
        start = time.monotonic()
        assert (await stage.http.get("/global/health")).status_code == 200
        longest = max(longest, time.monotonic() - start)
    return longest


def test_a_reader_that_never_reads_costs_bounded_memory(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        session_id = await stage.session()
        stream = await RawStream.open(stage)
        await flood(stage, session_id, 12)
        gc.collect()
        before = resident()
        longest = await flood(stage, session_id, 30)
        gc.collect()
        assert resident() - before < 12 * 1024 * 1024
        assert longest < 0.5
        # The one who reads after all is told that it missed something.
        rest = b""
        async with asyncio.timeout(10):
            while b'"server.resync"' not in rest:
                rest = rest[-100:] + await stream.reader.read(2**20)
        stream.close()

    on_server(tmp_path, check)


def test_a_reader_that_takes_nothing_for_long_is_cut_off(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        session_id = await stage.session()
        stream = await RawStream.open(stage)
        await flood(stage, session_id, 12)
        async with asyncio.timeout(10):
            while stage.runtime.bus._subscriptions:
                stage.runtime.bus.publish([delta(session_id, "x" * 100_000)])
                await asyncio.sleep(0.05)
        assert len(await stage.texts(session_id)) == 0
        stream.close()

    on_server(tmp_path, check, write_timeout=0.3)


def open_sockets() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_clients_that_vanish_leave_nothing_behind(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        session_id = await stage.session()

        async def rounds(count: int) -> None:
            for _ in range(count):
                streams = [await RawStream.open(stage) for _ in range(10)]
                stage.runtime.bus.publish([delta(session_id, "x" * 10_000)])
                for stream in streams:
                    stream.close()
            async with asyncio.timeout(10):
                while stage.runtime.bus._subscriptions:
                    await asyncio.sleep(0.01)

        await rounds(5)
        gc.collect()
        before, sockets = resident(), open_sockets()
        await rounds(20)
        gc.collect()
        assert resident() - before < 4 * 1024 * 1024
        await asyncio.sleep(0.1)
        assert open_sockets() <= sockets

    on_server(tmp_path, check)


def test_only_so_many_streams_are_open_at_once(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        streams = [await RawStream.open(stage) for _ in range(2)]
        for stream in streams:
            await stream.frames(1)
        refused = await stage.http.get("/event")
        assert refused.status_code == 429
        streams[0].close()
        streams[1].close()
        async with asyncio.timeout(5):
            while stage.runtime.bus._subscriptions:
                await asyncio.sleep(0.01)
        async with stage.events() as events:
            await until(events, "server.connected")

    on_server(tmp_path, check, streams=2)


def test_a_stopping_server_says_goodbye(tmp_path: Path) -> None:
    async def run() -> None:
        async with served(tmp_path) as stage:
            stream = await RawStream.open(stage)
            await stream.frames(1)
            start = time.monotonic()
        assert time.monotonic() - start < 2
        rest = await stream.reader.read()
        assert b"global.disposed" in rest
        assert rest.endswith(b"0\r\n\r\n")
        stream.close()

    asyncio.run(run())


def test_a_stopping_server_does_not_wait_for_who_never_reads(tmp_path: Path) -> None:
    async def run() -> None:
        async with served(tmp_path, grace=1.0) as stage:
            session_id = await stage.session()
            stream = await RawStream.open(stage)
            await flood(stage, session_id, 12)
            start = time.monotonic()
        assert time.monotonic() - start < 4
        stream.close()

    asyncio.run(run())


def test_an_answer_comes_behind_the_events_that_led_to_it(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        seen: list[str] = []
        connected = asyncio.Event()

        async def follow() -> None:
            async with stage.events() as events:
                async for event in events:
                    seen.append(event["type"])
                    connected.set()

        following = asyncio.create_task(follow())
        await connected.wait()
        for turns in range(1, 6):
            await stage.prompt(await stage.session(), "go")
            for _ in range(200):  # what was sent is read, and no time passes
                await asyncio.sleep(0)
            assert seen.count("session.idle") == turns
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)

    on_server(tmp_path, check)
