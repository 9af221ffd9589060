"""What the three dialects stream: order of events, cuts at any byte, and the same words always."""

import json

import pytest
from scripted_requests import (
    DIALECTS,
    answer,
    calls_of,
    events,
    first,
    post,
    stream,
    text_of,
)

from scripted_model.scenario import (
    Begin,
    Call,
    Finish,
    Parallel,
    Raw,
    Reasoning,
    Reply,
    Text,
    Usage,
    scenario,
    step,
)
from scripted_model.server import ScriptedModel

WORDS = 'Grüße 👩‍👩‍👧 und Ключ\nein \\ "Zitat"'
FULL = [
    Reasoning("Erst überlegen …"),
    Text(WORDS),
    Call("bash", {"command": "echo é"}),
    Call("read", {"filePath": "a.txt"}),
]


def names(found):
    """Event names with runs of the same name folded."""
    folded = []
    for name, _ in found:
        if not folded or folded[-1] != name:
            folded.append(name)
    return folded


def streamed(scene, dialect, **changes):
    with ScriptedModel(scene) as model:
        chunks, broken = stream(model, dialect, first(dialect, **changes))
        assert broken is None
        assert model.violations == []
        return chunks


def test_a_chat_stream_names_the_role_streams_and_ends_with_usage_and_done():
    usage = {"stream_options": {"include_usage": True}}
    found = events(b"".join(streamed(scenario(FULL), "chat", **usage)))
    assert found[-1] == (None, "[DONE]")
    chunks = [data for _, data in found[:-1]]
    assert {chunk["object"] for chunk in chunks} == {"chat.completion.chunk"}
    assert len({chunk["id"] for chunk in chunks}) == 1
    assert chunks[0]["choices"][0]["delta"]["role"] == "assistant"
    assert chunks[-1]["choices"] == []
    assert chunks[-1]["usage"]["prompt_tokens"] > 0
    assert chunks[-2]["choices"][0]["finish_reason"] == "tool_calls"
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks[:-1]]
    assert "".join(delta.get("content") or "" for delta in deltas) == WORDS
    assert "".join(d.get("reasoning_content", "") for d in deltas) == "Erst überlegen …"
    calls = [call for delta in deltas for call in delta.get("tool_calls", [])]
    assert [call["index"] for call in calls if "id" in call] == [0, 1]
    second = "".join(c["function"]["arguments"] for c in calls if c["index"] == 1)
    assert json.loads(second) == {"filePath": "a.txt"}


def test_a_chat_stream_without_the_option_carries_no_usage():
    found = events(b"".join(streamed(scenario("hi"), "chat")))
    assert all("usage" not in data for _, data in found[:-1])


def test_an_anthropic_stream_has_its_events_in_order():
    found = events(b"".join(streamed(scenario(FULL), "anthropic")))
    block = ["content_block_start", "content_block_delta", "content_block_stop"]
    start = ["message_start", block[0], "ping", *block[1:]]
    assert names(found) == [*start, *block * 3, "message_delta", "message_stop"]
    assert all(name == data["type"] for name, data in found)
    assert found[-2][1]["delta"]["stop_reason"] == "tool_use"
    assert found[-2][1]["usage"]["output_tokens"] > 0
    kinds = [data["content_block"]["type"] for name, data in found if name == block[0]]
    assert kinds == ["thinking", "text", "tool_use", "tool_use"]
    deltas = [data["delta"] for name, data in found if name == block[1]]
    assert "".join(d["text"] for d in deltas if d["type"] == "text_delta") == WORDS
    assert [d["type"] for d in deltas].count("signature_delta") == 1


def test_a_responses_stream_has_its_events_in_order_and_numbered():
    found = events(b"".join(streamed(scenario(FULL), "responses")))
    assert [data["sequence_number"] for _, data in found] == list(range(len(found)))
    assert all(name == data["type"] for name, data in found)

    def item(*inner):
        inner = [f"response.{each}" for each in inner]
        return ["response.output_item.added", *inner, "response.output_item.done"]

    summary, call = "reasoning_summary", "function_call_arguments"
    expected = [
        "response.created",
        "response.in_progress",
        *item(
            f"{summary}_part.added",
            f"{summary}_text.delta",
            f"{summary}_text.done",
            f"{summary}_part.done",
        ),
        *item("content_part.added", "output_text.delta", "output_text.done", "content_part.done"),
        *item(f"{call}.delta", f"{call}.done") * 2,
        "response.completed",
    ]
    assert names(found) == expected
    response = found[-1][1]["response"]
    assert [each["type"] for each in response["output"]] == [
        "reasoning",
        "message",
        "function_call",
        "function_call",
    ]
    assert response["usage"]["total_tokens"] > 0
    deltas = [d["delta"] for n, d in found if n == "response.output_text.delta"]
    assert "".join(deltas) == WORDS


@pytest.mark.parametrize("dialect", DIALECTS)
def test_any_cut_of_the_bytes_and_any_line_end_says_the_same(dialect):
    def said(**wire):
        with ScriptedModel(scenario(Reply(tuple(FULL), **wire)), seed="s") as model:
            chunks, _ = stream(model, dialect, first(dialect))
            return chunks

    whole = said()
    for size, newline in ((1, "\r\n"), (2, "\n"), (3, "\r"), (17, "\r\n"), (100_000, "\n")):
        cut = said(wire_chunk=size, newline=newline)
        assert _clean(dialect, b"".join(cut)) == _clean(dialect, b"".join(whole))
        assert all(len(chunk) == size for chunk in cut[:-1])
    assert any(chunk and chunk[-1] >= 0xC0 for chunk in said(wire_chunk=1)), "no cut in a character"


def _clean(dialect, data):
    """The events without what differs from run to run."""
    text = json.dumps(events(data))
    for name in ("created", "created_at"):
        text = text.replace(f'"{name}": ', f'"{name}": 0, "was": ')
    return [part for part in text.split(", ") if '"was"' not in part]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_request_for_no_stream_gets_the_same_as_one_object(dialect):
    with ScriptedModel(scenario(FULL)) as model:
        reply = answer(model, dialect, first(dialect))
        assert text_of(dialect, reply) == WORDS
        assert len(calls_of(dialect, reply)) == 2
        assert model.violations == []


@pytest.mark.parametrize("dialect", DIALECTS)
def test_explicit_chunks_come_one_by_one(dialect):
    scene = scenario(Text(chunks=("a", "", "bc", "d")))
    found = events(b"".join(streamed(scene, dialect)))
    texts = []
    for _, data in found:
        if dialect == "chat" and data != "[DONE]":
            texts.append(data["choices"][0]["delta"].get("content"))
        elif dialect == "anthropic" and data["type"] == "content_block_delta":
            texts.append(data["delta"]["text"])
        elif dialect == "responses" and data["type"] == "response.output_text.delta":
            texts.append(data["delta"])
    assert [text for text in texts if text is not None][-4:] == ["a", "", "bc", "d"]


def test_parallel_calls_alternate_in_chat_and_in_responses():
    calls = Parallel((Call("a", {"x": "1234567890"}, size=4), Call("b", {"y": "12"}, size=4)))
    found = events(b"".join(streamed(scenario(calls), "chat")))
    order = [
        data["choices"][0]["delta"]["tool_calls"][0]["index"]
        for _, data in found[:-1]
        if "tool_calls" in data["choices"][0]["delta"]
    ]
    assert order == [0, 1, 0, 1, 0, 1, 0, 1, 0, 0]
    found = events(b"".join(streamed(scenario(calls), "responses")))
    order = [d["output_index"] for n, d in found if n.endswith("arguments.delta")]
    assert order == [0, 1, 0, 1, 0, 1, 0, 0]


def test_a_whole_call_comes_in_one_chat_delta():
    found = events(b"".join(streamed(scenario(Call("a", {"x": 1}, whole=True)), "chat")))
    (call,) = [
        data["choices"][0]["delta"]["tool_calls"][0]
        for _, data in found[:-1]
        if "tool_calls" in data["choices"][0]["delta"]
    ]
    assert json.loads(call["function"]["arguments"]) == {"x": 1}


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("text", ['{"command": "ls', "not json", '{"a": "\\ud800"}', ""])
def test_broken_arguments_go_out_as_they_are(dialect, text):
    found = b"".join(streamed(scenario(Call("bash", text, id="call_1")), dialect))
    pieces = []
    for _, data in events(found):
        if dialect == "chat" and data != "[DONE]":
            delta = data["choices"][0]["delta"]
            pieces += [c["function"]["arguments"] for c in delta.get("tool_calls", [])]
        elif dialect == "anthropic" and data["type"] == "content_block_delta":
            pieces.append(data["delta"]["partial_json"])
        elif dialect == "responses" and data["type"].endswith("arguments.delta"):
            pieces.append(data["delta"])
    assert "".join(pieces) == text


def test_arguments_that_are_empty_stream_as_anthropic_streams_them():
    found = events(b"".join(streamed(scenario(Call("list", {})), "anthropic")))
    deltas = [
        data["delta"]["partial_json"]
        for name, data in found
        if "delta" in name and "partial_json" in data["delta"]
    ]
    assert deltas == [""]


@pytest.mark.parametrize(
    ("reason", "chat", "anthropic", "responses"),
    [
        ("stop", "stop", "end_turn", None),
        ("length", "length", "max_tokens", "max_output_tokens"),
        ("content-filter", "content_filter", "refusal", "content_filter"),
        ("odd", "odd", "odd", "odd"),
    ],
)
def test_every_reason_has_the_word_of_its_dialect(reason, chat, anthropic, responses):
    scene = scenario([Text("half"), Finish(reason)])
    found = events(b"".join(streamed(scene, "chat")))
    assert found[-2][1]["choices"][0]["finish_reason"] == chat
    found = events(b"".join(streamed(scene, "anthropic")))
    assert found[-2][1]["delta"]["stop_reason"] == anthropic
    name, data = events(b"".join(streamed(scene, "responses")))[-1]
    assert name == ("response.incomplete" if responses else "response.completed")
    assert (data["response"]["incomplete_details"] or {}).get("reason") == responses


@pytest.mark.parametrize(
    ("arguments", "status"), [('{"command": "ls"}', "completed"), ('{"comm', "incomplete")]
)
def test_a_limit_leaves_a_whole_call_whole_and_a_cut_one_incomplete(arguments, status):
    scene = scenario([Call("bash", arguments), Finish("length")])
    found = events(b"".join(streamed(scene, "responses")))
    assert found[-1][0] == "response.incomplete"
    assert found[-1][1]["response"]["output"][0]["status"] == status
    assert (status == "completed") == any(n.endswith("arguments.done") for n, _ in found)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_scripted_usage_is_reported(dialect):
    scene = scenario([Text("hi"), Usage(input=1000, output=50, reasoning=20, cache_read=800)])
    with ScriptedModel(scene) as model:
        usage = answer(model, dialect, first(dialect))["usage"]
    if dialect == "chat":
        assert (usage["prompt_tokens"], usage["completion_tokens"]) == (1000, 50)
        assert usage["prompt_tokens_details"]["cached_tokens"] == 800
    elif dialect == "responses":
        assert (usage["input_tokens"], usage["output_tokens"]) == (1000, 50)
        assert usage["output_tokens_details"]["reasoning_tokens"] == 20
    else:
        assert (usage["input_tokens"], usage["cache_read_input_tokens"]) == (200, 800)
        assert usage["output_tokens"] == 50


def test_raw_bytes_go_into_the_stream_as_they_are():
    data = b"".join(streamed(scenario([Begin(), Raw(b": keep-alive\n\n"), Text("x")]), "chat"))
    assert b"\n\n: keep-alive\n\ndata: " in data


def test_replies_add_headers():
    reply = Reply((Text("x"),), headers={"x-ratelimit-remaining-requests": "7"})
    with ScriptedModel(scenario(reply)) as model:
        response = post(model, "chat", first("chat"))
        assert response.headers["x-ratelimit-remaining-requests"] == "7"
        assert response.headers["x-request-id"].startswith("req_")


def test_a_step_joins_all_that_is_said_and_keeps_the_wire():
    made = step(Reply((Text("a"),), wire_chunk=3), "b", Call("c"))
    assert made.reply == Reply((Text("a"), Text("b"), Call("c")), wire_chunk=3)
