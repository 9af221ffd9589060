"""Models, requests and ways to play streams that the tests of this folder share."""

import asyncio
import base64
import struct
import zlib
from typing import Any

from hypothesis import HealthCheck, settings

from roost.llm.client import ModelClient
from roost.llm.models import (
    AssistantMessage,
    CallDelta,
    CallEnd,
    CallStart,
    Dialect,
    Finish,
    Media,
    Message,
    Model,
    ModelRequest,
    Reasoning,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    StreamEvent,
    Text,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCall,
    ToolMessage,
    ToolResult,
    ToolSpec,
    Usage,
    UserMessage,
)
from roost.llm.providers.cache import EncodingCache
from roost.llm.providers.wire import Decoder

BASH = ToolSpec(
    "bash",
    "Run a command.",
    {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]},
)
CALM = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=50)
"""Settings of property tests that hold on a busy machine."""
DIALECTS: tuple[Dialect, ...] = ("openai-chat", "openai-responses", "anthropic")


def model(dialect: Dialect = "openai-chat", **changes: Any) -> Model:
    fields: dict[str, Any] = {
        "provider": "test",
        "id": "scripted-reasoner",
        "base_url": "http://127.0.0.1:9/v1",
        "api_key": "sk-test-000",
        "reads_images": True,
        "reads_pdf": True,
        "reasons": True,
    }
    return Model(dialect=dialect, **(fields | changes))


def request(of: Model, *messages: Message, **changes: Any) -> ModelRequest:
    fields: dict[str, Any] = {"system": ("You help.",), "tools": (BASH,)}
    return ModelRequest(model=of, messages=messages, **(fields | changes))


def user(text: str, *media: Media) -> UserMessage:
    return UserMessage((Text(text), *media))


def called(identifier: str, arguments: str = '{"command":"ls"}', name: str = "bash") -> ToolCall:
    return ToolCall(identifier, name, arguments)


def asked(*calls: ToolCall, text: str = "") -> AssistantMessage:
    return AssistantMessage((Text(text), *calls) if text else calls)


def answered(
    identifier: str, output: str = "done", *media: Media, name: str = "bash"
) -> ToolMessage:
    return ToolMessage((ToolResult(identifier, name, output, media=media),))


def png(width: int = 8, height: int = 8, name: str = "shot.png", seed: int = 0) -> Media:
    def chunk(kind: bytes, data: bytes) -> bytes:
        whole = kind + data
        return struct.pack(">I", len(data)) + whole + struct.pack(">I", zlib.crc32(whole))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    row = b"\0" + bytes([seed % 256]) * (3 * width)
    data = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head)
    data += chunk(b"IDAT", zlib.compress(row * height)) + chunk(b"IEND", b"")
    return Media("image/png", base64.b64encode(data).decode(), name)


def play(decoder: Decoder, *data: str) -> list[StreamEvent]:
    """All events of a stream whose server-sent events hold `data`."""
    events: list[StreamEvent] = []
    for piece in data:
        events += decoder.feed(piece.encode())
    return events + decoder.end()


def merged(events: list[StreamEvent]) -> list[StreamEvent]:
    """Neighbouring deltas of one block joined: what a stream says, however it is cut."""
    result: list[StreamEvent] = []
    for event in events:
        last = result[-1] if result else None
        match event, last:
            case (
                (TextDelta(), TextDelta())
                | (ReasoningDelta(), ReasoningDelta())
                | (
                    CallDelta(),
                    CallDelta(),
                )
            ) if event.key == last.key:
                result[-1] = type(event)(event.key, last.text + event.text)
                continue
            case _:
                pass
        result.append(event)
    return result


class Heard:
    """A finished stream as the message it made."""

    def __init__(self, of: Model, events: list[StreamEvent]) -> None:
        self.events = events
        self.finish: Finish | None = None
        self.usage: Usage | None = None
        self.complete: set[str] = set()
        self._model = of
        self._blocks: dict[str, dict[str, Any]] = {}
        for event in events:
            self._take(event)

    def _take(self, event: StreamEvent) -> None:
        match event:
            case TextStart() | ReasoningStart() | CallStart():
                assert event.key not in self._blocks
                start = {
                    "text": "",
                    "start": event,
                    "metadata": dict(getattr(event, "metadata", {})),
                }
                self._blocks[event.key] = start
            case TextDelta() | ReasoningDelta() | CallDelta():
                self._blocks[event.key]["text"] += event.text
            case TextEnd() | ReasoningEnd() | CallEnd():
                self._blocks[event.key]["metadata"] |= event.metadata
                self.complete.add(event.key)
            case Usage():
                self.usage = event
            case Finish():
                assert self.finish is None
                self.finish = event

    @property
    def message(self) -> AssistantMessage:
        return AssistantMessage(tuple(self._part(block) for block in self._blocks.values()))

    def _part(self, block: dict[str, Any]) -> Text | Reasoning | ToolCall:
        match block["start"]:
            case TextStart():
                return Text(block["text"], block["metadata"])
            case ReasoningStart():
                return Reasoning(block["text"], self._model.ref, block["metadata"])
            case start:
                return ToolCall(start.id, start.name, block["text"], block["metadata"])

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.message.content if isinstance(part, Text))

    @property
    def reasoning(self) -> str:
        return "".join(p.text for p in self.message.content if isinstance(p, Reasoning))

    @property
    def calls(self) -> list[ToolCall]:
        return [part for part in self.message.content if isinstance(part, ToolCall)]


async def hear(
    client: ModelClient, asked_for: ModelRequest, cache: EncodingCache | None = None
) -> Heard:
    stream = client.stream(asked_for, cache or EncodingCache())
    return Heard(asked_for.model, [event async for event in stream])


def hear_once(asked_for: ModelRequest, cache: EncodingCache | None = None) -> Heard:
    """One call by a client of its own."""

    async def call() -> Heard:
        client = ModelClient()
        try:
            return await hear(client, asked_for, cache)
        finally:
            await client.aclose()

    return asyncio.run(call())
