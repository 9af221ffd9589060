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
from roost.llm.providers.responses_stream import ResponsesDecoder

MODEL = model("openai-responses")
USAGE = {
    "input_tokens": 20,
    "output_tokens": 9,
    "total_tokens": 29,
    "input_tokens_details": {"cached_tokens": 12, "cache_write_tokens": 3},
    "output_tokens_details": {"reasoning_tokens": 4},
}


def event(kind: str, **fields: Any) -> str:
    return json.dumps({"type": f"response.{kind}", "sequence_number": 1, **fields})


def added(at: int, kind: str, **fields: Any) -> str:
    return event("output_item.added", output_index=at, item={"type": kind, **fields})


def done(at: int, kind: str, **fields: Any) -> str:
    return event("output_item.done", output_index=at, item={"type": kind, **fields})


def said(at: int, text: str) -> str:
    return event("output_text.delta", output_index=at, content_index=0, item_id="m", delta=text)


def end(kind: str = "completed", **fields: Any) -> str:
    return event(kind, response={"status": kind, "usage": USAGE, **fields})


def heard(*data: str, taken: tuple[str, ...] = ()) -> Heard:
    return Heard(MODEL, play(ResponsesDecoder(MODEL, set(taken), lambda: "new"), *data))


def test_reasoning_text_and_a_call() -> None:
    summary = [{"type": "summary_text", "text": "one"}, {"type": "summary_text", "text": "two"}]
    sealed = {"id": "rs_1", "summary": summary, "encrypted_content": "sealed"}
    result = heard(
        event("created", response={}),
        added(0, "reasoning", id="rs_1"),
        event("reasoning_summary_text.delta", output_index=0, summary_index=0, delta="one"),
        event("reasoning_summary_text.delta", output_index=0, summary_index=1, delta="two"),
        done(0, "reasoning", **sealed),
        added(1, "message", id="m"),
        said(1, "Hi"),
        done(1, "message", phase="commentary"),
        added(2, "function_call", id="fc_1", call_id="call_1", name="bash", arguments=""),
        event("function_call_arguments.delta", output_index=2, delta='{"command"'),
        event("function_call_arguments.delta", output_index=2, delta=':"ls"}'),
        event("function_call_arguments.done", output_index=2, arguments='{"command":"ls"}'),
        done(2, "function_call", call_id="call_1", name="bash", status="completed"),
        end(),
    )
    assert result.events == [
        ReasoningStart("reasoning-0"),
        ReasoningDelta("reasoning-0", "one"),
        ReasoningDelta("reasoning-0", "\n\ntwo"),
        ReasoningEnd("reasoning-0", sealed),
        TextStart("message-1"),
        TextDelta("message-1", "Hi"),
        TextEnd("message-1", {"model": MODEL.ref, "phase": "commentary"}),
        CallStart("function_call-2", "call_1", "bash"),
        CallDelta("function_call-2", '{"command"'),
        CallDelta("function_call-2", ':"ls"}'),
        CallEnd("function_call-2"),
        Usage(5, 5, 4, 12, 3),
        Finish("tool-calls", "completed"),
    ]


def test_items_without_deltas_are_read_from_their_end() -> None:
    result = heard(
        added(0, "message"),
        done(0, "message", content=[{"type": "output_text", "text": "Hi"}]),
        added(1, "function_call", call_id="c", name="bash"),
        done(1, "function_call", call_id="c", name="bash", arguments="{}", status="completed"),
        end(),
    )
    assert (result.text, result.calls[0].arguments) == ("Hi", "{}")


def test_a_call_cut_off_by_length_gets_no_end() -> None:
    result = heard(
        added(0, "function_call", call_id="c", name="bash"),
        event("function_call_arguments.delta", output_index=0, delta='{"command":"rm'),
        done(0, "function_call", call_id="c", name="bash", status="incomplete"),
        end("incomplete", incomplete_details={"reason": "max_output_tokens"}),
    )
    assert result.complete == set()
    assert result.finish == Finish("length", "max_output_tokens")


def test_a_filtered_answer() -> None:
    last = end("incomplete", incomplete_details={"reason": "content_filter"})
    assert heard(last).finish == Finish("content-filter", "content_filter")


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (end("failed", error={"code": "server_error", "message": "boom"}), "server"),
        (
            end("failed", error={"code": "rate_limit_exceeded", "message": "try again in 1s"}),
            "rate_limit",
        ),
        (end("failed", error={"code": "image_parse_error", "message": "bad"}), "media"),
        (
            json.dumps({"type": "error", "code": "context_length_exceeded", "message": "too long"}),
            "overflow",
        ),
        (
            json.dumps(
                {
                    "type": "error",
                    "error": {
                        "type": "invalid_request_error",
                        "code": "invalid_encrypted_content",
                        "message": "no",
                    },
                }
            ),
            "reasoning",
        ),
    ],
)
def test_failures_inside_the_stream(data: str, kind: str) -> None:
    with pytest.raises(ModelError) as caught:
        heard(data)
    assert caught.value.kind == kind


def test_a_stream_that_just_ends_is_a_network_error() -> None:
    with pytest.raises(ModelError) as caught:
        heard(added(0, "message"), said(0, "x"), done(0, "message"))
    assert caught.value.kind == "network"


def test_an_id_that_history_holds_is_replaced() -> None:
    call = added(0, "function_call", call_id="c", name="bash")
    result = heard(call, done(0, "function_call", status="completed"), end(), taken=("c",))
    assert (result.calls[0].id, result.calls[0].arguments) == ("new", "{}")
