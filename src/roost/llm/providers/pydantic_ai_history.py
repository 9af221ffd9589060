"""A request's history and tools in the classes of pydantic-ai."""

import base64
from collections.abc import Iterator, Sequence
from typing import Any, assert_never

import msgspec

from roost.llm.models import (
    AssistantMessage,
    Media,
    Message,
    Model,
    ModelRequest,
    Reasoning,
    Text,
    ToolCall,
    ToolMessage,
    ToolResult,
    ToolSpec,
    UserMessage,
    with_reminders,
)
from roost.llm.providers.media import MediaGate, sendable, to_drop
from roost.llm.providers.pairing import CONTINUE, START, Pairing
from roost.llm.providers.quirks import tool_name
from roost.llm.providers.wire import EMPTY_OUTPUT, object_json


def history(request: ModelRequest, library: Any) -> list[Any]:
    """The messages of `request`; `library` is the module `pydantic_ai.messages`."""
    messages = with_reminders(request)
    sizes = [size for message in messages for size in sendable(message, request.model)]
    writer = _Writer(request.model, library, MediaGate(request.model, to_drop(sizes)))
    result: list[Any] = []
    said: list[Any] = [
        library.SystemPromptPart(content=block) for block in request.system if block.strip()
    ]
    answer: list[Any] = []
    for message in _mended(messages):
        if isinstance(message, AssistantMessage):
            answer += writer.answer(message)
            continue
        parts = writer.said(message)
        if parts and answer:
            result += [library.ModelRequest(parts=said), writer.response(answer)]
            said, answer = [], []
        said += parts
    if answer:
        result += [library.ModelRequest(parts=said), writer.response(answer)]
        said = writer.said(CONTINUE)
    return [*result, library.ModelRequest(parts=said)]


def _mended(messages: Sequence[Message]) -> Iterator[Message]:
    """The history with calls and results in pairs, begun and ended by somebody else."""
    pairing = Pairing()
    if not messages or not isinstance(messages[0], UserMessage):
        yield START
    for message in messages:
        yield from pairing.feed(message)
    if messages and isinstance(messages[-1], AssistantMessage):
        yield pairing.missing() or CONTINUE


class _Writer:
    def __init__(self, model: Model, library: Any, gate: MediaGate) -> None:
        self._model = model
        self._library = library
        self._gate = gate

    def response(self, parts: list[Any]) -> Any:
        """An answer of the model."""
        return self._library.ModelResponse(parts=parts, model_name=self._model.id)

    def said(self, message: UserMessage | ToolMessage) -> list[Any]:
        """A user's words, or results and then what they show."""
        if isinstance(message, UserMessage):
            content = [shown for item in message.content if (shown := self._content(item))]
            return [self._library.UserPromptPart(content=content)] if content else []
        results = [self._result(result) for result in message.results]
        shown = [self._content(m) for result in message.results for m in result.media]
        return [*results, self._library.UserPromptPart(content=shown)] if shown else results

    def _content(self, item: Text | Media) -> Any:
        if isinstance(item, Text):
            return item.text if item.text.strip() else None
        closed = self._gate.closed(item)
        if closed is not None:
            return closed
        data = base64.b64decode(item.data)
        return self._library.BinaryContent(data=data, media_type=item.mime)

    def _result(self, result: ToolResult) -> Any:
        return self._library.ToolReturnPart(
            tool_name=tool_name(result.name),
            content=result.output if result.output.strip() else EMPTY_OUTPUT,
            tool_call_id=result.id,
            outcome="failed" if result.is_error else "success",
        )

    def answer(self, message: AssistantMessage) -> list[Any]:
        """The parts of an answer; thoughts that nothing follows are left out."""
        parts: list[Any] = []
        ends = 0
        for part in message.content:
            if (built := self._part(part)) is not None:
                parts.append(built)
                ends = ends if isinstance(part, Reasoning) else len(parts)
        return parts[:ends]

    def _part(self, part: Text | Reasoning | ToolCall) -> Any:
        mine = part.metadata.get("model") == self._model.ref
        extra: dict[str, Any] = part.metadata.get("part", {}) if mine else {}
        match part:
            case Text():
                built = self._library.TextPart(content=part.text, **extra)
                return built if part.text.strip() else None
            case Reasoning():
                if part.model != self._model.ref or not (part.text or extra):
                    return None
                return self._library.ThinkingPart(content=part.text, **extra)
            case ToolCall():
                return self._library.ToolCallPart(
                    tool_name=tool_name(part.name),
                    args=object_json(part.arguments),
                    tool_call_id=part.id,
                    **extra,
                )
            case _:
                assert_never(part)


def tool_definitions(tools: Sequence[ToolSpec], library: Any) -> list[Any]:
    """Tools as `pydantic_ai.tools` has them."""
    return [
        library.ToolDefinition(
            name=tool.name, description=tool.description, parameters_json_schema=tool.schema
        )
        for tool in tools
    ]


def object_text(arguments: Any) -> str:
    """The arguments of a call, which come as text or as an object, as text."""
    if arguments is None:
        return ""
    return arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()
