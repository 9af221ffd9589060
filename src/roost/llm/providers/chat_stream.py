"""The stream of OpenAI's chat completions API as events, from any of the servers that speak it."""

from collections.abc import Callable
from typing import Any, Final, cast

import msgspec
from msgspec import Struct

from roost.core.ids import new_id
from roost.llm.errors import refused_in_stream
from roost.llm.models import (
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
from roost.llm.providers.chat_calls import CallAssembler, CallPiece, FunctionPiece
from roost.llm.providers.reasoning_details import joined_details
from roost.llm.providers.wire import cut_off, read

_REASONS: Final[dict[str, FinishReason]] = {
    "stop": "stop",
    "eos": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "complete": "stop",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "tool_calls": "tool-calls",
    "tool_use": "tool-calls",
    "function_call": "tool-calls",
    "content_filter": "content-filter",
    "safety": "content-filter",
    "recitation": "content-filter",
    "prohibited_content": "content-filter",
    "sensitive": "content-filter",
    "error": "error",
}


class _Delta(Struct, gc=False):
    content: Any = None
    reasoning_content: str | None = None
    reasoning: Any = None
    reasoning_details: list[dict[str, Any]] | None = None
    refusal: str | None = None
    tool_calls: list[CallPiece] | None = None
    function_call: FunctionPiece | None = None


class _Choice(Struct, gc=False):
    delta: _Delta | None = None
    message: _Delta | None = None
    """A server that does not stream answers with this in one piece."""
    finish_reason: str | None = None
    index: int | None = None


class _PromptDetails(Struct, gc=False):
    cached_tokens: float | None = None
    cache_write_tokens: float | None = None


class _AnswerDetails(Struct, gc=False):
    reasoning_tokens: float | None = None


class _Usage(Struct, gc=False):
    prompt_tokens: float | None = None
    completion_tokens: float | None = None
    total_tokens: float | None = None
    prompt_tokens_details: _PromptDetails | None = None
    completion_tokens_details: _AnswerDetails | None = None
    prompt_cache_hit_tokens: float | None = None
    cached_tokens: float | None = None


class _Chunk(Struct, gc=False):
    choices: list[_Choice] | None = None
    usage: _Usage | None = None
    error: Any = None


_CHUNK: Final = msgspec.json.Decoder(_Chunk)


class ChatDecoder:
    """One answer of the chat API. `taken`: ids of calls that history already holds."""

    def __init__(
        self,
        model: Model,
        taken: set[str],
        new_call_id: Callable[[], str] = lambda: new_id("tool"),
    ) -> None:
        self.finished = False
        self._model = model
        self._calls = CallAssembler(taken, new_call_id, model.ref)
        self._text = ""
        """Key of the open block, if one is open."""
        self._reasoning = ""
        self._field = ""
        self._details: list[dict[str, Any]] = []
        self._blocks = 0
        self._word = ""
        self._usage: Usage | None = None
        self._ended = False

    def feed(self, data: bytes) -> list[StreamEvent]:
        """See Decoder."""
        if data.startswith(b"[DONE]"):
            return self._close()
        if self._ended:
            return []
        chunk = read(_CHUNK, data, self._model)
        if chunk.error:
            raise refused_in_stream(self._model, data, chunk.error)
        events: list[StreamEvent] = []
        for choice in chunk.choices or ():
            if choice.index:
                continue
            delta = choice.delta or choice.message
            if delta is not None:
                self._take(delta, events)
            if choice.finish_reason:
                self._word = choice.finish_reason
                self.finished = True
        if chunk.usage is not None:
            self._usage = _usage(chunk.usage)
        return events

    def end(self) -> list[StreamEvent]:
        """See Decoder."""
        if self._ended:
            return []
        if not self.finished:
            raise cut_off(self._model)
        return self._close()

    def _take(self, delta: _Delta, events: list[StreamEvent]) -> None:
        if delta.reasoning_content:
            self._think("reasoning_content", delta.reasoning_content, events)
        elif delta.reasoning and isinstance(delta.reasoning, str):
            self._think("reasoning", delta.reasoning, events)
        if delta.reasoning_details:
            self._think("reasoning", "", events)
            self._details += delta.reasoning_details
        if delta.content:
            self._content(delta.content, events)
        if delta.refusal:
            self._say(delta.refusal, events)
        if delta.function_call is not None:
            self._call(CallPiece(index=0, function=delta.function_call), events)
        for piece in delta.tool_calls or ():
            self._call(piece, events)

    def _content(self, content: Any, events: list[StreamEvent]) -> None:
        if isinstance(content, str):
            self._say(content, events)
            return
        for part in cast("list[Any]", content) if isinstance(content, list) else []:
            fields = cast("dict[str, Any]", part) if isinstance(part, dict) else {}
            if fields.get("type") == "thinking":
                inner = cast("list[dict[str, Any]]", fields.get("thinking") or [])
                self._think("", "".join(str(item.get("text", "")) for item in inner), events)
            elif isinstance(text := fields.get("text"), str) and text:
                self._say(text, events)

    def _say(self, text: str, events: list[StreamEvent]) -> None:
        if not self._text:
            self._stop_thinking(events)
            self._text = self._next_key("text")
            events.append(TextStart(self._text))
        events.append(TextDelta(self._text, text))

    def _think(self, field: str, text: str, events: list[StreamEvent]) -> None:
        if not self._reasoning:
            self._stop_saying(events)
            self._field = field
            self._reasoning = self._next_key("reasoning")
            events.append(ReasoningStart(self._reasoning))
        if text:
            events.append(ReasoningDelta(self._reasoning, text))

    def _call(self, piece: CallPiece, events: list[StreamEvent]) -> None:
        self._stop_thinking(events)
        self._stop_saying(events)
        self._calls.add(piece, events)

    def _next_key(self, kind: str) -> str:
        self._blocks += 1
        return f"{kind}-{self._blocks}"

    def _stop_saying(self, events: list[StreamEvent]) -> None:
        if self._text:
            events.append(TextEnd(self._text))
            self._text = ""

    def _stop_thinking(self, events: list[StreamEvent]) -> None:
        if not self._reasoning:
            return
        metadata: dict[str, Any] = {"field": self._field} if self._field else {}
        if self._details:
            metadata["reasoning_details"] = joined_details(self._details)
        events.append(ReasoningEnd(self._reasoning, metadata))
        self._reasoning = ""
        self._details = []

    def _close(self) -> list[StreamEvent]:
        if self._ended:
            return []
        self._ended = self.finished = True
        events: list[StreamEvent] = []
        self._stop_thinking(events)
        self._stop_saying(events)
        reason: FinishReason = "stop"
        if self._word:
            reason = _REASONS.get(self._word.lower(), "other")
        if self._calls and reason == "stop":
            reason = "tool-calls"
        said = bool(self._word) and reason not in {"length", "content-filter", "error"}
        self._calls.end(events, complete=said)
        if self._usage is not None:
            events.append(self._usage)
        events.append(Finish(reason, self._word))
        return events


def _usage(raw: _Usage) -> Usage:
    prompt = int(raw.prompt_tokens or 0)
    answer = int(raw.completion_tokens or 0)
    details = raw.prompt_tokens_details or _PromptDetails()
    cached = details.cached_tokens or raw.prompt_cache_hit_tokens or raw.cached_tokens
    read_tokens = min(prompt, int(cached or 0))
    written = min(prompt - read_tokens, int(details.cache_write_tokens or 0))
    reasoning = int((raw.completion_tokens_details or _AnswerDetails()).reasoning_tokens or 0)
    apart = raw.total_tokens is not None and raw.total_tokens >= prompt + answer + reasoning
    return Usage(
        input=prompt - read_tokens - written,
        output=answer if apart else max(0, answer - reasoning),
        reasoning=reasoning,
        cache_read=read_tokens,
        cache_write=written,
    )
