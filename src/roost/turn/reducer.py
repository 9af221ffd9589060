"""From stream events to writes: a pure function, so that a recorded stream can be played again.

The state knows which blocks are open; it never holds their text, which is the recorder's.
"""

from typing import assert_never

import msgspec
from msgspec import Struct

from roost.llm.models import (
    CallDelta,
    CallEnd,
    CallStart,
    Finish,
    FinishReason,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    StreamEvent,
    TextDelta,
    TextEnd,
    TextStart,
    Usage,
)


class OpenText(Struct, frozen=True):
    """A text part begins."""

    key: str


class OpenReasoning(Struct, frozen=True):
    """A reasoning part begins."""

    key: str


class OpenCall(Struct, frozen=True):
    """A tool part begins, pending."""

    key: str
    id: str
    name: str
    metadata: dict[str, object]


class Append(Struct, frozen=True):
    """More text of an open block (of a call: more of its arguments)."""

    key: str
    text: str


class Close(Struct, frozen=True):
    """A block is complete; `metadata` is what the provider wants back with it."""

    key: str
    metadata: dict[str, object]


Write = OpenText | OpenReasoning | OpenCall | Append | Close


class StreamState(Struct, frozen=True):
    """Where a stream stands."""

    open: frozenset[str] = frozenset()
    """Keys of blocks that were opened and not closed."""
    waiting: dict[str, dict[str, object]] = {}
    """Reasoning blocks that began without text yet, with their metadata."""
    usage: Usage = Usage()
    finish: FinishReason | None = None


Reduced = tuple[StreamState, tuple[Write, ...]]


def reduce(state: StreamState, event: StreamEvent) -> Reduced:
    """The next state and what is to be written. No part is opened before it has content."""
    match event:
        case TextDelta(key=key, text=text) | ReasoningDelta(key=key, text=text):
            return _append(state, event, key, text)
        case CallDelta(key=key, text=text):
            return state, (Append(key, text),)
        case TextStart():
            return state, ()
        case ReasoningStart(key=key, metadata=metadata):
            waiting = {**state.waiting, key: dict(metadata)}
            return msgspec.structs.replace(state, waiting=waiting), ()
        case CallStart(key=key, id=id_, name=name, metadata=metadata):
            opened = OpenCall(key, id_, name, dict(metadata))
            return msgspec.structs.replace(state, open=state.open | {key}), (opened,)
        case TextEnd(key=key, metadata=metadata) | CallEnd(key=key, metadata=metadata):
            return _close(state, key, dict(metadata))
        case ReasoningEnd(key=key, metadata=metadata):
            return _end_reasoning(state, key, {**state.waiting.get(key, {}), **metadata})
        case Usage():
            return msgspec.structs.replace(state, usage=event), ()
        case Finish(reason=reason):
            return msgspec.structs.replace(state, finish=reason), ()
        case _:
            assert_never(event)


def _append(state: StreamState, event: TextDelta | ReasoningDelta, key: str, text: str) -> Reduced:
    if key in state.open:
        return state, (Append(key, text),)
    if not text:
        return state, ()
    opened = OpenText(key) if isinstance(event, TextDelta) else OpenReasoning(key)
    return msgspec.structs.replace(state, open=state.open | {key}), (opened, Append(key, text))


def _close(state: StreamState, key: str, metadata: dict[str, object]) -> Reduced:
    if key not in state.open:
        return state, ()
    return msgspec.structs.replace(state, open=state.open - {key}), (Close(key, metadata),)


def _end_reasoning(state: StreamState, key: str, metadata: dict[str, object]) -> Reduced:
    """A reasoning block without text is kept if the provider wants something back with it."""
    waiting = {name: value for name, value in state.waiting.items() if name != key}
    state = msgspec.structs.replace(state, waiting=waiting)
    if key in state.open or not metadata:
        return _close(state, key, metadata)
    return state, (OpenReasoning(key), Close(key, metadata))
