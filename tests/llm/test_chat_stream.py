import json
from typing import Any

import pytest
from model_samples import Heard, merged, model, play

from roost.llm.models import (
    CallDelta,
    CallEnd,
    CallStart,
    Finish,
    ModelError,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    StreamEvent,
    TextDelta,
    TextEnd,
    TextStart,
    Usage,
)
from roost.llm.providers.chat_stream import ChatDecoder

MODEL = model()
DONE = "[DONE]"


def decoder(*taken: str) -> ChatDecoder:
    made = iter(f"new-{n}" for n in range(9))
    return ChatDecoder(MODEL, set(taken), lambda: next(made))


def chunk(finish: str | None = None, **delta: Any) -> str:
    return json.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})


def call(
    index: int | None = None,
    identifier: str | None = None,
    name: str | None = None,
    arguments: Any = None,
) -> dict[str, Any]:
    piece: dict[str, Any] = {"function": {"name": name, "arguments": arguments}}
    return piece | {"index": index, "id": identifier}


def calls(*pieces: dict[str, Any]) -> str:
    return chunk(tool_calls=list(pieces))


def heard(*data: str, taken: tuple[str, ...] = ()) -> Heard:
    return Heard(MODEL, play(decoder(*taken), *data))


def test_text_streams_between_its_start_and_its_end() -> None:
    events = play(
        decoder(),
        chunk(role="assistant", content=""),
        chunk(content="Hel"),
        chunk(content="lo"),
        chunk("stop"),
        DONE,
    )
    assert events == [
        TextStart("text-1"),
        TextDelta("text-1", "Hel"),
        TextDelta("text-1", "lo"),
        TextEnd("text-1"),
        Finish("stop", "stop"),
    ]


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_reasoning_remembers_the_field_it_came_in(field: str) -> None:
    events = play(decoder(), chunk(**{field: "hm"}), chunk(content="ok"), chunk("stop"), DONE)
    assert events[:4] == [
        ReasoningStart("reasoning-1"),
        ReasoningDelta("reasoning-1", "hm"),
        ReasoningEnd("reasoning-1", {"field": field}),
        TextStart("text-2"),
    ]


def test_reasoning_sent_twice_under_two_names_is_heard_once() -> None:
    assert (
        heard(chunk(reasoning="hm", reasoning_content="hm"), chunk("stop"), DONE).reasoning == "hm"
    )


def test_reasoning_details_are_put_together_entry_by_entry() -> None:
    def details(**entry: Any) -> str:
        return chunk(reasoning=entry.get("text", ""), reasoning_details=[{"index": 0, **entry}])

    result = heard(
        details(type="reasoning.text", text="a"),
        details(type="reasoning.text", text="b"),
        details(type="reasoning.text", text="", signature="sig"),
        chunk("stop", content="x"),
        DONE,
    )
    part = result.message.content[0]
    assert part.text == "ab"
    assert part.metadata["reasoning_details"] == [
        {"index": 0, "type": "reasoning.text", "text": "ab", "signature": "sig"}
    ]


def test_thinking_that_comes_as_a_list_of_parts_is_reasoning() -> None:
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
        {"type": "text", "text": "ok"},
    ]
    result = heard(chunk(content=parts), chunk("stop"), DONE)
    assert (result.reasoning, result.text) == ("hm", "ok")


def test_a_call_in_pieces_by_index() -> None:
    events = play(
        decoder(),
        calls(call(0, "c1", "bash", "")),
        calls(call(0, None, None, '{"a"')),
        calls(call(0, None, None, ":1}")),
        chunk("tool_calls"),
        DONE,
    )
    assert events == [
        CallStart("call-0", "c1", "bash"),
        CallDelta("call-0", '{"a"'),
        CallDelta("call-0", ":1}"),
        CallEnd("call-0"),
        Finish("tool-calls", "tool_calls"),
    ]


def test_two_calls_whose_pieces_alternate() -> None:
    result = heard(
        calls(call(0, "a", "x", '{"n"')),
        calls(call(1, "b", "y", '{"m"')),
        calls(call(0, None, None, ":1}")),
        calls(call(1, None, None, ":2}")),
        chunk("tool_calls"),
        DONE,
    )
    assert [(c.id, c.name, c.arguments) for c in result.calls] == [
        ("a", "x", '{"n":1}'),
        ("b", "y", '{"m":2}'),
    ]


WHOLE = ('{"n":1}', '{"n":2}')
SLOPPY: dict[str, list[str]] = {
    "whole calls in one chunk": [calls(call(0, "a", "x", WHOLE[0]), call(1, "b", "x", WHOLE[1]))],
    "no index": [calls(call(None, "a", "x", WHOLE[0])), calls(call(None, "b", "x", WHOLE[1]))],
    "no index, in pieces": [
        calls(call(None, "a", "x", '{"n"')),
        calls(call(None, "a", None, ":1}")),
        calls(call(None, "b", "x", '{"n"')),
        calls(call(None, None, None, ":2}")),
    ],
    "no id": [calls(call(0, None, "x", WHOLE[0])), calls(call(1, None, "x", WHOLE[1]))],
    "no id and no index": [calls(call(None, None, "x", w)) for w in WHOLE],
    "empty id": [calls(call(n, "", "x", w)) for n, w in enumerate(WHOLE)],
    "the same id twice": [calls(call(n, "a", "x", w)) for n, w in enumerate(WHOLE)],
    "index 0 for every call": [calls(call(0, i, "x", w)) for i, w in zip("ab", WHOLE, strict=True)],
    "index 0 and no id": [calls(call(0, None, "x", w)) for w in WHOLE],
    "index 0 and the same id": [calls(call(0, "a", "x", w)) for w in WHOLE],
    "id and name in every piece": [
        calls(call(0, "a", "x", "")),
        calls(call(0, "a", "x", '{"n"')),
        calls(call(0, "a", "x", ":1}")),
        calls(call(1, "b", "x", '{"n"')),
        calls(call(1, "b", "x", ":2}")),
    ],
    "arguments as an object": [calls(call(0, "a", "x", {"n": 1}), call(1, "b", "x", {"n": 2}))],
    "index from one on": [
        calls(call(n + 1, i, "x", w)) for n, (i, w) in enumerate(zip("ab", WHOLE, strict=True))
    ],
}


@pytest.mark.parametrize("case", SLOPPY)
def test_sloppy_servers_still_give_two_calls(case: str) -> None:
    result = heard(*SLOPPY[case], chunk("tool_calls"), DONE)
    assert [(c.name, c.arguments) for c in result.calls] == [("x", WHOLE[0]), ("x", WHOLE[1])]
    assert len({c.id for c in result.calls}) == 2
    assert all(c.id for c in result.calls)
    assert result.complete == {"call-0", "call-1"}


def test_an_id_that_history_holds_is_replaced() -> None:
    result = heard(
        calls(call(0, "call_0", "x", "{}")), chunk("tool_calls"), DONE, taken=("call_0",)
    )
    assert result.calls[0].id == "new-0"


def test_a_call_without_arguments_has_an_empty_object() -> None:
    assert heard(calls(call(0, "a", "x", "")), chunk("tool_calls"), DONE).calls[0].arguments == "{}"


def test_an_old_style_function_call_is_a_call() -> None:
    result = heard(
        chunk(function_call={"name": "x", "arguments": "{}"}), chunk("function_call"), DONE
    )
    assert result.calls[0].name == "x"
    assert result.finish == Finish("tool-calls", "function_call")


def test_calls_that_end_with_stop_are_calls_all_the_same() -> None:
    result = heard(calls(call(0, "a", "x", "{}")), chunk("stop"), DONE)
    assert result.finish == Finish("tool-calls", "stop")


def test_a_call_cut_off_by_length_gets_no_end_and_a_whole_one_does() -> None:
    result = heard(
        calls(call(0, "a", "x", '{"n":1}')),
        calls(call(1, "b", "x", '{"path":"/et')),
        chunk("length"),
        DONE,
    )
    assert result.complete == {"call-0"}
    assert result.finish == Finish("length", "length")


def test_googles_thought_signature_is_kept_for_its_model() -> None:
    piece = call(0, "a", "x", "{}") | {"extra_content": {"google": {"thought_signature": "s"}}}
    result = heard(calls(piece), chunk("tool_calls"), DONE)
    assert result.calls[0].metadata == {
        "model": MODEL.ref,
        "extra_content": {"google": {"thought_signature": "s"}},
    }


@pytest.mark.parametrize(
    ("raw", "usage"),
    [
        ({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}, Usage(10, 5)),
        (
            {
                "prompt_tokens": 10,
                "completion_tokens": 5,
                "total_tokens": 15,
                "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 1},
                "completion_tokens_details": {"reasoning_tokens": 2},
            },
            Usage(5, 3, 2, 4, 1),
        ),
        (
            {"prompt_tokens": 10, "completion_tokens": 5, "prompt_cache_hit_tokens": 6},
            Usage(4, 5, 0, 6),
        ),
        ({"prompt_tokens": 10, "completion_tokens": 5, "cached_tokens": 6}, Usage(4, 5, 0, 6)),
        # xAI counts reasoning beside the answer.
        (
            {
                "prompt_tokens": 10,
                "completion_tokens": 5,
                "total_tokens": 22,
                "completion_tokens_details": {"reasoning_tokens": 7},
            },
            Usage(10, 5, 7),
        ),
        ({"prompt_tokens": 10.0, "completion_tokens": None}, Usage(10, 0)),
    ],
)
def test_usage_in_the_words_of_many_servers(raw: dict[str, Any], usage: Usage) -> None:
    last = json.dumps({"choices": [], "usage": raw})
    assert heard(chunk(content="x"), chunk("stop"), last, DONE).usage == usage


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("stop", "stop"),
        ("length", "length"),
        ("content_filter", "content-filter"),
        ("SAFETY", "content-filter"),
        ("eos", "stop"),
        ("banana", "other"),
        ("error", "error"),
    ],
)
def test_why_it_stopped(word: str, reason: str) -> None:
    assert heard(chunk(content="x"), chunk(word), DONE).finish == Finish(reason, word)


def test_a_stream_may_end_without_its_mark_once_the_model_has_finished() -> None:
    assert heard(chunk(content="x"), chunk("stop")).finish == Finish("stop", "stop")


def test_a_mark_without_a_reason_is_an_end() -> None:
    assert heard(chunk(content="x"), DONE).finish == Finish("stop", "")


def test_a_call_without_any_reason_is_complete_only_if_it_is_whole() -> None:
    assert heard(calls(call(0, "a", "x", '{"n":')), DONE).complete == set()


def test_a_stream_that_just_ends_is_a_network_error() -> None:
    with pytest.raises(ModelError) as caught:
        heard(chunk(content="x"))
    assert caught.value.kind == "network"


def test_an_answer_in_one_piece_is_taken_too() -> None:
    whole = {
        "choices": [{"message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}]
    }
    assert heard(json.dumps(whole)).text == "hi"


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"message": "Overloaded", "code": 503}, "server"),
        ({"message": "slow down", "code": 429}, "rate_limit"),
        ({"message": "maximum context length is 4096 tokens"}, "overflow"),
        ({"message": "no", "code": "insufficient_quota"}, "quota"),
        ("it broke", "server"),
    ],
)
def test_an_error_inside_the_stream(error: Any, kind: str) -> None:
    with pytest.raises(ModelError) as caught:
        heard(chunk(content="x"), json.dumps({"error": error}))
    assert caught.value.kind == kind


@pytest.mark.parametrize("data", ["{", "nothing", '{"choices": 3}', "[]"])
def test_what_cannot_be_read_is_an_error_of_its_own(data: str) -> None:
    with pytest.raises(ModelError) as caught:
        heard(data)
    assert caught.value.kind == "invalid_stream"


def test_a_lone_surrogate_and_broken_utf8_become_replacement_characters() -> None:
    bad = decoder().feed(b'{"choices":[{"delta":{"content":"a\\ud800b"}}]}')
    assert bad[-1] == TextDelta("text-1", "a\ufffdb")
    bad = decoder().feed(b'{"choices":[{"delta":{"content":"a\xff"}}]}')
    assert bad[-1] == TextDelta("text-1", "a\ufffd")


def test_other_choices_and_late_data_are_not_heard() -> None:
    other = json.dumps({"choices": [{"index": 1, "delta": {"content": "no"}}]})
    assert heard(other, chunk("stop", content="yes"), DONE, chunk(content="late")).text == "yes"


def test_events_do_not_depend_on_how_finely_the_text_is_cut() -> None:
    words = "The quick brown fox jumps."

    def cut(size: int) -> list[StreamEvent]:
        pieces = [words[i : i + size] for i in range(0, len(words), size)]
        return merged(play(decoder(), *(chunk(content=p) for p in pieces), chunk("stop"), DONE))

    assert cut(1) == cut(3) == cut(100)
