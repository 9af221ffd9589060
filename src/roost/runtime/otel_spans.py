"""Spans of turns, steps and tools. Ids, names, numbers and kinds of errors go into them, and
nothing that was said or read.
"""

import hashlib
from collections.abc import Callable, Mapping
from typing import Final

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    Span,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    set_span_in_context,
)

from roost import __version__
from roost.runtime.turn_watch import RetrySeen, StepSeen, TurnSeen
from roost.sessions import timing
from roost.sessions.models import AssistantInfo
from roost.sessions.parts import ToolCompleted, ToolFailed, ToolPart

Value = str | int | float | bool | tuple[str, ...]
_NS: Final = 1_000_000
"""Nanoseconds of a millisecond."""


def trace_id_of(turn_id: str) -> int:
    """The trace of a turn."""
    return int.from_bytes(hashlib.sha256(turn_id.encode()).digest()[:16])


def span_id_of(identifier: str) -> int:
    """The span of a turn, of a step by its message, of a tool by its part."""
    return int.from_bytes(hashlib.sha256(identifier.encode()).digest()[16:24])


class TurnIds(IdGenerator):
    """Gives the ids that are set for the span that is made next."""

    def __init__(self) -> None:
        self.trace = 0
        self.span = 0

    def generate_trace_id(self) -> int:
        """The id of the trace."""
        return self.trace

    def generate_span_id(self) -> int:
        """The id of the span."""
        return self.span


class Spans:
    """Makes spans."""

    def __init__(self, provider: TracerProvider, ids: TurnIds, hide: Callable[[str], str]) -> None:
        self._provider = provider
        self._tracer = provider.get_tracer("roost", __version__)
        self._ids = ids
        self._hide = hide

    def step(self, seen: StepSeen, retries: tuple[RetrySeen, ...]) -> None:
        """A step as a call of the model, and its tools beside it, all below their turn."""
        info = seen.message.info
        assert isinstance(info, AssistantInfo)
        began, ended = info.time.created, timing.answered(seen.message) or info.time.created
        span = self._begin(seen, info.id, f"chat {info.model_id}", SpanKind.CLIENT, began)
        span.set_attributes(self._clean(_of_step(seen, info)))
        for retry in retries:
            told: dict[str, Value] = {"roost.retry.attempt": retry.status.attempt}
            span.add_event("roost.retry", told, timestamp=_in_order(began, retry, ended) * _NS)
        if info.error is not None:
            span.set_status(Status(StatusCode.ERROR))
        span.end(max(began, ended) * _NS)
        for part in seen.message.parts:
            if isinstance(part, ToolPart):
                self._tool(seen, part)

    def _tool(self, seen: StepSeen, part: ToolPart) -> None:
        state = part.state
        if not isinstance(state, ToolCompleted | ToolFailed) or not state.time.start:
            return
        name = f"execute_tool {part.tool}"
        span = self._begin(seen, part.id, name, SpanKind.INTERNAL, state.time.start)
        attributes: dict[str, Value] = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": part.tool,
            "gen_ai.tool.call.id": part.call_id,
            "gen_ai.tool.type": "function",
            "gen_ai.conversation.id": seen.message.info.session_id,
            "roost.step.id": seen.message.info.id,
        }
        if isinstance(state, ToolFailed):
            attributes["error.type"] = _failure(state)
            span.set_status(Status(StatusCode.ERROR))
        span.set_attributes(self._clean(attributes))
        span.end(max(state.time.start, state.time.end) * _NS)

    def turn(self, seen: TurnSeen) -> None:
        """A turn, once it has ended; the turns that led to it are linked."""
        turn, actor = seen.turn, seen.claim.actor
        if turn is None or turn.outcome is None:
            return
        self._ids.trace, self._ids.span = trace_id_of(turn.id), span_id_of(turn.id)
        links = [Link(self._context(one), {"roost.link": "led by"}) for one in seen.led_by]
        span = self._tracer.start_span(
            self._hide(f"invoke_agent {actor.agent}"),
            start_time=turn.started * _NS,
            kind=SpanKind.INTERNAL,
            links=links,
        )
        attributes: dict[str, Value] = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": actor.agent,
            "gen_ai.agent.id": f"{turn.session_id}/{turn.actor_id}",
            "gen_ai.conversation.id": turn.session_id,
            "roost.turn.id": turn.id,
            "roost.turn.number": turn.number,
            "roost.turn.reason": turn.reason,
            "roost.turn.outcome": turn.outcome,
            "roost.turn.steps": turn.steps,
            "roost.turn.tokens": turn.tokens,
            "roost.turn.cost": turn.cost,
            "roost.actor.mode": actor.mode,
        }
        if actor.parent is not None:
            parent = f"{actor.parent.session_id}/{actor.parent.actor_id}"
            attributes["roost.actor.parent"] = parent
        if turn.outcome == "failure":
            attributes["error.type"] = turn.error.name if turn.error is not None else "_OTHER"
            span.set_status(Status(StatusCode.ERROR))
        span.set_attributes(self._clean(attributes))
        span.end((turn.ended or turn.started) * _NS)

    def _begin(
        self, seen: StepSeen, identifier: str, name: str, kind: SpanKind, began: int
    ) -> Span:
        self._ids.span = span_id_of(identifier)
        parent = NonRecordingSpan(self._context(seen.claim.turn.id))
        return self._tracer.start_span(
            self._hide(name),
            context=set_span_in_context(parent),
            start_time=began * _NS,
            kind=kind,
        )

    def _context(self, turn_id: str) -> SpanContext:
        """Where the span of a turn is, whoever makes it."""
        trace_id = trace_id_of(turn_id)
        sampled = self._provider.sampler.should_sample(None, trace_id, "").decision.is_sampled()
        flags = TraceFlags(TraceFlags.SAMPLED if sampled else TraceFlags.DEFAULT)
        return SpanContext(trace_id, span_id_of(turn_id), is_remote=True, trace_flags=flags)

    def _clean(self, attributes: Mapping[str, Value]) -> dict[str, Value]:
        return {
            name: self._hide(value) if isinstance(value, str) else value
            for name, value in attributes.items()
        }


def _of_step(seen: StepSeen, info: AssistantInfo) -> dict[str, Value]:
    tokens, cache = info.tokens, info.tokens.cache
    attributes: dict[str, Value] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": info.provider_id,
        "gen_ai.request.model": info.model_id,
        "gen_ai.request.stream": True,
        "gen_ai.conversation.id": info.session_id,
        "gen_ai.agent.name": info.agent,
        "gen_ai.usage.input_tokens": tokens.input + cache.read + cache.write,
        "gen_ai.usage.output_tokens": tokens.output + tokens.reasoning,
        "gen_ai.usage.cache_read.input_tokens": cache.read,
        "gen_ai.usage.cache_creation.input_tokens": cache.write,
        "gen_ai.usage.reasoning.output_tokens": tokens.reasoning,
        "roost.step.id": info.id,
        "roost.step.number": seen.number,
        "roost.step.cost": info.cost,
    }
    if info.finish is not None:
        attributes["gen_ai.response.finish_reasons"] = (info.finish,)
    if (first := timing.first_content(seen.message)) is not None:
        seconds = max(0, first - info.time.created) / 1000
        attributes["gen_ai.response.time_to_first_chunk"] = seconds
    if info.error is not None:
        attributes["error.type"] = info.error.name
    return attributes


def _in_order(began: int, retry: RetrySeen, ended: int) -> int:
    """When a retry was due, within its step."""
    return min(max(began, retry.status.next), max(began, ended))


def _failure(state: ToolFailed) -> str:
    metadata = state.metadata or {}
    if metadata.get("interrupted"):
        return "interrupted"
    return "denied" if metadata.get("denied") else "error"
