"""Tells when a part of an answer is final.

Until the model's stream has ended, an answer may still be taken back and written again, so text
counts as final only when something shows that the stream is over: a tool runs, or the step ends.
"""

from roost.cli.run.sightings import Gone, Head, Piece, Sighting
from roost.sessions.models import AssistantInfo
from roost.sessions.parts import (
    Part,
    ReasoningPart,
    StepStartPart,
    TextPart,
    ToolPart,
    ToolPending,
    ToolRunning,
)


class Steps:
    """The parts of a turn's messages, each given once, in order, when it is final."""

    def __init__(self) -> None:
        self._waiting: dict[str, dict[str, Part]] = {}
        self._told: set[str] = set()

    def see(self, sighting: Sighting) -> list[Part]:
        """The parts that `sighting` makes final."""
        match sighting:
            case Piece(part=part):
                return self._piece(part)
            case Gone(message_id=message_id, part_id=part_id):
                self._waiting.get(message_id, {}).pop(part_id, None)
                return []
            case Head(info=AssistantInfo() as info) if info.time.completed is not None:
                return self._stream_over(info.id)
            case _:
                return []

    def _piece(self, part: Part) -> list[Part]:
        match part:
            case TextPart() | ReasoningPart():
                if part.id not in self._told:
                    self._waiting.setdefault(part.message_id, {})[part.id] = part
                return []
            case ToolPart(state=ToolPending()):
                return []
            case StepStartPart():
                # It may be read again while the stream goes on, and says nothing of its end.
                return self._once(part)
            case ToolPart(state=ToolRunning()):
                return self._stream_over(part.message_id)
            case _:
                return [*self._stream_over(part.message_id), *self._once(part)]

    def _stream_over(self, message_id: str) -> list[Part]:
        waiting = self._waiting.pop(message_id, {})
        return [known for part in waiting.values() for known in self._once(part)]

    def _once(self, part: Part) -> list[Part]:
        if part.id in self._told:
            return []
        self._told.add(part.id)
        return [part]
