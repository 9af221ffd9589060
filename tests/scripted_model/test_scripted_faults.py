"""Faults on purpose: errors, cuts, silence, and what the server knows of a client that goes."""

import socket
import threading
import time

import httpx2
import pytest
from scripted_requests import DIALECTS, HEADERS, PATHS, answer, events, first, post, stream, text_of

from scripted_model.chaos import chaotic
from scripted_model.scenario import (
    ALWAYS,
    Barrier,
    Begin,
    Call,
    Delay,
    Drop,
    Fail,
    Finish,
    NoEnd,
    Reasoning,
    Reply,
    Reset,
    Stall,
    Status,
    Text,
    scenario,
    step,
)
from scripted_model.server import ScriptedModel

TERMINAL = {"chat": b"[DONE]", "responses": b"response.completed", "anthropic": b"message_stop"}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_status_answers_in_the_shape_of_the_dialect_and_a_retry_goes_on(dialect):
    scene = scenario(Status(429, {"retry-after": "1"}), Status(529), "pong")
    with ScriptedModel(scene) as model:
        limited = post(model, dialect, first(dialect))
        assert (limited.status_code, limited.headers["retry-after"]) == (429, "1")
        error = limited.json()["error"]
        assert error["type"] == "rate_limit_error"
        assert ("code" in error) == (dialect != "anthropic")
        assert post(model, dialect, first(dialect)).status_code == 529
        assert text_of(dialect, answer(model, dialect, first(dialect))) == "pong"
        assert [record.outcome for record in model.requests] == ["status", "status", "done"]


def test_a_status_can_have_a_body_of_its_own():
    with ScriptedModel(scenario(Status(400, {}, "not even JSON"))) as model:
        assert post(model, "chat", first("chat")).text == "not even JSON"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_drop_before_the_response_is_a_closed_connection(dialect):
    with ScriptedModel(scenario(Drop(), "pong")) as model:
        with pytest.raises(httpx2.RemoteProtocolError):
            post(model, dialect, first(dialect))
        assert text_of(dialect, answer(model, dialect, first(dialect))) == "pong"


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("ending", [Drop(), Drop(cut=31), Reset()], ids=["drop", "cut", "reset"])
def test_a_cut_stream_keeps_what_came_before_and_is_no_clean_end(dialect, ending):
    with ScriptedModel(scenario([Text("partial "), ending])) as model:
        chunks, broken = stream(model, dialect, first(dialect))
        assert isinstance(broken, httpx2.TransportError)
        assert b"partial " in b"".join(chunks)
        assert TERMINAL[dialect] not in b"".join(chunks)
        assert model.requests[0].outcome in ("dropped", "reset")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_stream_can_end_cleanly_without_its_terminal_event(dialect):
    with ScriptedModel(scenario([Text("partial"), NoEnd()])) as model:
        chunks, broken = stream(model, dialect, first(dialect))
        assert broken is None
        assert b"partial" in b"".join(chunks)
        assert TERMINAL[dialect] not in b"".join(chunks)
        assert b'"finish_reason":"' not in b"".join(chunks)


def test_a_finish_reason_can_come_without_the_end_of_the_stream():
    with ScriptedModel(scenario([Text("all"), Finish("stop"), NoEnd()])) as model:
        data = b"".join(stream(model, "chat", first("chat"))[0])
        assert b'"finish_reason":"stop"' in data
        assert b"[DONE]" not in data


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_error_in_the_stream_has_the_shape_of_the_dialect(dialect):
    scene = scenario([Text("half"), Fail("overloaded", "Busy.")])
    with ScriptedModel(scene) as model:
        name, data = events(b"".join(stream(model, dialect, first(dialect))[0]))[-1]
        if dialect == "responses":
            assert name == "response.failed"
            assert data["response"]["error"] == {"code": "overloaded", "message": "Busy."}
        else:
            assert data["error"]["message"] == "Busy."
            assert name == ("error" if dialect == "anthropic" else None)


def test_a_stall_lasts_until_the_client_goes_and_that_is_known():
    with ScriptedModel(scenario([Begin(), Stall()])) as model:
        with (
            pytest.raises(httpx2.ReadTimeout),
            httpx2.stream(
                "POST",
                model.url + PATHS["chat"],
                json=first("chat", stream=True),
                headers=HEADERS["chat"],
                timeout=0.3,
            ) as response,
        ):
            for _ in response.iter_raw():
                pass
        model.wait_until_quiet()
        assert model.requests[0].closed_by_client
        assert model.requests[0].sent > 0


def test_silence_before_the_response_leaves_the_client_without_a_head():
    with ScriptedModel(scenario([Stall()])) as model:
        with pytest.raises(httpx2.ReadTimeout):
            httpx2.post(
                model.url + PATHS["chat"], json=first("chat"), headers=HEADERS["chat"], timeout=0.2
            )
        model.wait_until_quiet()
        assert model.requests[0].closed_by_client


def test_a_client_that_goes_in_the_middle_of_a_paced_stream_is_noticed():
    reply = Reply((Text("word " * 1000, size=5),), pace=0.01)
    with ScriptedModel(scenario(reply)) as model:
        with httpx2.stream(
            "POST",
            model.url + PATHS["chat"],
            json=first("chat", stream=True),
            headers=HEADERS["chat"],
        ) as response:
            next(response.iter_raw())
        model.wait_until_quiet(timeout=2)
        assert model.requests[0].closed_by_client


@pytest.mark.parametrize("stream_asked", [True, False])
def test_a_barrier_holds_an_answer_until_it_is_released(stream_asked):
    with ScriptedModel(scenario([Text("a"), Barrier("go"), Text("b")])) as model:
        got = []
        body = first("chat", stream=stream_asked)
        thread = threading.Thread(target=lambda: got.append(post(model, "chat", body)))
        thread.start()
        model.wait_for_barrier("go")
        assert got == []
        assert model.playing == 1
        model.release("go")
        thread.join(5)
        assert got[0].status_code == 200


def test_a_client_that_goes_at_a_barrier_is_noticed():
    with ScriptedModel(scenario([Begin(), Barrier("go")])) as model:
        with pytest.raises(httpx2.ReadTimeout):
            httpx2.post(
                model.url + PATHS["chat"], json=first("chat"), headers=HEADERS["chat"], timeout=0.2
            )
        model.wait_until_quiet()
        assert model.requests[0].closed_by_client


def test_a_delay_is_as_long_as_it_says():
    with ScriptedModel(scenario([Delay(0.2), Text("late")])) as model:
        start = time.monotonic()
        assert answer(model, "chat", first("chat"))
        assert 0.2 <= time.monotonic() - start < 2


def test_connections_are_kept_alive_and_pipelined_requests_are_answered():
    with ScriptedModel(scenario("one")) as model:
        with httpx2.Client() as client:
            for _ in range(3):
                url = model.url + PATHS["chat"]
                assert client.post(url, json=first("chat"), headers=HEADERS["chat"]).is_success
        port = int(model.url.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port)) as link:
            link.sendall(b"GET /v1/models HTTP/1.1\r\nHost: x\r\n\r\n" * 2)
            data = b""
            while data.count(b"HTTP/1.1 200") < 2:
                data += link.recv(65536)


@pytest.mark.parametrize(
    "bad", [b"hello\r\n\r\n", b"POST /v1/messages HTTP/1.1\r\nContent-Length: no\r\n\r\n"]
)
def test_what_is_no_http_is_answered_400(bad):
    with ScriptedModel(scenario("one")) as model:
        port = int(model.url.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port)) as link:
            link.sendall(bad)
            assert link.recv(65536).startswith(b"HTTP/1.1 400 ")


def test_a_chunked_request_body_is_read():
    with ScriptedModel(scenario("one")) as model:
        body = iter([b'{"model":"m","messages":[{"role":"us', b'er","content":"hi"}]}'])
        headers = {**HEADERS["chat"], "content-type": "application/json"}
        assert httpx2.post(model.url + PATHS["chat"], content=body, headers=headers).is_success


def test_a_script_that_fails_is_told_to_the_client_and_to_the_test():
    def script(request):
        raise KeyError("oops")

    model = ScriptedModel(script)
    model.start()
    assert "oops" in post(model, "chat", first("chat")).text
    assert model.requests[0].outcome == "crashed"
    with pytest.raises(KeyError, match="oops"):
        model.__exit__(None, None, None)


def test_stopping_ends_answers_that_stall():
    with ScriptedModel(scenario([Begin(), Stall()])) as model:
        thread = threading.Thread(target=lambda: stream(model, "chat", first("chat")))
        thread.start()
        model.wait_for_requests(1)
    thread.join(5)
    assert not thread.is_alive()
    assert model.requests[0].outcome == "stopped"


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("dialect", DIALECTS)
def test_chaos_is_healed_by_trying_again(dialect, seed):
    calm = scenario([Reasoning("hm"), Text("grüße 👋 " * 5), Call("bash", {"a": "b"})])
    scene = chaotic(calm, seed, faults=0.8, most=3)
    assert chaotic(calm, seed, faults=0.8, most=3) == scene
    with ScriptedModel(scene) as model:
        for _ in range(len(scene.steps) - 1):
            try:
                response = post(model, dialect, first(dialect, stream=True))
                assert response.status_code != 200 or TERMINAL[dialect] not in response.content
            except httpx2.TransportError:
                pass
        whole = post(model, dialect, first(dialect, stream=True))
        assert TERMINAL[dialect] in whole.content
        assert model.violations == []


def test_chaos_leaves_what_comes_always():
    calm = scenario("a", step("title", times=ALWAYS))
    assert chaotic(calm, 1).steps[-1].times == ALWAYS
