"""The stream of Anthropic's messages API as events.

Format: https://docs.anthropic.com/en/docs/build-with-claude/streaming.
"""

from collections.abc import Callable
from typing import Any, Final

import msgspec
from msgspec import Struct

from roost.core.ids import new_id
from roost.llm.errors import refused_in_stream
from roost.llm.models import (
    CallDelta,
    CallEnd,
    CallStart,
    Finish,
    FinishReason,
    Model,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    StreamEvent,
    TextDelta,
    TextEnd,
    TextStart,
    Usage,
)
from roost.llm.providers.wire import cut_off, is_object, read, to_json

_REASONS: Final[dict[str, FinishReason]] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool-calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content-filter",
}


class _Block(Struct, gc=False):
    type: str = ""
    id: str = ""
    name: str = ""
    text: str = ""
    thinking: str = ""
    signature: str = ""
    data: str = ""
    input: Any = None


class _OutputDetails(Struct, gc=False):
    thinking_tokens: int | None = None


class _Usage(Struct, gc=False):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    output_tokens_details: _OutputDetails | None = None


class _Delta(Struct, gc=False):
    type: str = ""
    text: str = ""
    partial_json: str = ""
    thinking: str = ""
    signature: str = ""
    stop_reason: str | None = None


class _Message(Struct, gc=False):
    usage: _Usage | None = None


class _Event(Struct, gc=False):
    type: str = ""
    index: int = 0
    delta: _Delta | None = None
    content_block: _Block | None = None
    message: _Message | None = None
    usage: _Usage | None = None
    error: Any = None


_EVENT: Final = msgspec.json.Decoder(_Event)


class _Open:
    """A block whose end has not come yet."""

    def __init__(self, kind: str, key: str) -> None:
        self.kind = kind
        self.key = key
        self.arguments: list[str] = []
        self.initial = ""
        self.signature = ""


class AnthropicDecoder:
    """One answer. `taken`: ids of calls that history already holds."""

    def __init__(
        self,
        model: Model,
        taken: set[str],
        new_call_id: Callable[[], str] = lambda: new_id("tool"),
    ) -> None:
        self.finished = False
        self._model = model
        self._taken = taken
        self._new_call_id = new_call_id
        self._open: dict[int, _Open] = {}
        self._doubtful: list[_Open] = []
        """Calls whose arguments are no JSON object: only the stop reason tells if they were cut."""
        self._usage = _Usage()
        self._word = ""
        self._ended = False

    def feed(self, data: bytes) -> list[StreamEvent]:
        """See Decoder."""
        if self._ended:
            return []
        event = read(_EVENT, data, self._model)
        match event.type:
            case "content_block_delta":
                return self._delta(event)
            case "content_block_start":
                return self._start(event)
            case "content_block_stop":
                block = self._open.pop(event.index, None)
                return [] if block is None else self._stop(block)
            case "message_start":
                self._count(event.message.usage if event.message else None)
            case "message_delta":
                self._count(event.usage)
                if event.delta and event.delta.stop_reason:
                    self._word = event.delta.stop_reason
                    self.finished = True
            case "message_stop":
                return self._close()
            case _:
                if event.error:
                    raise refused_in_stream(self._model, data, event.error)
        return []

    def end(self) -> list[StreamEvent]:
        """See Decoder."""
        if self._ended:
            return []
        if not self.finished:
            raise cut_off(self._model)
        return self._close()

    def _start(self, event: _Event) -> list[StreamEvent]:
        raw = event.content_block or _Block()
        block = _Open(raw.type, f"{raw.type}-{event.index}")
        match raw.type:
            case "text":
                events: list[StreamEvent] = [TextStart(block.key)]
                if raw.text:
                    events.append(TextDelta(block.key, raw.text))
            case "thinking":
                block.signature = raw.signature
                events = [ReasoningStart(block.key)]
                if raw.thinking:
                    events.append(ReasoningDelta(block.key, raw.thinking))
            case "redacted_thinking":
                events = [ReasoningStart(block.key, {"redacted": raw.data})]
            case "tool_use":
                block.initial = to_json(raw.input).decode() if raw.input else ""
                events = [CallStart(block.key, self._call_id(raw.id), raw.name)]
            case _:
                return []
        self._open[event.index] = block
        return events

    def _call_id(self, identifier: str) -> str:
        if not identifier or identifier in self._taken:
            identifier = self._new_call_id()
        self._taken.add(identifier)
        return identifier

    def _delta(self, event: _Event) -> list[StreamEvent]:
        block, delta = self._open.get(event.index), event.delta
        if block is None or delta is None:
            return []
        match delta.type:
            case "text_delta" if delta.text:
                return [TextDelta(block.key, delta.text)]
            case "thinking_delta" if delta.thinking:
                return [ReasoningDelta(block.key, delta.thinking)]
            case "input_json_delta" if delta.partial_json:
                block.arguments.append(delta.partial_json)
                return [CallDelta(block.key, delta.partial_json)]
            case "signature_delta":
                block.signature += delta.signature
                return []
            case _:
                return []

    def _stop(self, block: _Open) -> list[StreamEvent]:
        match block.kind:
            case "text":
                return [TextEnd(block.key)]
            case "thinking":
                proof = {"signature": block.signature} if block.signature else {}
                return [ReasoningEnd(block.key, proof)]
            case "redacted_thinking":
                return [ReasoningEnd(block.key)]
            case _:
                return self._stop_call(block)

    def _stop_call(self, block: _Open) -> list[StreamEvent]:
        if block.initial and not block.arguments:
            return [CallDelta(block.key, block.initial), CallEnd(block.key)]
        if is_object("".join(block.arguments)):
            return [CallEnd(block.key)]
        self._doubtful.append(block)
        return []

    def _count(self, usage: _Usage | None) -> None:
        """Counts are cumulative; each event brings those it knows."""
        for name in _Usage.__struct_fields__:
            if (value := getattr(usage, name, None)) is not None:
                setattr(self._usage, name, value)

    def _close(self) -> list[StreamEvent]:
        if self._ended:
            return []
        self._ended = self.finished = True
        events: list[StreamEvent] = []
        for block in self._open.values():
            events += self._stop(block)
        reason = _REASONS.get(self._word, "other")
        if reason not in {"length", "content-filter"}:
            for block in self._doubtful:
                if not block.arguments:
                    events.append(CallDelta(block.key, "{}"))
                events.append(CallEnd(block.key))
        events.append(self._total())
        events.append(Finish(reason, self._word))
        return events

    def _total(self) -> Usage:
        raw = self._usage
        details = raw.output_tokens_details
        answer = raw.output_tokens or 0
        thinking = min(answer, details.thinking_tokens or 0) if details else 0
        return Usage(
            input=raw.input_tokens or 0,
            output=answer - thinking,
            reasoning=thinking,
            cache_read=raw.cache_read_input_tokens or 0,
            cache_write=raw.cache_creation_input_tokens or 0,
        )
