"""The history of one actor as bytes, encoded once and extended: a step costs its new messages.

Whatever the history holds, what leaves here obeys the strictest API: roles alternate, a user
speaks first, the model is the one to answer, and calls and results pair (`pairing.py`).
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Literal, Protocol

from msgspec import Struct

from roost.llm.models import Message, Model
from roost.llm.providers.pairing import CONTINUE, START, Pairing

Role = Literal["user", "assistant", "tool"]


class Piece(Struct, frozen=True, gc=False):
    """One message as JSON without the wrapping that depends on its neighbours."""

    role: Role
    content: bytes = b""
    """Blocks, parts, items or whole messages of the dialect, joined by commas."""
    text: bytes = b""
    """A JSON string, where the dialect wraps plain words in no block."""
    calls: bytes = b""
    reasoning: bytes = b""
    """Fields of the message, joined by commas."""


class Writer(Protocol):
    """What a dialect knows about encoding messages for one model."""

    @property
    def model(self) -> Model:
        """The model that will read the messages."""
        ...

    @property
    def scope(self) -> Hashable:
        """Everything besides the message that its bytes depend on."""
        ...

    def joins(self, before: Role, after: Role) -> bool:
        """Whether a message of role `after` goes into the group that ends with `before`."""
        ...

    def pieces(self, message: Message, skip: int) -> tuple[Piece, ...]:
        """`message` with its first `skip` media replaced by notes; empty when nothing is left."""
        ...

    def render(self, pieces: Sequence[Piece]) -> bytes:
        """A group of pieces as sent."""
        ...


class MarkingWriter(Writer, Protocol):
    """A writer of a dialect that lets the client say where a cached prefix ends."""

    def render_marked(self, pieces: Sequence[Piece]) -> bytes:
        """A group as sent, with a cache breakpoint at its end."""
        ...


class Sent(Struct, frozen=True):
    """A whole history, ready to be joined by commas."""

    parts: list[bytes]
    """The groups as sent; the caller's own list."""
    groups: list[list[Piece]]
    """What each part was rendered from; not to be changed."""


class Transcript:
    """Groups of neighbouring pieces, each sent as one message. All but the last are rendered."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._groups: list[list[Piece]] = []
        self._rendered: list[bytes] = []
        self._pairing = Pairing()

    def add(self, message: Message, encode: Callable[[Message], tuple[Piece, ...]]) -> None:
        """Append `message` by way of `encode`; what stands in for it is encoded afresh."""
        for item in self._pairing.feed(message):
            pieces = encode(item) if item is message else self._writer.pieces(item, 0)
            for piece in pieces:
                self._append(piece)

    def _append(self, piece: Piece) -> None:
        if not self._groups and piece.role != "user":
            for first in self._writer.pieces(START, 0):
                self._append(first)
        if self._groups and self._writer.joins(self._groups[-1][-1].role, piece.role):
            self._groups[-1].append(piece)
            return
        if self._groups:
            self._rendered.append(self._writer.render(self._groups[-1]))
        self._groups.append([piece])

    def sent(self) -> Sent:
        """All groups, and behind a last word of the model something that it can answer."""
        groups = self._groups
        if not groups or groups[-1][-1].role == "assistant":
            last = self._pairing.missing() or CONTINUE
            groups = [*groups, *([piece] for piece in self._writer.pieces(last, 0))]
        late = [self._writer.render(pieces) for pieces in groups[len(self._rendered) :]]
        return Sent([*self._rendered, *late], groups)
