"""The encoded history of one actor, kept by the caller between requests."""

from collections.abc import Callable, Hashable, Sequence
from itertools import islice

from msgspec import Struct

from roost.llm.models import AssistantMessage, Message, Text, ToolCall, UserMessage
from roost.llm.providers.media import sendable, to_drop
from roost.llm.providers.transcript import MarkingWriter, Piece, Sent, Transcript, Writer


class _Entry(Struct, frozen=True):
    message: Message
    """Held, so that its identity cannot pass to another message."""
    skip: int
    pieces: tuple[Piece, ...]


class EncodingCache:
    """Bytes of the messages of the last request. One per actor; pass it with each request.

    Any sequence of requests gives the right bytes. A request that extends the last one encodes
    only its new messages; one that leaves some out encodes none anew.
    """

    def __init__(self) -> None:
        self.call_ids: set[str] = set()
        """Ids of calls in the history, so that a stream cannot use one again."""
        self._memos: dict[str, tuple[object, bytes]] = {}
        self._scope: Hashable = None
        self._entries: dict[int, _Entry] = {}
        self._done: tuple[Message, ...] = ()
        self._sizes: list[int] = []
        self._dropped = 0
        self._to_skip = 0
        self._transcript: Transcript | None = None

    def memo(self, name: str, owner: object, make: Callable[[], bytes]) -> bytes:
        """`make()`, called again only when `owner` is not what it was last time."""
        known = self._memos.get(name)
        if known is not None and (known[0] is owner or known[0] == owner):
            return known[1]
        data = make()
        self._memos[name] = (owner, data)
        return data

    def history(self, messages: tuple[Message, ...], writer: Writer) -> Sent:
        """`messages` as `writer` writes them."""
        done = len(self._done)
        if (
            self._transcript is None
            or self._scope != writer.scope
            or messages[:done] != self._done
            or self._dropped != self._drop_count(messages[done:], writer)
        ):
            return self._from_the_start(messages, writer)
        self._extend(self._transcript, messages[done:], writer)
        self._done = messages
        return self._transcript.sent()

    def _drop_count(self, new: tuple[Message, ...], writer: Writer) -> int:
        for message in new:
            self._sizes += sendable(message, writer.model)
        return to_drop(self._sizes)

    def _from_the_start(self, messages: tuple[Message, ...], writer: Writer) -> Sent:
        if self._scope != writer.scope:
            self._entries = {}
        self._scope = writer.scope
        self._sizes = []
        self._dropped = self._to_skip = self._drop_count(messages, writer)
        self.call_ids = set()
        self._transcript = Transcript(writer)
        old = self._entries
        self._entries = {}
        self._extend(self._transcript, messages, writer, old)
        self._done = messages
        return self._transcript.sent()

    def _extend(
        self,
        transcript: Transcript,
        new: tuple[Message, ...],
        writer: Writer,
        old: dict[int, _Entry] | None = None,
    ) -> None:
        def encode(message: Message) -> tuple[Piece, ...]:
            return self._pieces(message, writer, old or {})

        for message in new:
            if isinstance(message, AssistantMessage):
                self.call_ids.update(p.id for p in message.content if isinstance(p, ToolCall))
            transcript.add(message, encode)

    def _pieces(
        self, message: Message, writer: Writer, old: dict[int, _Entry]
    ) -> tuple[Piece, ...]:
        skip = 0
        if self._to_skip:
            skip = min(self._to_skip, len(sendable(message, writer.model)))
            self._to_skip -= skip
        known = old.get(id(message))
        if known is None or known.message is not message or known.skip != skip:
            known = _Entry(message, skip, writer.pieces(message, skip))
        self._entries[id(message)] = known
        return known.pieces


def remind(sent: Sent, writer: Writer, reminders: Sequence[str]) -> None:
    """Put `reminders` behind everything, past the last cache breakpoint.

    Each group of the user's side ends with a list of parts or blocks, where it is marked.
    """
    if not reminders:
        return
    (piece,) = writer.pieces(UserMessage(tuple(map(Text, reminders))), 0)
    group = sent.groups[-1]
    if not writer.joins(group[-1].role, piece.role):
        sent.parts.append(writer.render([piece]))
    elif sent.parts[-1] == writer.render(group):
        sent.parts[-1] = writer.render([*group, piece])
    else:
        sent.parts[-1] = sent.parts[-1].removesuffix(b"]}") + b"," + piece.content + b"]}"


def mark(sent: Sent, writer: MarkingWriter, count: int) -> None:
    """Put a cache breakpoint at the end of the last `count` groups that are not the model's."""
    indices = range(len(sent.groups) - 1, -1, -1)
    found = (i for i in indices if sent.groups[i][-1].role != "assistant")
    for index in islice(found, count):
        sent.parts[index] = writer.render_marked(sent.groups[index])
