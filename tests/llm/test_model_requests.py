import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from model_samples import (
    BASH,
    CALM,
    DIALECTS,
    answered,
    asked,
    called,
    model,
    png,
    request,
    user,
)

from roost.llm.models import (
    AssistantMessage,
    Dialect,
    Media,
    Message,
    Model,
    ModelRequest,
    Reasoning,
    Text,
    ToolCall,
    ToolMessage,
    ToolResult,
    UserMessage,
)
from roost.llm.providers import anthropic, openai_chat
from roost.llm.providers.cache import EncodingCache
from roost.llm.providers.dialects import prepare
from roost.llm.providers.wire import object_json
from scripted_model.picture import Dialect as WireDialect
from scripted_model.reasoning_rules import ReasoningBook
from scripted_model.signing import Signer
from scripted_model.strict import Reader

WIRE: dict[Dialect, WireDialect] = {
    "openai-chat": "chat",
    "openai-responses": "responses",
    "anthropic": "anthropic",
}
PDF = Media("application/pdf", base64.b64encode(b"%PDF-1.4\n%%EOF\n").decode(), "paper.pdf")


def body(asked_for: ModelRequest, cache: EncodingCache | None = None) -> dict[str, Any]:
    wire, _ = prepare(asked_for, cache or EncodingCache())
    return json.loads(wire.body)


def violations(asked_for: ModelRequest) -> list[str]:
    """What the strictest provider would refuse."""
    wire, _ = prepare(asked_for, EncodingCache())
    reader = Reader(ReasoningBook(Signer("s")), strict=True)
    reading = reader.read(WIRE[asked_for.model.dialect], wire.body, {})
    return [found.message for found in reading.violations]


def items(asked_for: ModelRequest) -> list[Any]:
    whole = body(asked_for)
    return whole["input"] if "input" in whole else whole["messages"]


AWKWARD: dict[str, tuple[Message, ...]] = {
    "nothing": (),
    "blank words": (user("hi"), user("  \n")),
    "only blank words": (user(" "),),
    "users in a row": (user("one"), user("two"), user("three")),
    "an assistant first": (AssistantMessage((Text("hello"),)), user("hi")),
    "an assistant last": (user("hi"), AssistantMessage((Text("hello"),))),
    "assistants in a row": (
        user("hi"),
        AssistantMessage((Text("a"),)),
        AssistantMessage((Text("b"),)),
        user("go on"),
    ),
    "an empty assistant": (user("hi"), AssistantMessage(()), user("again")),
    "only reasoning of another model": (
        user("hi"),
        AssistantMessage((Reasoning("hm", "other/model"),)),
        user("again"),
    ),
    "reasoning that nothing follows": (
        user("hi"),
        AssistantMessage(
            (Text("x"), Reasoning("hm", "test/scripted-reasoner", {"signature": "s"}))
        ),
        user("again"),
    ),
    "a call without a result": (user("hi"), asked(called("c1")), user("stop")),
    "a call without a result at the end": (user("hi"), asked(called("c1"))),
    "a result without a call": (user("hi"), answered("c9"), user("again")),
    "one of two results": (user("hi"), asked(called("c1"), called("c2")), answered("c1")),
    "results in another order": (
        user("hi"),
        asked(called("c1"), called("c2")),
        ToolMessage((ToolResult("c2", "bash", "b"), ToolResult("c1", "bash", "a"))),
    ),
    "a result too many": (
        user("hi"),
        asked(called("c1")),
        ToolMessage((ToolResult("c1", "bash", "a"), ToolResult("c7", "bash", "b"))),
    ),
    "an empty result": (user("hi"), asked(called("c1")), answered("c1", "")),
    "a blank result": (user("hi"), asked(called("c1")), answered("c1", " \n")),
    "words while tools ran": (user("hi"), asked(called("c1")), answered("c1"), user("hurry")),
    "arguments that are no object": (user("hi"), asked(called("c1", "[1]")), answered("c1")),
    "arguments that are no JSON": (user("hi"), asked(called("c1", "ls -l")), answered("c1")),
    "no arguments": (user("hi"), asked(called("c1", "")), answered("c1")),
    "a lone surrogate in arguments": (
        user("hi"),
        asked(called("c1", '{"command":"\\ud800"}')),
        answered("c1"),
    ),
    "lone surrogates in words": (
        user("h\ud800i"),
        asked(called("c1"), text="\udfff"),
        answered("c1", "out\ud800"),
    ),
    "an id no API takes": (user("hi"), asked(called("call:1/x y")), answered("call:1/x y")),
    "a very long id": (user("hi"), asked(called("c" * 90)), answered("c" * 90)),
    "an image": (user("look", png()),),
    "an image alone": (UserMessage((png(),)),),
    "an image in a result": (user("hi"), asked(called("c1")), answered("c1", "see", png())),
    "an image in a result and words after it": (
        user("hi"),
        asked(called("c1")),
        answered("c1", "", png()),
        user("what is it?"),
    ),
    "an empty image": (user("look", Media("image/png", "", "gone.png")),),
    "an image of a kind no API takes": (user("look", Media("image/tiff", "AAAA", "a.tiff")),),
    "fifty images": tuple(user(f"shot {n}", png(seed=n)) for n in range(50)),
    "fifty images in results": (
        user("hi"),
        *(
            message
            for n in range(50)
            for message in (asked(called(f"c{n}")), answered(f"c{n}", "x", png(seed=n)))
        ),
    ),
}


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("case", AWKWARD)
def test_whatever_history_holds_the_strictest_api_takes_it(case: str, dialect: Dialect) -> None:
    assert violations(request(model(dialect), *AWKWARD[case])) == []


PARTS = st.text(st.characters(), max_size=12)
ARGUMENTS = st.one_of(
    PARTS,
    st.sampled_from(["", "{}", "[]", "null", '{"a":1', '"{}"', '{"a":NaN}', '{"\\ud800":1}']),
    st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=5)).map(json.dumps),
)
IDS = st.sampled_from([f"id-{n}" for n in range(400)])
WORDS = PARTS.map(Text)
THOUGHTS = st.builds(Reasoning, PARTS, st.sampled_from(["other/model", "test/x"]))
CALLS = st.builds(ToolCall, IDS, st.just("bash"), ARGUMENTS)
RESULTS = st.builds(ToolResult, IDS, st.just("bash"), PARTS, st.booleans())
MESSAGES = st.one_of(
    st.builds(UserMessage, st.lists(WORDS | st.just(png()), max_size=3).map(tuple)),
    st.builds(
        AssistantMessage,
        st.lists(
            WORDS | THOUGHTS | CALLS, max_size=4, unique_by=lambda p: getattr(p, "id", id(p))
        ).map(tuple),
    ),
    st.builds(ToolMessage, st.lists(RESULTS, max_size=3, unique_by=lambda r: r.id).map(tuple)),
)


def unique_calls(messages: list[Message]) -> tuple[Message, ...]:
    """The same messages, each call with an id of its own as streams give them."""
    seen: set[str] = set()
    result: list[Message] = []
    for message in messages:
        if isinstance(message, AssistantMessage):
            ids = [part.id for part in message.content if isinstance(part, ToolCall)]
            if seen & set(ids):
                continue
            seen |= set(ids)
        result.append(message)
    return tuple(result)


@pytest.mark.parametrize("dialect", DIALECTS)
@given(st.lists(MESSAGES, max_size=8).map(unique_calls))
@CALM
def test_any_history_at_all_makes_a_valid_request(
    dialect: Dialect, messages: tuple[Message, ...]
) -> None:
    assert violations(request(model(dialect), *messages)) == []


@pytest.mark.parametrize("dialect", DIALECTS)
@given(st.lists(MESSAGES, max_size=10).map(unique_calls), st.integers(1, 4))
@CALM
def test_a_cache_that_grew_step_by_step_gives_the_bytes_of_a_fresh_one(
    dialect: Dialect, messages: tuple[Message, ...], stride: int
) -> None:
    cache = EncodingCache()
    for end in [*range(0, len(messages), stride), len(messages)]:
        asked_for = request(model(dialect), *messages[:end])
        grown, _ = prepare(asked_for, cache)
        fresh, _ = prepare(asked_for, EncodingCache())
        assert grown.body == fresh.body


@pytest.mark.parametrize("dialect", ["openai-chat", "openai-responses"])
def test_a_request_is_a_byte_prefix_of_the_next(dialect: Dialect) -> None:
    cache = EncodingCache()
    history: list[Message] = [user("go")]
    before = b""
    for n in range(20):
        wire, _ = prepare(request(model(dialect), *history), cache)
        assert wire.body.startswith(before[: -len(b"]}")])
        before = wire.body
        history += [asked(called(f"c{n}"), text="next"), answered(f"c{n}", "out")]


def test_anthropics_requests_share_their_prefix_but_for_the_marks() -> None:
    cache = EncodingCache()
    history: list[Message] = [user("go")]
    mark = b',"cache_control":{"type":"ephemeral"}'
    before = b""
    for n in range(20):
        wire, _ = prepare(request(model("anthropic"), *history), cache)
        assert wire.body.count(mark) == min(4, 3 + n)
        plain = wire.body.replace(mark, b"")
        assert plain.startswith(before[: -len(b"]}")])
        before = plain
        history += [asked(called(f"c{n}"), text="next"), answered(f"c{n}", "out")]


def test_anthropics_marks_stand_on_system_tools_and_the_last_two_user_messages() -> None:
    whole = body(
        request(
            model("anthropic"),
            user("a"),
            asked(called("c")),
            answered("c"),
            asked(called("d")),
            answered("d"),
            user("b"),
        )
    )
    mark = {"type": "ephemeral"}
    assert whole["system"][-1]["cache_control"] == mark
    assert whole["tools"][-1]["cache_control"] == mark
    marked = [m["content"][-1].get("cache_control") for m in whole["messages"]]
    assert marked == [None, None, mark, None, mark]
    assert whole["messages"][-1]["content"][0]["type"] == "tool_result"


def test_only_the_model_that_thought_gets_its_thinking_back() -> None:
    def thinking(of: str) -> list[Any]:
        history = AssistantMessage((Reasoning("hm", of, {"signature": "sig"}), called("c1")))
        return items(request(model("anthropic"), user("a"), history, answered("c1")))[1]["content"]

    assert thinking("test/scripted-reasoner")[0] == {
        "type": "thinking",
        "thinking": "hm",
        "signature": "sig",
    }
    assert [block["type"] for block in thinking("other/model")] == ["tool_use"]


def test_redacted_thinking_goes_back_as_it_came() -> None:
    history = AssistantMessage(
        (Reasoning("", "test/scripted-reasoner", {"redacted": "opaque"}), Text("x"))
    )
    sent = items(request(model("anthropic"), user("a"), history, user("b")))[1]["content"][0]
    assert sent == {"type": "redacted_thinking", "data": "opaque"}


def test_reasoning_goes_back_under_the_name_it_came_in() -> None:
    history = AssistantMessage(
        (Reasoning("hm", "test/scripted-reasoner", {"field": "reasoning"}), called("c1"))
    )
    sent = items(request(model(), user("a"), history, answered("c1")))[2]
    assert sent["reasoning"] == "hm"
    assert "reasoning_content" not in sent


def test_reasoning_without_tools_in_play_stays_here() -> None:
    history = AssistantMessage(
        (Reasoning("hm", "test/scripted-reasoner", {"field": "reasoning"}), Text("x"))
    )
    assert "reasoning" not in items(request(model(), user("a"), history, user("b"), tools=()))[2]


def test_sealed_reasoning_goes_back_byte_for_byte() -> None:
    sealed = {
        "id": "rs_1",
        "summary": [{"type": "summary_text", "text": "hm"}],
        "encrypted_content": "abc==",
    }
    history = AssistantMessage((Reasoning("hm", "test/scripted-reasoner", sealed), called("c1")))
    sent = items(request(model("openai-responses"), user("a"), history, answered("c1")))[1]
    assert sent == {"type": "reasoning", **sealed}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_model_that_sees_nothing_is_told_what_was_there(dialect: Dialect) -> None:
    blind = model(dialect, reads_images=False, reads_pdf=False)
    whole = body(request(blind, user("look", png(name="shot.png"), PDF)))
    said = json.dumps(whole)
    assert "[The image shot.png was left out: this model does not read images]" in said
    assert "[The document paper.pdf was left out" in said
    assert "base64," not in said


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_oldest_of_too_many_images_become_notes(dialect: Dialect) -> None:
    shots = [user(f"shot {n}", png(name=f"{n}.png", seed=n)) for n in range(23)]
    said = json.dumps(body(request(model(dialect), *shots)))
    gone = [n for n in range(23) if f"[The image {n}.png is no longer shown" in said]
    assert gone == list(range(5))


def test_a_large_image_is_named_and_left_out() -> None:
    large = Media("image/png", "A" * (6 * 1024 * 1024), "huge.png")
    said = json.dumps(body(request(model(), user("look", large))))
    assert "[The image huge.png was left out: it is too large]" in said
    assert len(said) < 10_000


def test_openai_reads_pdf_and_others_are_told_of_it() -> None:
    openai = model(base_url="https://api.openai.com/v1")
    part = items(request(openai, user("read", PDF)))[1]["content"][1]
    assert part["file"]["filename"] == "paper.pdf"
    assert "takes no documents" in json.dumps(body(request(model(), user("read", PDF))))


@pytest.mark.parametrize(
    ("base_url", "field"),
    [("http://localhost/v1", "max_tokens"), ("https://api.openai.com/v1", "max_completion_tokens")],
)
def test_the_limit_has_the_name_that_the_server_knows(base_url: str, field: str) -> None:
    assert body(request(model(base_url=base_url), user("hi"), max_output=77))[field] == 77


def test_mistral_gets_short_ids_and_no_user_right_after_a_tool() -> None:
    mistral = model(base_url="https://api.mistral.ai/v1")
    sent = items(
        request(mistral, user("a"), asked(called("toolu_abc")), answered("toolu_abc"), user("b"))
    )
    short = sent[2]["tool_calls"][0]["id"]
    assert short.isalnum()
    assert len(short) == 9
    assert sent[3]["tool_call_id"] == short
    assert [m["role"] for m in sent[3:]] == ["tool", "assistant", "user"]


def test_claude_behind_openrouter_gets_cache_breakpoints() -> None:
    claude = model(base_url="https://openrouter.ai/api/v1", id="anthropic/claude-sonnet-5.5")
    sent = items(request(claude, user("a"), asked(called("c")), answered("c", "out")))
    mark = {"type": "ephemeral"}
    assert [m["content"][-1].get("cache_control") for m in (sent[0], sent[1], sent[3])] == [
        mark
    ] * 3


def effort(of: Model, variant: str, **changes: Any) -> dict[str, Any]:
    return body(request(of, user("hi"), variant=variant, **changes))


def test_effort_in_the_words_of_each_api() -> None:
    assert effort(model(), "high")["reasoning_effort"] == "high"
    assert effort(model("openai-responses"), "low")["reasoning"] == {
        "summary": "auto",
        "effort": "low",
    }
    claude = effort(model("anthropic", id="claude-opus-4-8"), "max")
    assert claude["thinking"] == {"type": "adaptive", "display": "summarized"}
    assert claude["output_config"] == {"effort": "max"}
    older = effort(model("anthropic", id="claude-sonnet-4-5", output=64_000), "high")
    assert older["thinking"] == {"type": "enabled", "budget_tokens": 24_576}


def test_a_budget_leaves_room_for_the_answer() -> None:
    older = model("anthropic", id="claude-sonnet-4-5", output=8_192)
    assert effort(older, "high")["thinking"]["budget_tokens"] == 4_096
    assert "thinking" not in effort(older, "high", max_output=1_000)
    assert "thinking" not in effort(older, "high", tool_choice="required")


def test_a_variant_of_the_configuration_wins() -> None:
    own = model(variants={"deep": {"reasoning_effort": "xhigh", "top_k": 3}})
    sent = effort(own, "deep")
    assert (sent["reasoning_effort"], sent["top_k"]) == ("xhigh", 3)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_options_of_the_configuration_win(dialect: Dialect) -> None:
    sent = body(request(model(dialect, options={"temperature": 0.5, "model": "own"}), user("hi")))
    assert (sent["temperature"], sent["model"]) == (0.5, "own")


def test_a_claude_that_thinks_takes_no_temperature_and_new_ones_never_do() -> None:
    hot = {"temperature": 1.0, "top_p": 0.9}
    older = model("anthropic", id="claude-sonnet-4-5", output=64_000)
    assert "temperature" not in effort(older, "low", **hot)
    plain = body(request(older, user("hi"), **hot))
    assert plain["temperature"] == 1.0
    assert "top_p" not in plain
    newer = model("anthropic", id="claude-sonnet-5")
    assert "temperature" not in body(request(newer, user("hi"), **hot))


def test_structured_output_in_the_words_of_each_api() -> None:
    schema = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
    chat = body(request(model(), user("hi"), output_schema=schema))
    assert chat["response_format"]["json_schema"]["schema"] == schema
    responses = body(request(model("openai-responses"), user("hi"), output_schema=schema))
    assert responses["text"]["format"]["schema"] == schema
    claude = model("anthropic", id="claude-sonnet-5")
    told = body(request(claude, user("hi"), output_schema=schema))["output_config"]["format"]
    assert told["schema"] == schema | {"additionalProperties": False}
    deepseek = model(base_url="https://api.deepseek.com/v1")
    plain = body(request(deepseek, user("hi"), output_schema=schema))
    assert plain["response_format"] == {"type": "json_object"}


def test_strict_schemas_are_told_from_loose_ones() -> None:
    loose: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "string"}}}
    strict = loose | {"required": ["a"], "additionalProperties": False}
    assert not openai_chat.is_strict(loose)
    assert openai_chat.is_strict(strict)
    assert not openai_chat.is_strict({"type": "array", "items": loose})


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("claude-opus-4-6-20260101", (4, 6)),
        ("claude-sonnet-4-20250514", (4, 0)),
        ("claude-3-5-haiku-latest", (3, 5)),
        ("claude-haiku-4.5", (4, 5)),
        ("claude-sonnet-5", (5, 0)),
        ("us.anthropic.claude-opus-4-1-20250805-v1:0", (4, 1)),
        ("kimi-k3", None),
    ],
)
def test_generations_are_read_from_names(name: str, version: tuple[int, int] | None) -> None:
    assert anthropic.version_of(name) == version


@pytest.mark.parametrize("dialect", DIALECTS)
def test_keys_travel_in_headers_only(dialect: Dialect) -> None:
    wire, _ = prepare(request(model(dialect), user("hi")), EncodingCache())
    assert b"sk-test-000" not in wire.body
    assert any("sk-test-000" in value for value in wire.headers.values())


@pytest.mark.parametrize(
    ("given_text", "sent"),
    [
        ('{"a": 1}', '{"a": 1}'),
        ("", "{}"),
        ("[1]", '{"value":[1]}'),
        ("ls", '{"raw":"ls"}'),
        ('"x"', '{"value":"x"}'),
        ('{"a":NaN}', '{"a":"NaN"}'),
        ('{"a":"\n"}', '{"a":"\\n"}'),
    ],
)
def test_arguments_are_always_one_object(given_text: str, sent: str) -> None:
    assert object_json(given_text) == sent


def test_a_switch_of_model_and_back_gives_right_bytes_each_time() -> None:
    cache = EncodingCache()
    history = (
        user("a"),
        AssistantMessage((Reasoning("hm", "test/one", {"signature": "s"}), called("c1"))),
        answered("c1"),
    )
    for name in ("one", "two", "one"):
        asked_for = request(model("anthropic", id=name), *history)
        grown, _ = prepare(asked_for, cache)
        fresh, _ = prepare(asked_for, EncodingCache())
        assert grown.body == fresh.body
        assert (b'"thinking":"hm"' in grown.body) == (name == "one")


def test_a_history_with_a_gap_encodes_nothing_anew() -> None:
    cache = EncodingCache()
    history = [
        user("a"),
        asked(called("c1")),
        answered("c1"),
        AssistantMessage((Text("b"),)),
        user("c"),
    ]
    prepare(request(model(), *history), cache)
    cropped = request(model(), history[0], *history[3:])
    wire, _ = prepare(cropped, cache)
    assert wire.body == prepare(cropped, EncodingCache())[0].body
    assert cache.call_ids == set()


def test_tools_and_system_may_change_between_requests() -> None:
    cache = EncodingCache()
    for tools, system in (((BASH,), ("a",)), ((), ("b",)), ((BASH,), ("",))):
        asked_for = request(model(), user("x"), tools=tools, system=system)
        grown, _ = prepare(asked_for, cache)
        assert grown.body == prepare(asked_for, EncodingCache())[0].body
