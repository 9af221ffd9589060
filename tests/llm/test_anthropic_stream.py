import json
from typing import Any

import pytest
from model_samples import Heard, model, play

from roost.llm.models import (
    CallDelta,
    CallEnd,
    CallStart,
    Finish,
    ModelError,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    TextDelta,
    TextEnd,
    TextStart,
    Usage,
)
from roost.llm.providers.anthropic_stream import AnthropicDecoder

MODEL = model("anthropic")


def event(kind: str, **fields: Any) -> str:
    return json.dumps({"type": kind, **fields})


def start(index: int, kind: str, **fields: Any) -> str:
    block = {"type": kind, **fields}
    return event("content_block_start", index=index, content_block=block)


def delta(index: int, kind: str, **fields: Any) -> str:
    return event("content_block_delta", index=index, delta={"type": kind, **fields})


def stop(index: int) -> str:
    return event("content_block_stop", index=index)


BEGIN = event(
    "message_start",
    message={
        "usage": {
            "input_tokens": 7,
            "output_tokens": 1,
            "cache_read_input_tokens": 30,
            "cache_creation_input_tokens": 4,
        }
    },
)


def finish(reason: str, **usage: Any) -> list[str]:
    last = event(
        "message_delta", delta={"stop_reason": reason}, usage={"output_tokens": 9, **usage}
    )
    return [last, event("message_stop")]


def decoder(*taken: str) -> AnthropicDecoder:
    return AnthropicDecoder(MODEL, set(taken), lambda: "new")


def heard(*data: str) -> Heard:
    return Heard(MODEL, play(decoder(), *data))


def test_thinking_text_and_a_call() -> None:
    events = play(
        decoder(),
        BEGIN,
        event("ping"),
        start(0, "thinking", thinking="", signature=""),
        delta(0, "thinking_delta", thinking="hm"),
        delta(0, "signature_delta", signature="sig"),
        stop(0),
        start(1, "text", text=""),
        delta(1, "text_delta", text="Hi"),
        stop(1),
        start(2, "tool_use", id="toolu_1", name="bash", input={}),
        delta(2, "input_json_delta", partial_json=""),
        delta(2, "input_json_delta", partial_json='{"command":'),
        delta(2, "input_json_delta", partial_json='"ls"}'),
        stop(2),
        *finish("tool_use"),
    )
    assert events == [
        ReasoningStart("thinking-0"),
        ReasoningDelta("thinking-0", "hm"),
        ReasoningEnd("thinking-0", {"signature": "sig"}),
        TextStart("text-1"),
        TextDelta("text-1", "Hi"),
        TextEnd("text-1"),
        CallStart("tool_use-2", "toolu_1", "bash"),
        CallDelta("tool_use-2", '{"command":'),
        CallDelta("tool_use-2", '"ls"}'),
        CallEnd("tool_use-2"),
        Usage(7, 9, 0, 30, 4),
        Finish("tool-calls", "tool_use"),
    ]


def test_redacted_thinking_is_kept_for_handing_back() -> None:
    result = heard(
        BEGIN, start(0, "redacted_thinking", data="opaque=="), stop(0), *finish("end_turn")
    )
    assert result.message.content[0].metadata == {"redacted": "opaque=="}


def test_thinking_whose_words_are_withheld_still_has_its_signature() -> None:
    result = heard(
        BEGIN,
        start(0, "thinking", thinking="", signature=""),
        delta(0, "signature_delta", signature="s"),
        stop(0),
        *finish("end_turn"),
    )
    assert (result.reasoning, result.message.content[0].metadata) == ("", {"signature": "s"})


@pytest.mark.parametrize("given", [{}, {"command": "ls"}])
def test_arguments_may_come_with_the_start_or_not_at_all(given: dict[str, str]) -> None:
    result = heard(
        BEGIN, start(0, "tool_use", id="t", name="bash", input=given), stop(0), *finish("tool_use")
    )
    assert json.loads(result.calls[0].arguments) == given
    assert result.complete == {"tool_use-0"}


def test_a_call_cut_off_by_length_gets_no_end() -> None:
    result = heard(
        BEGIN,
        start(0, "tool_use", id="a", name="bash", input={}),
        delta(0, "input_json_delta", partial_json='{"command":"ls"}'),
        stop(0),
        start(1, "tool_use", id="b", name="bash", input={}),
        delta(1, "input_json_delta", partial_json='{"command":"rm -r'),
        stop(1),
        start(2, "tool_use", id="c", name="bash", input={}),
        stop(2),
        *finish("max_tokens"),
    )
    assert result.complete == {"tool_use-0"}
    assert result.finish == Finish("length", "max_tokens")


def test_broken_arguments_of_a_finished_call_are_complete() -> None:
    result = heard(
        BEGIN,
        start(0, "tool_use", id="a", name="bash", input={}),
        delta(0, "input_json_delta", partial_json="ls -l"),
        stop(0),
        *finish("tool_use"),
    )
    assert result.complete == {"tool_use-0"}
    assert result.calls[0].arguments == "ls -l"


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("refusal", "content-filter"),
        ("model_context_window_exceeded", "length"),
        ("pause_turn", "other"),
    ],
)
def test_why_it_stopped(word: str, reason: str) -> None:
    assert heard(BEGIN, start(0, "text", text="x"), stop(0), *finish(word)).finish == Finish(
        reason, word
    )


def test_thinking_tokens_are_told_apart() -> None:
    result = heard(BEGIN, *finish("end_turn", output_tokens_details={"thinking_tokens": 6}))
    assert result.usage == Usage(7, 3, 6, 30, 4)


def test_an_id_that_history_holds_is_replaced() -> None:
    events = play(
        decoder("t"),
        BEGIN,
        start(0, "tool_use", id="t", name="bash", input={}),
        stop(0),
        *finish("tool_use"),
    )
    assert events[0] == CallStart("tool_use-0", "new", "bash")


def test_a_stream_that_just_ends_is_a_network_error() -> None:
    with pytest.raises(ModelError) as caught:
        heard(BEGIN, start(0, "text", text="x"), stop(0))
    assert caught.value.kind == "network"


def test_the_last_event_may_be_missing_once_the_reason_is_told() -> None:
    assert heard(BEGIN, start(0, "text", text="x"), stop(0), finish("end_turn")[0]).text == "x"


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("overloaded_error", "server"),
        ("rate_limit_error", "rate_limit"),
        ("api_error", "server"),
        ("authentication_error", "auth"),
        ("billing_error", "quota"),
    ],
)
def test_an_error_inside_the_stream(kind: str, expected: str) -> None:
    with pytest.raises(ModelError) as caught:
        heard(BEGIN, event("error", error={"type": kind, "message": "no"}))
    assert caught.value.kind == expected


def test_unknown_blocks_and_events_are_passed_over() -> None:
    result = heard(
        BEGIN,
        event("brand_new"),
        start(0, "server_tool_use", id="s", name="web"),
        delta(0, "input_json_delta", partial_json="{}"),
        stop(0),
        start(1, "text", text=""),
        delta(1, "citations_delta", citation={}),
        delta(1, "text_delta", text="ok"),
        stop(1),
        *finish("end_turn"),
    )
    assert result.text == "ok"
