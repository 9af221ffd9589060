"""Watches one stream of a model for repetition, in each of its channels."""

from roost.llm.models import CallDelta, ReasoningDelta, StreamEvent, TextDelta
from roost.turn.looping import LoopDetector


class StreamWatch:
    """Sees the events of one attempt, in order."""

    def __init__(self) -> None:
        self._text = LoopDetector()
        self._reasoning = LoopDetector()
        self._arguments = LoopDetector(data=True)

    def see(self, event: StreamEvent) -> str | None:
        """What the stream repeats to no end, once it does; else None."""
        match event:
            case TextDelta(text=text):
                return self._text.feed(text)
            case ReasoningDelta(text=text):
                return self._reasoning.feed(text)
            case CallDelta(text=text):
                return self._arguments.feed(text)
            case _:
                return None
