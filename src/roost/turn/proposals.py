"""What a model proposes for a step, as long as nobody has acted on it. Pure.

A proposal is the recorded stream of one candidate: it can be judged, compared, and played again.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from roost.llm.models import (
    CallDelta,
    CallEnd,
    CallStart,
    Finish,
    ReasoningDelta,
    StreamEvent,
    TextDelta,
    ToolSpec,
    Usage,
)
from roost.tools.arguments import ArgumentsError, parse_call
from roost.tools.contract import Tool
from roost.turn.classes import Traits, row_of
from roost.turn.loops import call_signature
from roost.turn.text_calls import find
from roost.turn.watching import StreamWatch

LONGEST: Final = 2_000_000
"""Characters of one candidate; it is cut there."""


class ProposedCall(Struct, frozen=True):
    """A call of a tool that was asked for and not run."""

    name: str
    arguments: str
    complete: bool


class Proposal(Struct, frozen=True):
    """A stream that came to its end, and what it says."""

    events: tuple[StreamEvent, ...]
    text: str
    reasoning: str
    calls: tuple[ProposedCall, ...]
    finish: str


class SpoiledError(Exception):
    """The stream is of no use; the words say why."""


class Draft:
    """Takes in one stream."""

    def __init__(self) -> None:
        self.events: list[StreamEvent] = []
        self.usage = Usage()
        self.size = 0
        """Characters by now."""
        self.loops = False
        """It was given up since it repeated itself, as whoever plays it again will find."""
        self._watch = StreamWatch()
        self._texts: list[str] = []
        self._thoughts: list[str] = []
        self._calls: dict[str, tuple[str, list[str]]] = {}
        self._ended: set[str] = set()
        self._finish = "other"

    def take(self, event: StreamEvent) -> None:
        """Add an event. Raises `SpoiledError` once the stream goes nowhere."""
        self.events.append(event)
        match event:
            case TextDelta(text=text):
                self._add(self._texts, text)
            case ReasoningDelta(text=text):
                self._add(self._thoughts, text)
            case CallStart(key=key, name=name):
                self._calls[key] = (name, [])
            case CallDelta(key=key, text=text) if key in self._calls:
                self._add(self._calls[key][1], text)
            case CallEnd(key=key):
                self._ended.add(key)
            case Usage():
                self.usage = event
            case Finish(reason=reason):
                self._finish = reason
            case _:
                pass
        if self._watch.see(event) is not None:
            self.loops = True
            raise SpoiledError("it repeated itself")
        if self.size > LONGEST:
            raise SpoiledError("it was too long")

    def _add(self, to: list[str], text: str) -> None:
        to.append(text)
        self.size += len(text)

    @property
    def proposal(self) -> Proposal:
        """The stream, which has ended."""
        calls = [
            ProposedCall(name, "".join(pieces), key in self._ended)
            for key, (name, pieces) in self._calls.items()
        ]
        if self._finish == "length" and calls and not calls[-1].arguments.strip():
            calls[-1] = ProposedCall(calls[-1].name, "", complete=False)
        return Proposal(
            events=tuple(self.events),
            text="".join(self._texts).strip(),
            reasoning="".join(self._thoughts).strip(),
            calls=tuple(calls),
            finish=self._finish,
        )


def why_not(proposal: Proposal, tools: Mapping[str, Tool[Any]], shown: Sequence[ToolSpec]) -> str:
    """Why a proposal cannot be taken while there is another; empty if it can."""
    for call in proposal.calls:
        try:
            parse_call(tools, call.name, call.arguments, complete=call.complete)
        except ArgumentsError as error:
            return f"a call that cannot be read: {error.message}"
    names = {one.name: frozenset(one.schema.get("properties", ())) for one in shown}
    row = row_of(
        Traits(
            observed=bool(proposal.calls),
            error=False,
            finish=proposal.finish,
            text_call=find(proposal.text, names) if proposal.text else "",
            text=bool(proposal.text),
            reasoning=bool(proposal.reasoning),
        )
    )
    if row.kind in {"continue", "final"} and not row.degraded:
        return ""
    return row.degraded or row.what


def signature(proposal: Proposal, tools: Mapping[str, Tool[Any]]) -> bytes:
    """Equal for proposals that do the same: the same calls in the same order, else the same words.

    The proposal must be one that can be taken.
    """
    if not proposal.calls:
        return b"words:" + " ".join(proposal.text.split()).encode("utf-8", "replace")
    parsed = [parse_call(tools, c.name, c.arguments, complete=True) for c in proposal.calls]
    return b"\n".join(call_signature(one.tool.name, one.input) for one in parsed)
