"""Tool calls of a chat stream, put together from pieces that servers cut in many ways.

OpenAI names each call by `index` and sends id and name once. Others send whole calls in one piece,
leave out index or id, send the same id twice, give every call index 0, or repeat the name in each
piece. What tells a new call then is that it names its tool and that the call before it is whole.
"""

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from roost.llm.models import CallDelta, CallEnd, CallStart, StreamEvent
from roost.llm.providers.wire import is_object, to_json


class FunctionPiece(Struct, gc=False):
    """Name and arguments as far as this piece goes."""

    name: str | None = None
    arguments: Any = None
    """Text; some servers send the object itself."""


class CallPiece(Struct, gc=False):
    """An element of `delta.tool_calls`."""

    index: int | None = None
    id: str | None = None
    function: FunctionPiece | None = None
    extra_content: Any = None
    """What Google's endpoint wants back with the call: its thought signature."""


class _Call:
    def __init__(self, key: str, raw_id: str) -> None:
        self.key = key
        self.raw_id = raw_id
        self.name = ""
        self.arguments: list[str] = []
        self.started = False
        self.metadata: dict[str, Any] = {}

    def is_whole(self) -> bool:
        return is_object("".join(self.arguments))


class CallAssembler:
    """The calls of one stream.

    `taken` holds the ids of calls in history; an id that is missing or taken is replaced by one
    from `new_id`. `model` is the ref that metadata is bound to.
    """

    def __init__(self, taken: set[str], new_id: Callable[[], str], model: str) -> None:
        self._taken = taken
        self._new_id = new_id
        self._model = model
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}

    def __bool__(self) -> bool:
        return bool(self._calls)

    def add(self, piece: CallPiece, events: list[StreamEvent]) -> None:
        """Take one piece; what it means is appended to `events`."""
        function = piece.function or FunctionPiece()
        name = function.name or ""
        text = _text(function.arguments)
        call = self._known(piece, name, text)
        if call is None or _begins(call, piece, name, text):
            call = self._begin(piece)
        if piece.extra_content is not None:
            call.metadata = {"model": self._model, "extra_content": piece.extra_content}
        if name and not call.started:
            call.name = name
            self._start(call, events)
        if text:
            call.arguments.append(text)
            if call.started:
                events.append(CallDelta(call.key, text))

    def end(self, events: list[StreamEvent], *, complete: bool) -> None:
        """Close the calls: all if the server said they are complete, else those that are whole."""
        for call in self._calls:
            if not call.started:
                self._start(call, events)
            if not call.arguments and complete:
                events.append(CallDelta(call.key, "{}"))
            if complete or call.is_whole():
                events.append(CallEnd(call.key, call.metadata))

    def _known(self, piece: CallPiece, name: str, text: str) -> _Call | None:
        if piece.index is not None:
            return self._by_index.get(piece.index)
        if not self._calls:
            return None
        if piece.id:
            same = [call for call in self._calls if call.raw_id == piece.id]
            return same[-1] if same else None
        last = self._calls[-1]
        goes_on = not name or (name == last.name and not text.lstrip().startswith("{"))
        return last if goes_on else None

    def _begin(self, piece: CallPiece) -> _Call:
        call = _Call(f"call-{len(self._calls)}", piece.id or "")
        self._calls.append(call)
        if piece.index is not None:
            self._by_index[piece.index] = call
        return call

    def _start(self, call: _Call, events: list[StreamEvent]) -> None:
        identifier = call.raw_id
        if not identifier or identifier in self._taken:
            identifier = self._new_id()
        self._taken.add(identifier)
        call.started = True
        events.append(CallStart(call.key, identifier, call.name))
        events += [CallDelta(call.key, text) for text in call.arguments]


def _begins(current: _Call, piece: CallPiece, name: str, text: str) -> bool:
    """Whether `piece`, which points at `current`, opens another call all the same."""
    if not name or not current.name:
        return False
    if piece.id and current.raw_id and piece.id != current.raw_id:
        return True
    if text.lstrip().startswith("{"):
        return current.is_whole() or (name != current.name and not current.arguments)
    return name != current.name and (current.is_whole() or not current.arguments)


def _text(arguments: Any) -> str:
    if arguments is None:
        return ""
    return arguments if isinstance(arguments, str) else to_json(arguments).decode()
