"""The answer of a small model, one JSON object, read while it comes: words stream, a call follows.

Text that is no such object passes through unchanged: some servers ignore the schema.
"""

import re
from collections.abc import Callable
from typing import Any, Final, Literal, cast

import msgspec

from roost.core.ids import new_id
from roost.llm.models import (
    CallDelta,
    CallEnd,
    CallStart,
    Finish,
    Model,
    StreamEvent,
    TextDelta,
    TextEnd,
    TextStart,
)
from roost.llm.providers.chat_stream import ChatDecoder
from roost.llm.providers.json_reader import ObjectReader, StringReader

_ANSWER: Final = re.compile(r'\s*\{\s*"answer"\s*:\s*"')
_TOOL: Final = re.compile(
    r'\s*\{\s*"tool"\s*:\s*("(?:[^"\\]|\\.)*")\s*,\s*"arguments"\s*:\s*(?=\{)'
)
_HEAD: Final = 400
"""Characters within which an answer shows what it is."""

_Mode = Literal["unknown", "answer", "call", "plain", "done"]


class SchemaDecoder:
    """A chat stream whose text is an answer by schema. Same contract as Decoder."""

    def __init__(
        self,
        model: Model,
        taken: set[str],
        new_call_id: Callable[[], str] = lambda: new_id("tool"),
    ) -> None:
        self._inner = ChatDecoder(model, taken, new_call_id)
        self._new_call_id = new_call_id
        self._mode: _Mode = "unknown"
        self._head = ""
        self._string = StringReader()
        self._object = ObjectReader()
        self._called = False

    @property
    def finished(self) -> bool:
        """See Decoder."""
        return self._inner.finished

    def feed(self, data: bytes) -> list[StreamEvent]:
        """See Decoder."""
        return self._translate(self._inner.feed(data))

    def end(self) -> list[StreamEvent]:
        """See Decoder."""
        return self._translate(self._inner.end())

    def _translate(self, events: list[StreamEvent]) -> list[StreamEvent]:
        result: list[StreamEvent] = []
        for event in events:
            match event:
                case TextStart():
                    pass
                case TextDelta():
                    result += self._take(event.text)
                case TextEnd():
                    result += self._stop()
                case Finish():
                    called = self._called and event.reason == "stop"
                    result.append(Finish("tool-calls", event.raw) if called else event)
                case _:
                    result.append(event)
        return result

    def _take(self, text: str) -> list[StreamEvent]:
        match self._mode:
            case "unknown":
                self._head += text
                return self._recognise()
            case "answer":
                said = self._string.feed(text)
                return [TextDelta("answer", said)] if said else []
            case "call":
                piece = self._object.feed(text)
                return [CallDelta("call", piece)] if piece else []
            case "plain":
                return [TextDelta("answer", text)]
            case "done":
                return []

    def _recognise(self) -> list[StreamEvent]:
        """Say what the text so far is, as soon as that is certain."""
        head = self._head
        if found := _ANSWER.match(head):
            self._mode = "answer"
            return [TextStart("answer"), *self._take(head[found.end() :])]
        if found := _TOOL.match(head):
            self._mode = "call"
            self._called = True
            name: str = msgspec.json.decode(found.group(1))
            start = CallStart("call", self._new_call_id(), name)
            return [start, *self._take(head[found.end() :])]
        if head.lstrip()[:1] in {"", "{"} and len(head) < _HEAD:
            return []
        self._mode = "plain"
        return [TextStart("answer"), TextDelta("answer", head)]

    def _stop(self) -> list[StreamEvent]:
        mode, self._mode = self._mode, "done"
        match mode:
            case "answer" | "plain":
                return [TextEnd("answer")]
            case "call":
                return [CallEnd("call")] if self._object.complete else []
            case "unknown":
                return self._whole(self._head)
            case "done":
                return []

    def _whole(self, text: str) -> list[StreamEvent]:
        """A short answer with its keys in another order, or plain words."""
        try:
            value: Any = msgspec.json.decode(text)
        except msgspec.DecodeError:
            value = None
        fields = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
        arguments = fields.get("arguments")
        if isinstance(name := fields.get("tool"), str) and isinstance(arguments, dict):
            self._called = True
            written = msgspec.json.encode(arguments).decode()
            start = CallStart("call", self._new_call_id(), name)
            return [start, CallDelta("call", written), CallEnd("call")]
        said = fields.get("answer", text)
        words = said if isinstance(said, str) else text
        if not words:
            return []
        return [TextStart("answer"), TextDelta("answer", words), TextEnd("answer")]
