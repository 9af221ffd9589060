"""Who is let in: secret, Host and Origin, JSON only; nothing happens before that is known."""

import asyncio
import base64
import logging
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest
from server_stage import Served, served

from roost.core.errors import ConfigError, TooLargeError
from roost.runtime.attachments import PROMPT_LIMIT
from roost.server.auth import Secret, require_password
from roost.server.bodies import WORDS_LIMIT, check_words
from roost.server.origins import Origins

EVIL = "http://evil.test"


def on_server(folder: Path, check: Callable[[Served], Awaitable[None]], **settings: Any) -> None:
    async def run() -> None:
        async with served(folder, **settings) as stage:
            await check(stage)

    asyncio.run(run())


def basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def test_every_route_but_health_wants_the_secret(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        document = (await stage.http.get("/doc")).json()
        async with stage.client() as stranger:
            for path, operations in document["paths"].items():
                for method in operations:
                    url = path.replace("{", "").replace("}", "")
                    answer = await stranger.request(method.upper(), url)
                    wanted = 200 if path == "/global/health" else 401
                    assert answer.status_code == wanted, (method, path)
            assert (await stranger.get("/no/such/route")).status_code == 401

    on_server(tmp_path, check)


@pytest.mark.parametrize(
    "authorization",
    ["", "Bearer", "Bearer wrong", "Token x", "Basic !!!", basic("opencode", "wrong"), "Basic"],
)
def test_a_wrong_secret_is_401_and_starts_nothing(tmp_path: Path, authorization: str) -> None:
    async def check(stage: Served) -> None:
        session_id = await stage.session()
        async with stage.client(Authorization=authorization) as stranger:
            body = {"parts": [{"type": "text", "text": "ping"}]}
            answer = await stranger.post(f"/session/{session_id}/prompt_async", json=body)
            assert answer.status_code == 401
            assert "Basic" not in answer.headers["www-authenticate"]
            assert (await stranger.post("/session", json={})).status_code == 401
            assert (await stranger.get("/event")).status_code == 401
        assert await stage.texts(session_id) == []
        assert len((await stage.http.get("/session")).json()) == 1

    on_server(tmp_path, check)


def test_the_secret_comes_as_bearer_or_as_opencode_sends_it(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        for authorization in (f"bearer {stage.place.token}", basic("opencode", "pass:word")):
            async with stage.client(Authorization=authorization) as client:
                assert (await client.get("/session")).status_code == 200
        async with stage.client(Authorization=basic("root", "pass:word")) as client:
            assert (await client.get("/session")).status_code == 401

    on_server(tmp_path, check, password="pass:word")


def test_a_page_of_another_site_gets_nothing(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        session_id = await stage.session()
        preflight = {
            "Origin": EVIL,
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "authorization, content-type",
        }
        async with stage.client() as page:
            asked = await page.options(f"/session/{session_id}/message", headers=preflight)
        assert asked.status_code == 403
        assert "access-control-allow-origin" not in asked.headers
        body = {"parts": [{"type": "text", "text": "ping"}]}
        for origin in (EVIL, "null", "http://127.0.0.1:1", f"http://evil.test:{stage.place.port}"):
            sent = await stage.http.post(
                f"/session/{session_id}/prompt_async", json=body, headers={"Origin": origin}
            )
            assert sent.status_code == 403
            assert "access-control-allow-origin" not in sent.headers
        assert await stage.texts(session_id) == []

    on_server(tmp_path, check)


def test_a_configured_origin_may_ask_and_read(tmp_path: Path) -> None:
    ours = "https://tools.example.com"

    async def check(stage: Served) -> None:
        async with stage.client() as page:
            headers = {"Origin": ours, "Access-Control-Request-Method": "POST"}
            asked = await page.options("/session", headers=headers)
            assert asked.status_code == 204
            assert asked.headers["access-control-allow-origin"] == ours
            assert "authorization" in asked.headers["access-control-allow-headers"]
            refused = await page.get("/session", headers={"Origin": ours})
            assert refused.status_code == 401
        read = await stage.http.get("/session", headers={"Origin": ours})
        assert read.status_code == 200
        assert read.headers["access-control-allow-origin"] == ours
        assert read.headers["vary"] == "Origin"

    on_server(tmp_path, check, origins=(ours,))


@pytest.mark.parametrize("host", ["evil.test", "evil.test:{port}", "127.0.0.1", "127.0.0.1:1", ""])
def test_a_name_that_was_pointed_here_later_is_not_ours(tmp_path: Path, host: str) -> None:
    async def check(stage: Served) -> None:
        headers = {"Host": host.format(port=stage.place.port)}
        assert (await stage.http.get("/session", headers=headers)).status_code == 403
        assert (await stage.http.get("/global/health", headers=headers)).status_code == 403

    on_server(tmp_path, check)


def test_two_hosts_in_one_request_are_refused(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", stage.place.port)
        host = f"127.0.0.1:{stage.place.port}"
        writer.write(f"GET /global/health HTTP/1.1\r\nHost: {host}\r\nHost: evil\r\n\r\n".encode())
        assert (await reader.readline()).split()[1] in {b"400", b"403"}
        writer.close()

    on_server(tmp_path, check)


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""]
)
def test_what_a_form_can_send_is_no_request(tmp_path: Path, kind: str) -> None:
    async def check(stage: Served) -> None:
        session_id = await stage.session()
        body = b'{"parts":[{"type":"text","text":"ping"}]}'
        for path in (f"/session/{session_id}/prompt_async", f"/session/{session_id}/abort"):
            answer = await stage.http.post(path, content=body, headers={"Content-Type": kind})
            assert answer.status_code == 415
        assert await stage.texts(session_id) == []

    on_server(tmp_path, check)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"{'parts': []}",
        b'{"parts":[],}',
        b'{"parts":[{"type":"text","text":"\xff"}]}',
        b'{"parts":[{"type":"text","text":"\\ud800"}]}',
        b'{"parts":[{"type":"text","text":NaN}]}',
        b'{"parts":[{"type":"text"}]}',
        b'{"parts":[{"type":"subtask"}]}',
        b'{"parts":[{"type":"text","text":"x"}],"messageID":"../x"}',
        b'{"parts":[{"type":"text","text":"x","id":"msg_1"}]}',
        b'{"parts":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    ],
    ids=range(13),
)
def test_what_is_not_the_json_asked_for_is_a_400(tmp_path: Path, body: bytes) -> None:
    async def check(stage: Served) -> None:
        session_id = await stage.session()
        headers = {"Content-Type": "application/json"}
        path = f"/session/{session_id}/prompt_async"
        answer = await stage.http.post(path, content=body, headers=headers)
        assert answer.status_code == 400
        shape = answer.json()
        assert shape["success"] is False
        assert shape["errors"][0]["message"] == shape["data"]["message"]
        assert await stage.texts(session_id) == []

    on_server(tmp_path, check)


def test_a_body_that_is_too_large_is_refused_before_it_is_read(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        async def endless() -> Any:
            while True:
                yield b" " * 65_536

        headers = {"Content-Type": "application/json"}
        declared = await stage.http.post("/session", content=b" " * 200_000, headers=headers)
        assert declared.status_code == 413
        try:
            chunked = await stage.http.post("/session", content=endless(), headers=headers)
            assert chunked.status_code == 413
        except (httpx2.WriteError, httpx2.ReadError, httpx2.RemoteProtocolError):
            pass  # cut off while it was still sending
        assert (await stage.http.get("/session")).json() == []

    on_server(tmp_path, check, body_limit=100_000)


def test_a_body_that_never_comes_is_given_up(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", stage.place.port)
        head = (
            f"POST /session HTTP/1.1\r\nHost: 127.0.0.1:{stage.place.port}\r\n"
            f"Authorization: Bearer {stage.place.token}\r\n"
            "Content-Type: application/json\r\nContent-Length: 50\r\n\r\n{"
        )
        writer.write(head.encode())
        assert b" 408 " in await reader.readline()
        writer.close()

    on_server(tmp_path, check, body_timeout=0.2)


@pytest.mark.parametrize("directory", ["/etc", "/", "relative", "/etc/../etc", "/nowhere\x00"])
def test_a_folder_that_was_not_opened_is_refused(tmp_path: Path, directory: str) -> None:
    async def check(stage: Served) -> None:
        query = {"directory": directory, "path": "passwd"}
        for method, path in (
            ("GET", "/file/content"),
            ("GET", "/session"),
            ("POST", "/session"),
            ("GET", "/event"),
            ("GET", "/config"),
        ):
            answer = await stage.http.request(method, path, params=query)
            assert answer.status_code in {400, 403}, path
            if directory == "/etc":
                header = {"x-opencode-directory": "%2Fetc"}
                answer = await stage.http.request(method, path, headers=header)
                assert answer.status_code == 403
        assert (await stage.http.get("/session")).json() == []

    on_server(tmp_path, check)


def test_a_session_elsewhere_is_out_of_reach(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    async def check(stage: Served) -> None:
        foreign = (await stage.runtime.create_session(elsewhere)).id
        assert (await stage.http.get(f"/session/{foreign}")).status_code == 403
        assert (await stage.prompt(foreign, "ping")).status_code == 403
        answer = await stage.http.get("/session", params={"directory": str(elsewhere)})
        assert answer.status_code == 403
        assert (await stage.http.delete(f"/session/{foreign}")).status_code == 403
        assert (await stage.runtime.session(foreign)).id == foreign

    on_server(tmp_path, check)


def test_a_folder_below_is_served_once_it_has_a_session(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        below = stage.project / "a b"
        below.mkdir()
        query = {"directory": str(below)}
        assert (await stage.http.get("/path", params=query)).status_code == 403
        await stage.runtime.create_session(below)
        assert (await stage.http.get("/path", params=query)).json()["directory"] == str(below)
        header = {"x-opencode-directory": str(below).replace(" ", "%20")}
        assert (await stage.http.get("/path", headers=header)).json()["directory"] == str(below)

    on_server(tmp_path, check)


def test_a_link_is_followed_before_a_folder_is_judged(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        (stage.project / "out").symlink_to("/etc")
        (tmp_path / "in").symlink_to(stage.project)
        outside = {"directory": str(stage.project / "out")}
        assert (await stage.http.get("/session", params=outside)).status_code == 403
        inside = {"directory": str(tmp_path / "in")}
        assert (await stage.http.get("/session", params=inside)).status_code == 200

    on_server(tmp_path, check)


def test_the_token_is_in_a_private_file_and_in_no_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)

    async def check(stage: Served) -> None:
        file = stage.place.token_file
        assert file is not None
        assert file.read_text() == stage.place.token
        assert file.stat().st_mode & 0o777 == 0o600
        assert file.parent.stat().st_mode & 0o777 == 0o700
        assert file.name == f"{stage.place.port}.token"
        await stage.prompt(await stage.session(), "ping")
        async with stage.client(Authorization=f"Bearer {stage.place.token}x") as stranger:
            await stranger.get("/session")
        assert stage.place.token not in caplog.text
        config = await stage.http.get("/config")
        assert "sk-test-000" not in config.text

    on_server(tmp_path, check)


def test_a_password_leaves_no_token_behind(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        assert stage.place.token_file is None
        assert list((tmp_path / "home" / "state").rglob("*.token")) == []
        advert = next((tmp_path / "home" / "state").rglob("*.json"))
        assert "secret-word" not in advert.read_text()

    on_server(tmp_path, check, password="secret-word")


@pytest.mark.parametrize("hostname", ["0.0.0.0", "::", "192.168.1.5", "myhost.example"])
def test_without_a_password_only_this_machine_can_come(hostname: str) -> None:
    with pytest.raises(ConfigError, match="no password"):
        require_password(hostname, None)
    require_password(hostname, "given")


def test_an_empty_password_is_a_mistake() -> None:
    with pytest.raises(ConfigError, match="empty"):
        require_password("127.0.0.1", "")


@pytest.mark.parametrize("hostname", ["127.0.0.1", "127.9.9.9", "localhost", "::1", "[::1]"])
def test_loopback_needs_no_password(hostname: str) -> None:
    require_password(hostname, None)


def test_a_server_on_all_addresses_is_reached_by_number_only() -> None:
    origins = Origins("0.0.0.0", 4096)
    assert origins.host_allowed("192.168.1.5:4096")
    assert origins.host_allowed("[fe80::1]:4096")
    assert origins.host_allowed("localhost:4096")
    assert not origins.host_allowed("192.168.1.5:80")
    assert not origins.host_allowed("evil.test:4096")
    assert not origins.origin_allowed("http://192.168.1.5:4096")


@pytest.mark.parametrize("origin", ["*", "example.com", "http://x/path", "ftp://x", "http://"])
def test_what_is_no_origin_cannot_be_configured(origin: str) -> None:
    with pytest.raises(ConfigError, match="origin"):
        Origins("127.0.0.1", 4096, (origin,))


def test_a_secret_is_compared_as_bytes() -> None:
    secret = Secret("pässword")
    assert secret.accepts("Bearer " + "pässword".encode().decode("latin-1"))
    assert secret.accepts(basic("opencode", "pässword"))
    assert not secret.accepts("Bearer passwo\udc80rd")
    assert not secret.accepts("Bearer pässword2")


def test_who_sends_too_much_reads_the_answer_and_meets_no_closed_connection(
    tmp_path: Path,
) -> None:
    """More than any buffer between the two holds, all of it sent before anything is read."""

    def exchange(stage: Served, head: str) -> str:
        size = 32 * 1024 * 1024
        host, port = "127.0.0.1", stage.place.port or 0
        with socket.create_connection((host, port), timeout=20) as line:
            start = f"POST /session HTTP/1.1\r\nHost: {host}:{port}\r\n{head}"
            line.sendall(f"{start}Content-Length: {size}\r\n\r\n".encode())
            line.sendall(b" " * size)
            received = b""
            while piece := line.recv(65_536):
                received += piece
        return received.decode()

    async def check(stage: Served) -> None:
        known = f"Content-Type: application/json\r\nAuthorization: Bearer {stage.place.token}\r\n"
        large = await asyncio.to_thread(exchange, stage, known)
        assert large.startswith("HTTP/1.1 413 ")
        assert "the body is larger than 100000 bytes" in large
        stranger = await asyncio.to_thread(exchange, stage, "")
        assert stranger.startswith("HTTP/1.1 401 ")
        assert "does not carry the server's secret" in stranger

    on_server(tmp_path, check, body_limit=100_000)


def test_a_prompt_of_more_words_than_any_model_takes_is_refused_with_the_limit(
    tmp_path: Path,
) -> None:
    async def check(stage: Served) -> None:
        session_id = await stage.session()
        refused = await stage.prompt(session_id, "a" * (PROMPT_LIMIT + 1))
        assert refused.status_code == 413
        assert str(PROMPT_LIMIT) in refused.json()["data"]["message"]
        huge = await stage.prompt(session_id, "a" * 40_000_000)
        assert huge.status_code == 413
        assert str(WORDS_LIMIT) in huge.json()["data"]["message"]
        assert await stage.texts(session_id) == []
        assert (await stage.prompt(session_id, "b" * 100_000)).status_code == 200

    on_server(tmp_path, check)


@pytest.mark.parametrize("attached", [b"", b'"url":"data:text/plain;base64,%s"' % (b"A" * 9_000)])
def test_attachments_do_not_count_as_words(attached: bytes) -> None:
    size = WORDS_LIMIT - 100
    check_words(b'{"text":"' + b"a" * size + b'",' + attached * 3 + b"}")
    with pytest.raises(TooLargeError):
        check_words(b'{"text":"' + b"a" * (size + 200) + b'",' + attached * 3 + b"}")
    with pytest.raises(TooLargeError):
        check_words(b" " * (WORDS_LIMIT + 1))
    check_words(b" " * 50 + b'"data:' + b"a" * (2 * WORDS_LIMIT))
