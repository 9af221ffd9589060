"""Finding a running server, and not being fooled by a stranger on its port."""

import asyncio
import json
import os
from pathlib import Path

import msgspec
from server_stage import served

from roost.client.client import Client
from roost.client.discovery import Advert, adverts, find
from roost.server import advert as written


def test_a_server_of_the_same_home_is_found_and_lets_in(tmp_path: Path) -> None:
    async def run() -> None:
        state = tmp_path / "home" / "state"
        (tmp_path / "project").mkdir()
        assert await find(state, tmp_path / "project") is None
        async with served(tmp_path) as stage:
            place = await find(state, stage.project)
            assert place is not None
            async with Client(place) as client:
                assert await client.sessions() == []
            (tmp_path / "link").symlink_to(stage.project)
            assert await find(state, tmp_path / "link") == place
            assert await find(state, tmp_path) is None
        assert await find(state, tmp_path / "project") is None
        assert adverts(state) == []

    asyncio.run(run())


def test_a_server_on_a_socket_is_found(tmp_path: Path) -> None:
    async def run() -> None:
        async with served(tmp_path, socket=tmp_path / "s.sock") as stage:
            place = await find(tmp_path / "home" / "state", stage.project)
            assert place is not None
            async with Client(place) as client:
                assert (await client.health()).healthy

    asyncio.run(run())


def test_a_server_with_a_password_wants_it(tmp_path: Path) -> None:
    async def run() -> None:
        async with served(tmp_path, password="word") as stage:
            state = tmp_path / "home" / "state"
            assert await find(state, stage.project) is None
            place = await find(state, stage.project, password="word")
            assert place is not None
            async with Client(place) as client:
                assert await client.sessions() == []

    asyncio.run(run())


def test_a_stranger_on_the_port_never_sees_the_token(tmp_path: Path) -> None:
    seen: list[bytes] = []

    async def stranger(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await reader.readuntil(b"\r\n\r\n"))
        body = b'{"healthy":true,"version":"0.1.0","proof":"made up"}'
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "
        writer.write(head + str(len(body)).encode() + b"\r\n\r\n" + body)
        await writer.drain()
        writer.close()

    async def run() -> None:
        server = await asyncio.start_server(stranger, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        folder = tmp_path / "state" / "servers"
        folder.mkdir(parents=True)
        token = folder / f"{port}.token"
        token.write_text("the-secret-token")
        left = Advert(
            f"http://127.0.0.1:{port}", os.getpid(), "key", "0", [str(tmp_path)], None, str(token)
        )
        (folder / f"{port}.json").write_bytes(msgspec.json.encode(left))
        assert await find(tmp_path / "state", tmp_path) is None
        server.close()

    asyncio.run(run())
    assert len(seen) == 1
    assert b"the-secret-token" not in seen[0]


def test_adverts_of_the_dead_and_nonsense_are_passed(tmp_path: Path) -> None:
    folder = tmp_path / "servers"
    folder.mkdir()
    (folder / "1.json").write_text("{")
    (folder / "2.json").write_text("{}")
    dead = Advert("http://127.0.0.1:2", 2**22 + 1, "k", "0", ["/"])
    (folder / "3.json").write_bytes(msgspec.json.encode(dead))
    (folder / "4.json").mkdir()
    assert adverts(tmp_path) == []


def test_what_the_server_writes_is_what_the_client_reads() -> None:
    assert Advert.__struct_fields__ == written.Advert.__struct_fields__
    made = written.Advert("u", 1, "k", "v", ["/a"], "s", "t")
    assert json.loads(msgspec.json.encode(made)) == json.loads(
        msgspec.json.encode(Advert("u", 1, "k", "v", ["/a"], "s", "t"))
    )
