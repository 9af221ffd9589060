import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from model_samples import (
    DIALECTS,
    Heard,
    answered,
    hear,
    hear_once,
    merged,
    model,
    png,
    request,
    user,
)

from roost.llm import answer as answer_module
from roost.llm.client import ModelClient
from roost.llm.models import Dialect, Finish, Message, ModelError, ModelRequest, TextDelta
from roost.llm.providers.cache import EncodingCache
from scripted_model.scenario import (
    Call,
    Delay,
    Drop,
    Fail,
    NoEnd,
    Parallel,
    Piece,
    Reasoning,
    Reply,
    Reset,
    Scenario,
    Stall,
    Status,
    Text,
    Usage,
    scenario,
)
from scripted_model.scenario import Finish as SaidFinish
from scripted_model.server import ScriptedModel

KEY = "sk-test-000"


def asking(
    server: ScriptedModel, dialect: Dialect, *messages: Message, **changes: Any
) -> ModelRequest:
    of = model(dialect, base_url=f"{server.url}/v1", **changes)
    return request(of, *(messages or (user("go"),)))


def error_of(script: Scenario, dialect: Dialect = "openai-chat", **changes: Any) -> ModelError:
    with ScriptedModel(script) as server, pytest.raises(ModelError) as caught:
        hear_once(asking(server, dialect, **changes))
    return caught.value


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_conversation_that_the_strictest_server_takes(dialect: Dialect) -> None:
    script = scenario(
        [Reasoning("Look first."), Text("Looking."), Call("bash", {"command": "ls"})],
        [
            Reasoning("Again."),
            Parallel((Call("bash", {"command": "a"}), Call("bash", {"command": "b"}))),
        ],
        [Text("A picture!"), Call("bash", {"command": "c"})],
        "All done.",
        "Bye.",
    )
    cache = EncodingCache()
    history: list[Message] = [user("go")]
    with ScriptedModel(script, api_key=KEY) as server:
        for _ in range(4):
            heard = hear_once(asking(server, dialect, *history), cache)
            history.append(heard.message)
            if heard.calls:
                results = [answered(call.id, "", png()).results[0] for call in heard.calls]
                history.append(type(answered("x"))(tuple(results)))
        history.append(user("thanks"))
        last = hear_once(asking(server, dialect, *history), cache)
        assert server.violations == []
        assert [record.outcome for record in server.requests] == ["done"] * 5
    assert heard.text == "All done."
    assert (last.text, last.finish and last.finish.reason) == ("Bye.", "stop")


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_bytes_may_be_cut_anywhere(dialect: Dialect, newline: Any, size: int) -> None:
    pieces: tuple[Piece, ...] = (
        Reasoning("Ünî"),
        Text("漢字 😀 ok", size=1),
        Call("bash", {"command": "é"}),
    )
    script = Scenario((), default=Reply(pieces, wire_chunk=size, newline=newline))
    with ScriptedModel(script) as server:
        heard = hear_once(asking(server, dialect))
    assert (heard.reasoning, heard.text) == ("Ünî", "漢字 😀 ok")
    assert heard.calls[0].arguments.encode().decode("utf-8")
    assert heard.finish
    assert heard.finish.reason == "tool-calls"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_usage_reaches_us(dialect: Dialect) -> None:
    said = Usage(input=100, output=20, reasoning=5, cache_read=40, cache_write=10)
    script = scenario([Text("hi"), said])
    with ScriptedModel(script) as server:
        usage = hear_once(asking(server, dialect)).usage
    assert usage is not None
    assert (usage.input + usage.cache_write, usage.cache_read) == (60, 40)
    assert (usage.output, usage.reasoning) == (15, 5)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    "piece", [Drop(), Drop(cut=20), Reset(), NoEnd()], ids=["drop", "cut", "reset", "no-end"]
)
def test_a_stream_that_breaks_is_a_network_error(dialect: Dialect, piece: Piece) -> None:
    assert error_of(scenario([Text("some words"), piece]), dialect).kind == "network"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_server_that_closes_before_it_answers_is_a_network_error(dialect: Dialect) -> None:
    assert error_of(scenario([Drop()]), dialect).kind == "network"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_error_in_mid_stream_has_its_kind(dialect: Dialect) -> None:
    broken = error_of(scenario([Text("some words"), Fail("server_error", "it broke")]), dialect)
    assert broken.kind == "server"
    assert "it broke" in broken.message


def test_an_error_behind_the_end_of_an_answer_is_told_where_the_end_was_one_itself() -> None:
    broken = error_of(
        scenario([Text("words"), SaidFinish("error"), Fail("server_error", "it broke")])
    )
    assert "it broke" in broken.message


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "bad_request"),
        (401, "auth"),
        (403, "auth"),
        (404, "bad_request"),
        (429, "rate_limit"),
        (500, "server"),
        (503, "server"),
        (529, "server"),
    ],
)
def test_statuses_have_their_kinds(dialect: Dialect, status: int, kind: str) -> None:
    error = error_of(scenario([Status(status, {"Retry-After": "7"})]), dialect)
    assert (error.kind, error.status, error.retry_after) == (kind, status, 7.0)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_length_cuts_a_call_off(dialect: Dialect) -> None:
    cut = [Call("bash", '{"command":"rm -r'), SaidFinish("length")]
    with ScriptedModel(scenario(cut)) as server:
        heard = hear_once(asking(server, dialect))
    assert heard.finish
    assert heard.finish.reason == "length"
    assert heard.complete == set()


def test_too_long_a_conversation_is_an_overflow() -> None:
    with (
        ScriptedModel(scenario("never"), context=50) as server,
        pytest.raises(ModelError) as caught,
    ):
        hear_once(asking(server, "openai-chat", user("word " * 500)))
    assert caught.value.kind == "overflow"


@pytest.mark.parametrize("piece", [Stall(), Delay(30)], ids=["stall", "delay"])
def test_silence_in_mid_stream_ends(piece: Piece) -> None:
    began = time.monotonic()
    error = error_of(scenario([Text("some words"), piece]), idle_timeout=0.2)
    assert error.kind == "network"
    assert "sent nothing" in error.message
    assert time.monotonic() - began < 10


def test_silence_before_the_first_byte_has_its_own_patience() -> None:
    began = time.monotonic()
    error = error_of(scenario([Stall()]), first_byte_timeout=0.2, idle_timeout=60.0)
    assert error.kind == "network"
    assert time.monotonic() - began < 10


def test_closing_the_iterator_closes_the_connection_at_once() -> None:
    async def leave(asked_for: ModelRequest) -> None:
        client = ModelClient()
        stream = client.stream(asked_for, EncodingCache())
        async for event in stream:
            if isinstance(event, TextDelta):
                break
        await stream.aclose()
        # The client itself stays open: only this connection ends.
        await asyncio.to_thread(server.wait_until_quiet, timeout=10.0)
        await client.aclose()

    with ScriptedModel(scenario([Text("some words"), Stall()])) as server:
        asyncio.run(leave(asking(server, "openai-chat")))
        assert server.requests[0].outcome == "client-gone"


def test_cancelling_the_task_closes_the_connection_at_once() -> None:
    async def cancel(asked_for: ModelRequest) -> None:
        client = ModelClient()
        async with asyncio.TaskGroup() as group:
            task = group.create_task(hear(client, asked_for))
            await asyncio.to_thread(server.wait_for_requests, 1)
            await asyncio.sleep(0.05)
            task.cancel()
        await asyncio.to_thread(server.wait_until_quiet, timeout=10.0)
        assert task.cancelled()
        await client.aclose()

    with ScriptedModel(scenario([Text("some words"), Stall()])) as server:
        asyncio.run(cancel(asking(server, "openai-chat")))


def test_many_streams_at_once_on_one_client() -> None:
    async def together(server: ScriptedModel) -> list[str]:
        client = ModelClient()
        asked_for = [asking(server, "openai-chat", user(f"number {n}")) for n in range(60)]
        heard = await asyncio.gather(*(hear(client, one) for one in asked_for))
        await client.aclose()
        return [one.text for one in heard]

    with ScriptedModel(Scenario((), default=Reply((Delay(0.5), Text("ok"))))) as server:
        began = time.monotonic()
        assert asyncio.run(together(server)) == ["ok"] * 60
        assert time.monotonic() - began < 15


Handler = Callable[[bytes, asyncio.StreamWriter], Awaitable[None]]


class Bare:
    """A server of raw bytes, for what no scripted model would say."""

    def __init__(self, handler: Handler) -> None:
        self.handler = handler
        self.connections = 0
        self.heads: list[bytes] = []
        self.url = ""

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                self.heads.append(head)
                fields = dict(line.split(b": ", 1) for line in head.lower().split(b"\r\n")[1:-2])
                await reader.readexactly(int(fields.get(b"content-length", b"0")))
                await self.handler(head, writer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[ModelClient]:
        server = await asyncio.start_server(self._converse, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        client = ModelClient()
        try:
            yield client
        finally:
            await client.aclose()
            server.close()


def plain(
    body: bytes, kind: str = "text/event-stream", status: str = "200 OK", more: str = ""
) -> bytes:
    head = f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n{more}\r\n"
    return head.encode() + body


STREAM = (
    b'data: {"choices":[{"delta":{"content":"hi"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
)
OPEN = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


def chunked(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


def bare(handler: Handler, **changes: Any) -> tuple[Bare, Heard]:
    server = Bare(handler)

    async def ask() -> Heard:
        async with server.running() as client:
            return await hear(client, request(model(base_url=server.url, **changes), user("go")))

    return server, asyncio.run(ask())


def refused(handler: Handler, **changes: Any) -> ModelError:
    with pytest.raises(ModelError) as caught:
        bare(handler, **changes)
    return caught.value


def saying(data: bytes) -> Handler:
    async def handler(_head: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(data)

    return handler


def test_a_connection_is_used_again() -> None:
    server = Bare(saying(plain(STREAM)))

    async def twice() -> None:
        async with server.running() as client:
            for _ in range(3):
                await hear(client, request(model(base_url=server.url), user("go")))

    asyncio.run(twice())
    assert (server.connections, len(server.heads)) == (1, 3)


def test_a_server_that_never_ends_its_bytes_costs_no_wait() -> None:
    began = time.monotonic()
    _, heard = bare(saying(OPEN + chunked(STREAM)))
    assert heard.finish == Finish("stop", "stop")
    assert time.monotonic() - began < 10


def test_a_server_that_forgets_its_end_mark_costs_a_short_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(answer_module, "TAIL_TIMEOUT", 0.2)
    _, heard = bare(saying(OPEN + chunked(STREAM.partition(b"data: [")[0])))
    assert heard.text == "hi"


def test_signs_of_life_alone_do_not_hold_a_turn_for_ever() -> None:
    async def pinging(_head: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(OPEN)
        while not writer.is_closing():
            writer.write(chunked(b": PROCESSING\n\n"))
            await writer.drain()
            await asyncio.sleep(0.02)

    error = refused(pinging, idle_timeout=0.1)
    assert (error.kind, "signs of life" in error.message) == ("network", True)


def test_a_redirect_is_refused_and_the_key_goes_nowhere() -> None:
    moved = plain(b"", status="307 Moved", more="location: http://127.0.0.1:1/v1\r\n")
    error = refused(saying(moved))
    assert error.kind == "bad_request"
    assert "redirects to http://127.0.0.1:1/v1" in error.message


def test_a_web_page_is_no_answer() -> None:
    error = refused(saying(plain(b"<html>", "text/html; charset=utf-8")))
    assert error.kind == "bad_request"
    assert "baseURL" in error.message or "base of its API" in error.message


def test_an_answer_in_one_piece_is_heard() -> None:
    body = b'{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}],"usage":{}}'
    assert bare(saying(plain(body, "application/json")))[1].text == "hi"


def test_an_error_with_status_200_is_an_error() -> None:
    body = b'{"error":{"message":"credit balance is too low"}}'
    assert refused(saying(plain(body, "application/json"))).kind == "quota"


def test_json_that_is_no_answer_is_unreadable() -> None:
    assert refused(saying(plain(b'{"ok":true}', "application/json"))).kind == "invalid_stream"


def test_no_key_survives_in_an_error() -> None:
    body = (
        b'{"error":{"message":"Incorrect API key provided: sk-test-000, also sk-proj-abcdef12345"}}'
    )
    more = "x-request-id: r1\r\nset-cookie: secret\r\n"
    error = refused(saying(plain(body, "application/json", "401 No", more)))
    assert error.kind == "auth"
    assert "sk-" not in error.message + error.body + str(error)
    assert error.headers == {"content-type": "application/json", "x-request-id": "r1"}


def test_headers_of_the_configuration_are_sent() -> None:
    server, _ = bare(saying(plain(STREAM)), headers={"x-team": "blue"}, api_key="")
    head = server.heads[0].lower()
    assert b"x-team: blue" in head
    assert b"authorization" not in head
    assert b"user-agent: roost/" in head


def test_no_proxy_is_asked_for_a_server_on_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    assert bare(saying(plain(STREAM)))[1].text == "hi"


def test_a_proxy_of_the_environment_is_asked_for_other_servers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = Bare(saying(plain(STREAM)))

    async def ask() -> Heard:
        async with server.running() as client:
            monkeypatch.setenv("HTTP_PROXY", server.url.removesuffix("/v1"))
            return await hear(
                client, request(model(base_url="http://models.example/v1"), user("go"))
            )

    for name in ("NO_PROXY", "no_proxy", "http_proxy"):
        monkeypatch.delenv(name, raising=False)
    assert asyncio.run(ask()).text == "hi"
    assert server.heads[0].startswith(b"POST http://models.example/v1/chat/completions")


@pytest.mark.parametrize("base_url", ["ftp://host/v1", "file:///etc", "host/v1", "http://", ""])
def test_only_http_is_spoken(base_url: str) -> None:
    with pytest.raises(ModelError) as caught:
        hear_once(request(model(base_url=base_url), user("go")))
    assert caught.value.kind == "bad_request"


def test_nobody_there_is_a_network_error() -> None:
    with pytest.raises(ModelError) as caught:
        hear_once(request(model(base_url="http://127.0.0.1:1/v1"), user("go")))
    assert caught.value.kind == "network"
    assert caught.value.message == (
        "test cannot be reached at http://127.0.0.1:1/v1: connection refused"
    )


def test_only_an_endpoint_that_never_answered_counts_as_not_there() -> None:
    async def answer_once(_: bytes, writer: asyncio.StreamWriter) -> None:
        if server.connections == 1:
            writer.write(plain(STREAM))
        writer.close()

    server = Bare(answer_once)

    async def ask() -> list[ModelError]:
        failures: list[ModelError] = []
        async with server.running() as client:
            asked = request(model(base_url=server.url, base_url_place="x in y"), user("go"))
            there = model(base_url="http://127.0.0.1:1/v1", base_url_place="a.b in roost.json")
            await hear(client, asked)
            for one in (asked, request(there, user("go"))):
                with pytest.raises(ModelError) as caught:
                    await hear(client, one)
                failures.append(caught.value)
        return failures

    lost, never = asyncio.run(ask())
    assert (lost.kind, lost.never_answered, lost.hint) == ("network", False, "")
    assert (never.kind, never.never_answered) == ("network", True)
    assert "The address is set by a.b in roost.json." in never.hint


def test_a_key_that_http_cannot_carry_is_told() -> None:
    with pytest.raises(ModelError) as caught:
        hear_once(request(model(api_key="sk-tést\n"), user("go")))
    assert caught.value.kind in {"auth", "bad_request"}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_server_lists_its_models(dialect: Dialect) -> None:
    async def listed(base_url: str) -> list[str]:
        client = ModelClient()
        models = await client.list_models(model(dialect, base_url=base_url))
        await client.aclose()
        return [one.id for one in models]

    with ScriptedModel(scenario("x"), models=("one", "two"), api_key=KEY) as server:
        assert asyncio.run(listed(f"{server.url}/v1")) == ["one", "two"]


def test_windows_are_read_from_lists_of_many_servers() -> None:
    body = (
        b'{"data":[{"id":"a","context_length":1000},{"id":"b","max_model_len":2000},'
        b'{"id":"c","meta":{"n_ctx":3000}},{"id":"d"},{"id":7},{"id":"e","context_length":"?"}]}'
    )
    server = Bare(saying(plain(body, "application/json")))

    async def listed() -> list[tuple[str, int | None]]:
        async with server.running() as client:
            found = await client.list_models(model(base_url=server.url))
            return [(one.id, one.context) for one in found]

    assert asyncio.run(listed()) == [
        ("a", 1000),
        ("b", 2000),
        ("c", 3000),
        ("d", None),
        ("e", None),
    ]


def test_the_query_of_a_base_url_stays() -> None:
    server = Bare(saying(plain(STREAM)))

    async def ask() -> None:
        async with server.running() as client:
            base_url = f"{server.url}/?api-version=3"
            await hear(client, request(model(base_url=base_url), user("go")))

    asyncio.run(ask())
    assert server.heads[0].startswith(b"POST /v1/chat/completions?api-version=3 HTTP/1.1")


def test_deltas_say_the_same_however_they_are_cut() -> None:
    def said(size: int) -> list[Any]:
        with ScriptedModel(scenario([Text("one two three", size=size)])) as server:
            return merged(hear_once(asking(server, "openai-chat")).events)[:3]

    assert said(1) == said(5) == said(0)
