"""The event stream through bad connections: in all cases the client ends where the store is."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from server_stage import Served, served

from roost.client import connection as connections
from roost.client import events as following
from roost.client.client import Client
from roost.client.models import RESYNC, ServerEvent, ServerPlace
from roost.core.errors import DeniedError
from roost.events.types import Event
from roost.server.models import ServerSettings
from scripted_model.scenario import Barrier, scenario, step

SILENCE = 0.4


class Proxy:
    """Stands between a client and a server, and spoils connections."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._writers: set[asyncio.StreamWriter] = set()
        self.silent = False
        """Nothing passes any more, and nobody is told."""
        self.count = 0
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.count += 1
        there, back = await asyncio.open_connection("127.0.0.1", self._target)
        self._writers |= {writer, back}
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._pass(reader, back))
                group.create_task(self._pass(there, writer))
        finally:
            for one in (writer, back):
                one.transport.abort()
                self._writers.discard(one)

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(65_536):
                if not self.silent:
                    # The name in the request is the proxy's; the server wants its own.
                    port = self.url.rpartition(":")[2].encode()
                    writer.write(data.replace(b":" + port, f":{self._target}".encode()))
                    await writer.drain()
        writer.transport.abort()

    def cut(self) -> None:
        """Close every connection."""
        for writer in list(self._writers):
            writer.transport.abort()


@asynccontextmanager
async def behind_proxy(stage: Served) -> AsyncGenerator[tuple[Proxy, Client]]:
    proxy = Proxy(stage.place.port or 0)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    proxy.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    place = ServerPlace(proxy.url, stage.place.token, directory=str(stage.project))
    try:
        async with Client(place) as client:
            yield proxy, client
    finally:
        server.close()
        proxy.cut()
        await asyncio.sleep(0)


class Heard:
    """Collects events in the background."""

    def __init__(self, events: AsyncGenerator[ServerEvent]) -> None:
        self._events = events
        self.events: list[ServerEvent] = []
        self._task = asyncio.create_task(self._collect())

    async def _collect(self) -> None:
        async for event in self._events:
            self.events.append(event)

    def types(self) -> list[str]:
        return [event.type for event in self.events]

    async def until(self, type_: str, count: int = 1) -> None:
        async with asyncio.timeout(10):
            while self.types().count(type_) < count:
                await asyncio.sleep(0.01)

    async def stop(self) -> None:
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task
        await self._events.aclose()


def publish(stage: Served, name: str) -> None:
    stage.runtime.bus.publish([Event(name, {})])


def test_events_missed_while_the_connection_was_cut_are_heard_after(tmp_path: Path) -> None:
    async def run() -> None:
        async with served(tmp_path) as stage, behind_proxy(stage) as (proxy, client):
            states: list[bool] = []
            heard = Heard(client.events(connected=states.append))
            await heard.until("server.connected")
            publish(stage, "test.one")
            await heard.until("test.one")
            proxy.cut()
            publish(stage, "test.two")
            publish(stage, "test.three")
            await heard.until("test.three")
            publish(stage, "test.four")
            await heard.until("test.four")
            told = [name for name in heard.types() if name.startswith("test.")]
            assert told == ["test.one", "test.two", "test.three", "test.four"]
            assert states == [True, False, True]
            await heard.stop()

    asyncio.run(run())


def test_a_first_connection_that_is_lost_before_any_event_ends_in_a_resync(tmp_path: Path) -> None:
    async def run() -> None:
        async with served(tmp_path) as stage, behind_proxy(stage) as (proxy, client):
            heard = Heard(client.events())
            await heard.until("server.connected")
            proxy.cut()
            await heard.until(RESYNC)
            await heard.stop()

    asyncio.run(run())


def test_silence_is_taken_for_a_lost_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "ANSWER_SECONDS", SILENCE)

    async def run() -> None:
        async with (
            served(tmp_path, heartbeat=SILENCE / 4) as stage,
            behind_proxy(stage) as (proxy, client),
        ):
            heard = Heard(client.events())
            await heard.until("server.connected")
            publish(stage, "test.one")
            await heard.until("test.one")
            # Heartbeats keep a quiet stream alive.
            await asyncio.sleep(SILENCE * 2)
            assert proxy.count == 1
            proxy.silent = True
            publish(stage, "test.two")
            await asyncio.sleep(SILENCE * 1.2)
            proxy.silent = False
            await heard.until("test.two")
            assert heard.types().count("test.two") == 1
            assert proxy.count > 1
            await heard.stop()

    asyncio.run(run())


def test_a_client_bears_the_loss_of_two_heartbeats_of_ten_seconds() -> None:
    heartbeat = ServerSettings(directories=()).heartbeat
    assert heartbeat <= 10
    assert 2 * heartbeat < connections.ANSWER_SECONDS <= 3 * heartbeat


def test_a_server_that_comes_back_is_found_again_and_read_again(tmp_path: Path) -> None:
    async def run() -> None:
        async with served(tmp_path, password="word") as stage:
            port = stage.place.port
            place = stage.client_place
            client = Client(place)
            heard = Heard(client.events())
            await heard.until("server.connected")
            publish(stage, "test.one")
            await heard.until("test.one")
        async with served(tmp_path, password="word", port=port) as stage:
            await heard.until("server.connected", 2)
            # The new process knows nothing of the old one's events.
            await heard.until(RESYNC)
            publish(stage, "test.two")
            await heard.until("test.two")
            await heard.stop()
            await client.aclose()

    asyncio.run(run())


def test_a_wrong_token_is_not_tried_for_ever(tmp_path: Path) -> None:
    async def run() -> None:
        async with served(tmp_path) as stage:
            place = ServerPlace(stage.place.url, "wrong", directory=str(stage.project))
            async with Client(place) as client:
                events = client.events()
                with pytest.raises(DeniedError):
                    await anext(events)
                await events.aclose()

    asyncio.run(run())


def test_the_final_state_equals_the_store_whatever_was_cut(tmp_path: Path) -> None:
    gates = [Barrier(f"gate {number}") for number in range(4)]
    script = scenario(step(*(piece for gate in gates for piece in ("words ", gate)), "end"))

    async def run() -> None:
        async with served(tmp_path, script) as stage, behind_proxy(stage) as (proxy, client):
            session = await client.create_session()
            shown: dict[str, str] = {}
            heard = Heard(client.events())
            await heard.until("server.connected")
            await client.prompt_async(session.id, "ping")
            for number in range(4):
                await asyncio.to_thread(stage.model.wait_for_barrier, f"gate {number}")
                await asyncio.sleep(0.05)
                proxy.cut()
                stage.model.release(f"gate {number}")
            await heard.until("session.idle")
            for event in heard.events:
                if event.type == "message.part.delta":
                    part = event.properties["partID"]
                    shown[part] = shown.get(part, "") + event.properties["delta"]
                elif event.type == "message.part.updated":
                    part = event.properties["part"]
                    shown[part["id"]] = part.get("text", "")
            messages, _ = await client.messages(session.id)
            stored = {part.id: getattr(part, "text", "") for m in messages for part in m.parts}
            assert {key: shown[key] for key in stored} == stored
            assert "words words words words end" in stored.values()
            await heard.stop()

    asyncio.run(run())


def test_a_prompt_outlives_its_connection(tmp_path: Path) -> None:
    script = scenario(step(Barrier("gate"), "answer"))

    async def run() -> None:
        async with served(tmp_path, script) as stage, behind_proxy(stage) as (proxy, client):
            session = await client.create_session()
            waiting = asyncio.create_task(client.prompt(session.id, "ping"))
            await asyncio.to_thread(stage.model.wait_for_barrier, "gate")
            proxy.cut()
            await asyncio.sleep(0.1)
            stage.model.release("gate")
            answer = await waiting
            assert any(getattr(part, "text", "") == "answer" for part in answer.parts)
            assert await stage.texts(session.id) == ["ping", "answer"]
            assert len(stage.model.requests) == 1

    asyncio.run(run())


def test_frames_are_whole_however_they_are_cut() -> None:
    stream = b'id: a\ndata: {"x":1}\n\ndata: {"y":"\xc3\xa9"}\n\n'
    for size in range(1, len(stream) + 1):
        frames = following.Frames()
        found = [
            frame
            for start in range(0, len(stream), size)
            for frame in frames.feed(stream[start : start + size])
        ]
        assert found == [("a", b'{"x":1}'), (None, b'{"y":"\xc3\xa9"}')]
