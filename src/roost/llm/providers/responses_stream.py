"""The stream of OpenAI's responses API as events.

Format: https://platform.openai.com/docs/api-reference/responses-streaming (types of the `openai`
package).
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
from roost.llm.providers.wire import cut_off, is_object, read

_INCOMPLETE: Final[dict[str, FinishReason]] = {
    "max_output_tokens": "length",
    "content_filter": "content-filter",
}


class _Part(Struct, gc=False):
    text: str | None = None
    refusal: str | None = None


class _Item(Struct, gc=False):
    type: str = ""
    id: str | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: str | None = None
    status: str | None = None
    phase: str | None = None
    summary: Any = None
    encrypted_content: str | None = None
    content: list[_Part] | None = None


class _InputDetails(Struct, gc=False):
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None


class _OutputDetails(Struct, gc=False):
    reasoning_tokens: int | None = None


class _Usage(Struct, gc=False):
    input_tokens: int | None = None
    output_tokens: int | None = None
    input_tokens_details: _InputDetails | None = None
    output_tokens_details: _OutputDetails | None = None


class _Incomplete(Struct, gc=False):
    reason: str | None = None


class _Response(Struct, gc=False):
    usage: _Usage | None = None
    error: Any = None
    incomplete_details: _Incomplete | None = None


class _Event(Struct, gc=False):
    type: str = ""
    delta: Any = None
    output_index: int = 0
    summary_index: int = 0
    item: _Item | None = None
    response: _Response | None = None
    message: str | None = None
    error: Any = None


_EVENT: Final = msgspec.json.Decoder(_Event)


class _Open:
    """An item whose end has not come yet."""

    def __init__(self, kind: str, key: str) -> None:
        self.kind = kind
        self.key = key
        self.started = False
        self.pieces: list[str] = []
        self.part = 0
        """Which part of the summary is being written."""


class ResponsesDecoder:
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
        self._called = False
        self._ended = False

    def feed(self, data: bytes) -> list[StreamEvent]:
        """See Decoder."""
        if self._ended or data.startswith(b"[DONE]"):
            return []
        event = read(_EVENT, data, self._model)
        match event.type:
            case (
                "response.output_text.delta"
                | "response.refusal.delta"
                | "response.function_call_arguments.delta"
            ):
                return self._delta(event)
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                return self._thought(event)
            case "response.output_item.added":
                return self._start(event)
            case "response.output_item.done":
                return self._stop(event)
            case "response.completed" | "response.incomplete":
                return self._close(event)
            case "response.failed" | "error":
                raise self._failure(data, event)
            case _:
                if event.error and not event.type:
                    raise refused_in_stream(self._model, data, event.error)
                return []

    def end(self) -> list[StreamEvent]:
        """See Decoder."""
        if not self._ended:
            raise cut_off(self._model)
        return []

    def _failure(self, data: bytes, event: _Event) -> ModelError:
        error = event.error or (event.response and event.response.error)
        if event.response and event.response.error:
            data = msgspec.json.encode({"error": event.response.error})
        return refused_in_stream(self._model, data, error)

    def _start(self, event: _Event) -> list[StreamEvent]:
        item = event.item or _Item()
        block = _Open(item.type, f"{item.type}-{event.output_index}")
        self._open[event.output_index] = block
        if item.type == "reasoning":
            return [ReasoningStart(block.key)]
        if item.type == "function_call":
            self._called = True
            return [CallStart(block.key, self._call_id(item.call_id or ""), item.name or "")]
        return []

    def _call_id(self, identifier: str) -> str:
        if not identifier or identifier in self._taken:
            identifier = self._new_call_id()
        self._taken.add(identifier)
        return identifier

    def _delta(self, event: _Event) -> list[StreamEvent]:
        block = self._open.get(event.output_index)
        if block is None or not isinstance(event.delta, str) or not event.delta:
            return []
        if block.kind == "function_call":
            block.pieces.append(event.delta)
            return [CallDelta(block.key, event.delta)]
        if block.started:
            return [TextDelta(block.key, event.delta)]
        block.started = True
        return [TextStart(block.key), TextDelta(block.key, event.delta)]

    def _thought(self, event: _Event) -> list[StreamEvent]:
        block = self._open.get(event.output_index)
        if block is None or not isinstance(event.delta, str) or not event.delta:
            return []
        gap = "\n\n" if block.started and event.summary_index != block.part else ""
        block.started, block.part = True, event.summary_index
        return [ReasoningDelta(block.key, gap + event.delta)]

    def _stop(self, event: _Event) -> list[StreamEvent]:
        block, item = self._open.pop(event.output_index, None), event.item or _Item()
        if block is None:
            return []
        match block.kind:
            case "message":
                return self._stop_text(block, item)
            case "reasoning":
                return [ReasoningEnd(block.key, _sealed(item))]
            case "function_call":
                return self._stop_call(block, item)
            case _:
                return []

    def _stop_text(self, block: _Open, item: _Item) -> list[StreamEvent]:
        known = {"model": self._model.ref, "phase": item.phase} if item.phase else {}
        if block.started:
            return [TextEnd(block.key, known)]
        words = "".join(part.text or part.refusal or "" for part in item.content or ())
        if not words:
            return []
        return [TextStart(block.key), TextDelta(block.key, words), TextEnd(block.key, known)]

    def _stop_call(self, block: _Open, item: _Item) -> list[StreamEvent]:
        events: list[StreamEvent] = []
        if not block.pieces and item.arguments:
            block.pieces.append(item.arguments)
            events.append(CallDelta(block.key, item.arguments))
        if item.status != "incomplete" and is_object("".join(block.pieces)):
            events.append(CallEnd(block.key))
        elif item.status != "incomplete":
            self._doubtful.append(block)
        return events

    def _close(self, event: _Event) -> list[StreamEvent]:
        self._ended = self.finished = True
        response = event.response or _Response()
        cut = event.type == "response.incomplete"
        word = (response.incomplete_details or _Incomplete()).reason or ""
        reason: FinishReason = _INCOMPLETE.get(word, "other") if cut else "stop"
        if self._called and reason == "stop":
            reason = "tool-calls"
        events = self._end_blocks(complete=not cut)
        if response.usage is not None:
            events.append(_usage(response.usage))
        events.append(Finish(reason, word or event.type.removeprefix("response.")))
        return events

    def _end_blocks(self, *, complete: bool) -> list[StreamEvent]:
        events: list[StreamEvent] = []
        for block in self._open.values():
            if block.kind == "reasoning":
                events.append(ReasoningEnd(block.key))
            elif block.kind == "message" and block.started:
                events.append(TextEnd(block.key))
        for block in self._doubtful if complete else ():
            if not block.pieces:
                events.append(CallDelta(block.key, "{}"))
            events.append(CallEnd(block.key))
        return events


def _sealed(item: _Item) -> dict[str, Any]:
    """What goes back with the thought; without its sealed content it cannot go back at all."""
    if not item.encrypted_content:
        return {}
    sealed: dict[str, Any] = {"encrypted_content": item.encrypted_content}
    if item.id:
        sealed["id"] = item.id
    if item.summary:
        sealed["summary"] = item.summary
    return sealed


def _usage(raw: _Usage) -> Usage:
    read_details = raw.input_tokens_details or _InputDetails()
    total, answer = raw.input_tokens or 0, raw.output_tokens or 0
    cached = min(total, read_details.cached_tokens or 0)
    written = min(total - cached, read_details.cache_write_tokens or 0)
    details = raw.output_tokens_details or _OutputDetails()
    reasoning = min(answer, details.reasoning_tokens or 0)
    return Usage(
        input=total - cached - written,
        output=answer - reasoning,
        reasoning=reasoning,
        cache_read=cached,
        cache_write=written,
    )
