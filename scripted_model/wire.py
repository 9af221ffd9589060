"""What the three ways of streaming an answer have in common for the player."""

from collections.abc import Iterator
from typing import Protocol

from scripted_model.answer import Answer
from scripted_model.reasoning_rules import Thought
from scripted_model.scenario import Call, Fail, Reasoning, Text


class Wire(Protocol):
    """Turns what is said into events, each as the bytes of one whole event."""

    answer: Answer

    def begin(self) -> list[bytes]:
        """The events before any content."""
        ...

    def text(self, piece: Text, deltas: tuple[str, ...], /) -> Iterator[bytes]:
        """Words, going on in the block of words that is open unless the piece is `new`."""
        ...

    def reasoning(self, piece: Reasoning, deltas: tuple[str, ...]) -> Iterator[bytes]:
        """Thinking, in the same way."""
        ...

    def calls(self, calls: list[tuple[Call, tuple[str, ...]]]) -> Iterator[bytes]:
        """Tool calls with the deltas of their arguments; several alternate where they may."""
        ...

    def finish(self, reason: str) -> list[bytes]:
        """Close what is open and say why the answer ends."""
        ...

    def end(self) -> list[bytes]:
        """The terminal events."""
        ...

    def fail(self, piece: Fail) -> list[bytes]:
        """An error in the middle of the stream."""
        ...

    def body(self, reason: str) -> bytes:
        """The answer as one JSON object, for a request that asked for no stream."""
        ...

    def thought(self) -> Thought:
        """The thinking that the client should hand back."""
        ...

    def handed_back(self) -> str:
        """The words as they will stand in the next request."""
        ...
