"""The events of pydantic-ai's streams as Roost's."""

from collections.abc import Callable
from typing import Any, Final

from roost.llm.models import (
    CallDelta,
    CallEnd,
    CallStart,
    FinishReason,
    Model,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    StreamEvent,
    TextDelta,
    TextEnd,
    TextStart,
)
from roost.llm.providers.pydantic_ai_history import object_text
from roost.llm.providers.wire import is_object

_KEPT: Final = ("id", "signature", "provider_name", "provider_details")
"""Fields of a part that its provider wants back."""


class PartReader:
    """Reads one stream. `taken` holds the ids of calls in history."""

    def __init__(self, model: Model, taken: set[str], new_call_id: Callable[[], str]) -> None:
        self._model = model
        self._taken = taken
        self._new_call_id = new_call_id
        self._open: dict[int, Any] = {}
        """Parts as they began, by index."""
        self._written: dict[int, str] = {}
        """Arguments of calls so far."""
        self.called = False

    def read(self, event: Any) -> list[StreamEvent]:
        """What one event means; kinds that are not known here mean nothing."""
        match event.event_kind:
            case "part_start":
                return [*self._stop(event.index, None), *self._start(event.index, event.part)]
            case "part_delta":
                return self._delta(event.index, event.delta)
            case "part_end":
                return self._stop(event.index, event.part)
            case _:
                return []

    def end(self, reason: FinishReason) -> list[StreamEvent]:
        """Close what is still open. Calls that were cut off get no end."""
        events = [event for index in list(self._open) for event in self._stop(index, None)]
        if reason == "length":
            return [event for event in events if not isinstance(event, CallEnd)]
        return events

    def _start(self, index: int, part: Any) -> list[StreamEvent]:
        key = f"{part.part_kind}-{index}"
        self._open[index] = part
        match part.part_kind:
            case "text":
                first = [TextDelta(key, part.content)] if part.content else []
                return [TextStart(key), *first]
            case "thinking":
                thought = [ReasoningDelta(key, part.content)] if part.content else []
                return [ReasoningStart(key), *thought]
            case "tool-call":
                self.called = True
                start = CallStart(key, self._call_id(part.tool_call_id), part.tool_name)
                return [start, *self._arguments(index, key, part.args)]
            case _:
                del self._open[index]
                return []

    def _call_id(self, identifier: str) -> str:
        if not identifier or identifier in self._taken:
            identifier = self._new_call_id()
        self._taken.add(identifier)
        return identifier

    def _arguments(self, index: int, key: str, arguments: Any) -> list[StreamEvent]:
        """A piece of text streams; an object is written when the call ends."""
        if not isinstance(arguments, str) or not arguments:
            return []
        self._written[index] = self._written.get(index, "") + arguments
        return [CallDelta(key, arguments)]

    def _delta(self, index: int, delta: Any) -> list[StreamEvent]:
        part = self._open.get(index)
        if part is None:
            return []
        key = f"{part.part_kind}-{index}"
        match delta.part_delta_kind:
            case "text" if delta.content_delta:
                return [TextDelta(key, delta.content_delta)]
            case "thinking" if delta.content_delta:
                return [ReasoningDelta(key, delta.content_delta)]
            case "tool_call":
                return self._arguments(index, key, delta.args_delta)
            case _:
                return []

    def _stop(self, index: int, final: Any) -> list[StreamEvent]:
        part = self._open.pop(index, None)
        if part is None:
            return []
        key = f"{part.part_kind}-{index}"
        metadata = self._metadata(final or part)
        match part.part_kind:
            case "text":
                return [TextEnd(key, metadata)]
            case "thinking":
                return [ReasoningEnd(key, metadata)]
            case _:
                return self._stop_call(index, key, final or part, metadata)

    def _stop_call(
        self, index: int, key: str, part: Any, metadata: dict[str, Any]
    ) -> list[StreamEvent]:
        written = self._written.get(index, "")
        if written:
            return [CallEnd(key, metadata)] if is_object(written) else []
        return [CallDelta(key, object_text(part.args) or "{}"), CallEnd(key, metadata)]

    def _metadata(self, part: Any) -> dict[str, Any]:
        kept = {name: getattr(part, name, None) for name in _KEPT}
        known = {name: value for name, value in kept.items() if value is not None}
        return {"model": self._model.ref, "part": known} if known else {}
