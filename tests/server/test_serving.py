"""Starting and stopping: ports, sockets, signals, owners; nothing is left behind."""

import asyncio
import json
import os
import signal
import socket
import sqlite3
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx2
import pytest
from server_stage import KEY, configuration, served

from roost.core.errors import ConfigError, ConflictError, UsageError
from roost.server import serve
from roost.server.models import ServerSettings
from roost.server.sockets import listen, owner_of
from scripted_model.scenario import Barrier, scenario, step
from scripted_model.server import ScriptedModel

SCRIPT = Path(__file__).with_name("serving_process.py")


class Process:
    """A running server process."""

    def __init__(self, folder: Path, model: ScriptedModel, watched: str, stdin: int) -> None:
        (folder / "project").mkdir()
        self.folder = folder
        self.process = subprocess.Popen(
            [sys.executable, str(SCRIPT), str(folder), json.dumps(configuration(model)), watched],
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line.startswith("roost server listening on http://127.0.0.1:"), line
        self.url = line.split()[-1]
        token = next((folder / "home" / "state" / "servers").glob("*.token")).read_text()
        headers = {"Authorization": f"Bearer {token}"}
        self.http = httpx2.Client(base_url=self.url, headers=headers, trust_env=False)

    def ends_within(self, seconds: float) -> str:
        """What it printed last; it has to end by then."""
        out, err = self.process.communicate(timeout=seconds)
        assert self.process.returncode == 0, err
        return out

    def left_behind(self) -> list[Path]:
        return list((self.folder / "home" / "state" / "servers").iterdir())


@contextmanager
def running(
    folder: Path, watched: str = "", script: object = None, stdin: int = subprocess.PIPE
) -> Iterator[Process]:
    with ScriptedModel(script or scenario(default="pong"), api_key=KEY) as model:
        server = Process(folder, model, watched, stdin)
        try:
            yield server
        finally:
            server.http.close()
            if server.process.poll() is None:
                server.process.kill()
            server.process.communicate()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_stops_everything_within_seconds(tmp_path: Path, number: int) -> None:
    script = scenario(step("some words ", Barrier("never")))
    with running(tmp_path, script=script) as server:
        session_id = server.http.post("/session", json={}).json()["id"]
        body = {"parts": [{"type": "text", "text": "ping"}]}
        server.http.post(f"/session/{session_id}/prompt_async", json=body)
        with server.http.stream("GET", "/event") as events:
            for line in events.iter_lines():
                if "message.part.delta" in line:
                    break
            start = time.monotonic()
            server.process.send_signal(number)
            assert '"ended": true' in server.ends_within(5)
            assert time.monotonic() - start < 5
        assert server.left_behind() == []
        database = next((tmp_path / "home").rglob("roost.db"))
        connection = sqlite3.connect(database)
        turns = connection.execute("SELECT phase, outcome FROM turn").fetchall()
        stored = connection.execute("SELECT data FROM part").fetchall()
        connection.close()
        assert turns == [("ended", "interrupted")]
        assert any("some words" in row[0] for row in stored)


def test_a_waiting_client_is_told_that_the_server_stops(tmp_path: Path) -> None:
    with running(tmp_path, script=scenario(step(Barrier("never")))) as server:
        session_id = server.http.post("/session", json={}).json()["id"]
        body = {"parts": [{"type": "text", "text": "ping"}]}
        path = f"/session/{session_id}/message"

        async def run() -> httpx2.Response:
            headers = dict(server.http.headers)
            async with httpx2.AsyncClient(
                base_url=server.url, headers=headers, trust_env=False
            ) as client:
                waiting = asyncio.create_task(client.post(path, json=body))
                while (await client.get("/session/status")).json() == {}:
                    await asyncio.sleep(0.02)
                server.process.send_signal(signal.SIGTERM)
                return await waiting

        answer = asyncio.run(run())
        assert answer.status_code == 503
        assert "stops" in answer.json()["data"]["message"]
        server.ends_within(5)


def test_a_server_ends_with_its_owner(tmp_path: Path) -> None:
    owner = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    with running(tmp_path, watched=str(owner.pid)) as server:
        assert server.http.get("/global/health").status_code == 200
        owner.kill()
        owner.wait()
        server.ends_within(5)
        assert server.left_behind() == []


def test_a_server_ends_with_its_standard_input(tmp_path: Path) -> None:
    with running(tmp_path, watched="stdin") as server:
        assert server.process.stdin is not None
        server.process.stdin.write("something that nobody reads\n")
        server.process.stdin.flush()
        assert server.http.get("/global/health").status_code == 200
        server.process.stdin.close()
        server.process.stdin = None
        server.ends_within(5)


def test_what_a_killed_server_left_is_swept_up(tmp_path: Path) -> None:
    with running(tmp_path) as killed:
        killed.process.kill()
        killed.process.wait()
        left = killed.left_behind()
        assert {path.suffix for path in left} == {".json", ".token"}

    async def run() -> None:
        async with served(tmp_path):
            assert not any(path.exists() for path in left)

    asyncio.run(run())


def test_an_input_that_has_ended_already_ends_the_server(tmp_path: Path) -> None:
    with running(tmp_path, watched="stdin", stdin=subprocess.DEVNULL) as server:
        server.ends_within(5)


def test_a_connection_that_asks_nothing_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serve, "HEAD_SECONDS", 0.2)

    async def run() -> None:
        async with served(tmp_path) as stage:
            reader, writer = await asyncio.open_connection("127.0.0.1", stage.place.port)
            writer.write(b"GET / HTTP/1.1\r\nHo")
            async with asyncio.timeout(5):
                with suppress(ConnectionResetError):
                    assert await reader.read() == b""
            writer.close()

    asyncio.run(run())


def test_a_taken_port_is_told_with_its_owner(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(ConflictError) as caught:
            listen(ServerSettings(directories=(tmp_path,), port=port))
        assert str(port) in caught.value.message
        assert str(os.getpid()) in caught.value.message
        assert "--port" in caught.value.hint
        assert owner_of(port) is not None
    assert owner_of(port) is None


def test_of_two_starts_on_one_port_one_fails_and_leaves_nothing(tmp_path: Path) -> None:
    async def run() -> None:
        async with served(tmp_path) as first:
            state = tmp_path / "home" / "state" / "servers"
            before = sorted(state.iterdir())
            with pytest.raises(ConflictError):
                async with served(tmp_path, port=first.place.port):
                    pass
            assert sorted(state.iterdir()) == before
            assert (await first.http.get("/session")).status_code == 200

    asyncio.run(run())


def test_a_unix_socket_is_private_and_speaks_the_same(tmp_path: Path) -> None:
    path = tmp_path / "roost.sock"

    async def run() -> None:
        async with served(tmp_path, socket=path) as stage:
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            assert stage.place.place == f"unix:{path}"
            transport = httpx2.AsyncHTTPTransport(uds=str(path))
            headers = {"Authorization": f"Bearer {stage.place.token}"}
            async with httpx2.AsyncClient(
                base_url="http://localhost", transport=transport, headers=headers
            ) as client:
                assert (await client.get("/session")).json() == []
                wrong = await client.get("/session", headers={"Host": "evil.test"})
                assert wrong.status_code == 403
                bare = await client.get("/session", headers={"Authorization": ""})
                assert bare.status_code == 401
            with pytest.raises(ConflictError, match="another server"):
                listen(ServerSettings(directories=(tmp_path,), socket=path))
        assert not path.exists()

    asyncio.run(run())


def test_the_socket_of_a_dead_server_is_replaced_and_nothing_else_is(tmp_path: Path) -> None:
    path = tmp_path / "stale.sock"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    settings = ServerSettings(directories=(tmp_path,), socket=path)
    listen(settings).close()
    file = tmp_path / "precious"
    file.write_text("words")
    with pytest.raises(ConflictError, match="no socket"):
        listen(ServerSettings(directories=(tmp_path,), socket=file))
    assert file.read_text() == "words"
    long = tmp_path / ("x" * 120)
    with pytest.raises(UsageError, match="too long"):
        listen(ServerSettings(directories=(tmp_path,), socket=long))


@pytest.mark.parametrize(
    "settings",
    [{"hostname": "0.0.0.0"}, {"password": ""}, {"origins": ("nonsense",)}],
    ids=["open", "empty password", "origin"],
)
def test_a_faulty_setting_starts_nothing(tmp_path: Path, settings: dict[str, object]) -> None:
    async def run() -> None:
        async with served(tmp_path, **settings):
            raise AssertionError

    with pytest.raises(ConfigError):
        asyncio.run(run())
    servers = tmp_path / "home" / "state" / "servers"
    assert not servers.exists() or list(servers.iterdir()) == []


def test_an_address_that_is_not_ours_is_a_usage_error(tmp_path: Path) -> None:
    settings = ServerSettings(directories=(tmp_path,), hostname="203.0.113.7", password="x")
    with pytest.raises(UsageError, match=r"203\.0\.113\.7"):
        listen(settings)
