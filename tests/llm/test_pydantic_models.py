"""The dialect for all other APIs, with pydantic-ai's own function model in place of a provider."""

import asyncio
import importlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from model_samples import BASH, Heard, answered, asked, called, model, png, request, user

from roost.llm.models import (
    AssistantMessage,
    Finish,
    Message,
    ModelError,
    Reasoning,
    StreamEvent,
    Text,
)
from roost.llm.providers import pydantic_ai
from roost.llm.providers.pydantic_ai import PydanticModels, build, settings

OTHER = model("pydantic-ai", base_url="", options={"pydantic_ai": {"provider": "bedrock"}})


def test_without_its_packages_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr(pydantic_ai.importlib, "import_module", missing)
    with pytest.raises(ModelError, match="extra `providers`") as caught:
        build(OTHER)
    assert caught.value.kind == "bad_request"


def test_settings_are_said_in_its_words() -> None:
    asked_for = request(OTHER, user("hi"), variant="high", max_output=9, tool_choice="required")
    said = {"max_tokens": 9, "max_retries": 0, "tool_choice": "required", "thinking": "high"}
    assert settings(asked_for) == said
    assert settings(request(OTHER, user("hi"), variant="none"))["thinking"] is False


Stream = Callable[[list[Any], Any], AsyncIterator[Any]]


def hear(stream: Stream, *messages: Message, **changes: Any) -> Heard:
    function = pytest.importorskip(
        "pydantic_ai.models.function", reason="the extra roost[providers] is not installed"
    )
    asked_for = request(model("pydantic-ai", base_url="", **changes), *messages)
    models = PydanticModels(lambda _: function.FunctionModel(stream_function=stream))

    async def ask() -> list[StreamEvent]:
        return [event async for event in models.stream(asked_for)]

    return Heard(asked_for.model, asyncio.run(ask()))


def words(*pieces: Any) -> Stream:
    async def stream(_messages: list[Any], _info: Any) -> AsyncIterator[Any]:
        for piece in pieces:
            yield piece

    return stream


def function_module() -> Any:
    return importlib.import_module("pydantic_ai.models.function")


def test_text_streams() -> None:
    heard = hear(words("Hel", "lo"), user("hi"))
    assert heard.text == "Hello"
    assert heard.finish is not None
    assert heard.finish.reason == "stop"
    assert heard.usage is not None
    assert heard.usage.output > 0


def test_a_call_streams_and_ends() -> None:
    pytest.importorskip("pydantic_ai", reason="the extra roost[providers] is not installed")
    delta = function_module().DeltaToolCall
    heard = hear(
        words(
            {0: delta(name="bash", json_args="", tool_call_id="c1")},
            {0: delta(json_args='{"command"')},
            {0: delta(json_args=':"ls"}')},
        ),
        user("hi"),
    )
    assert [(c.id, c.name, c.arguments) for c in heard.calls] == [
        ("c1", "bash", '{"command":"ls"}')
    ]
    assert len(heard.complete) == 1
    assert heard.finish is not None
    assert heard.finish.reason == "tool-calls"


def test_thinking_streams_with_its_signature() -> None:
    pytest.importorskip("pydantic_ai", reason="the extra roost[providers] is not installed")
    delta = function_module().DeltaThinkingPart
    heard = hear(words({0: delta(content="hm", signature="sig")}, "ok"), user("hi"))
    thought = heard.message.content[0]
    assert (heard.reasoning, heard.text) == ("hm", "ok")
    assert thought.metadata["part"]["signature"] == "sig"


def test_history_reaches_the_model_whole_and_mended() -> None:
    seen: list[Any] = []

    async def stream(messages: list[Any], info: Any) -> AsyncIterator[str]:
        seen.extend(messages)
        assert [tool.name for tool in info.function_tools] == [BASH.name]
        yield "ok"

    thought = Reasoning("hm", "test/scripted-reasoner", {})
    hear(
        stream,
        user("hi", png()),
        AssistantMessage((thought, called("c1"))),
        answered("c1", "", png()),
        user("  "),
        AssistantMessage((Text("done"), Reasoning("hm", "other/model"))),
        asked(called("c2")),
    )
    kinds = [[part.part_kind for part in message.parts] for message in seen]
    assert kinds == [
        ["system-prompt", "user-prompt"],
        ["thinking", "tool-call"],
        ["tool-return", "user-prompt"],
        ["text", "tool-call"],
        ["tool-return"],
    ]
    assert seen[2].parts[0].content == "(no output)"


def test_silence_ends() -> None:
    async def silent(_messages: list[Any], _info: Any) -> AsyncIterator[str]:
        yield "a"
        await asyncio.sleep(60)

    with pytest.raises(ModelError) as caught:
        hear(silent, user("hi"), idle_timeout=0.1)
    assert caught.value.kind == "network"


def test_errors_of_a_provider_have_their_kinds() -> None:
    exceptions = pytest.importorskip(
        "pydantic_ai.exceptions", reason="the extra roost[providers] is not installed"
    )

    async def refusing(_messages: list[Any], _info: Any) -> AsyncIterator[str]:
        body = {"message": "Too many requests"}
        raise exceptions.ModelHTTPError(429, "m", body, headers={"retry-after": "3"})
        yield ""

    with pytest.raises(ModelError) as caught:
        hear(refusing, user("hi"))
    assert (caught.value.kind, caught.value.retry_after) == ("rate_limit", 3.0)


def test_an_end_is_always_the_last_event() -> None:
    assert isinstance(hear(words("a"), user("hi")).events[-1], Finish)
