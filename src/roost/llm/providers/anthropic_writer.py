"""Messages of Anthropic's API: blocks, and how neighbours join so that roles alternate.

Format: https://docs.anthropic.com/en/api/messages (types of the `anthropic` package).
"""

from collections.abc import Hashable, Iterator, Sequence
from typing import Any, Final, assert_never

from roost.llm.models import (
    AssistantMessage,
    Media,
    Message,
    Model,
    Reasoning,
    Text,
    ToolCall,
    ToolMessage,
    ToolResult,
    UserMessage,
)
from roost.llm.providers.media import PDF, MediaGate
from roost.llm.providers.quirks import call_id, tool_name
from roost.llm.providers.transcript import Piece, Role
from roost.llm.providers.wire import EMPTY_OUTPUT, object_json, text_json, to_json

CACHE_MARK: Final = b',"cache_control":{"type":"ephemeral"}'
"""Put before the closing brace of a block, it ends a cached prefix."""


def text_block(text: str) -> bytes:
    """A block of words; they must not be blank."""
    return b'{"type":"text","text":' + text_json(text) + b"}"


class AnthropicWriter:
    """Messages for one model."""

    def __init__(self, model: Model) -> None:
        self.model = model

    @property
    def scope(self) -> Hashable:
        """See Writer."""
        return ("anthropic", self.model.ref, self.model.reads_images, self.model.reads_pdf)

    def joins(self, before: Role, after: Role) -> bool:
        """Tool results and the user's words are one side, the assistant the other."""
        return (before == "assistant") == (after == "assistant")

    def pieces(self, message: Message, skip: int) -> tuple[Piece, ...]:
        """See Writer."""
        gate = MediaGate(self.model, skip)
        match message:
            case UserMessage():
                blocks = [block for item in message.content for block in _user_block(item, gate)]
                return (Piece("user", content=b",".join(blocks)),) if blocks else ()
            case AssistantMessage():
                return self._assistant(message)
            case ToolMessage():
                blocks = [_result(result, gate) for result in message.results]
                return (Piece("tool", content=b",".join(blocks)),)
            case _:
                assert_never(message)

    def _assistant(self, message: AssistantMessage) -> tuple[Piece, ...]:
        blocks: list[bytes] = []
        ends = 0
        for part in message.content:
            if block := self._block(part):
                blocks.append(block)
            if block and not isinstance(part, Reasoning):
                ends = len(blocks)
        # Thinking that nothing follows is not taken as the end of a message.
        return (Piece("assistant", content=b",".join(blocks[:ends])),) if ends else ()

    def _block(self, part: Text | Reasoning | ToolCall) -> bytes:
        """The block of `part`, empty when it may not be sent."""
        match part:
            case Text():
                return text_block(part.text) if part.text.strip() else b""
            case Reasoning():
                return self._thinking(part)
            case ToolCall():
                arguments = object_json(part.arguments).encode()
                head = to_json(
                    {"type": "tool_use", "id": call_id(part.id), "name": tool_name(part.name)}
                )
                return head[:-1] + b',"input":' + arguments + b"}"
            case _:
                assert_never(part)

    def _thinking(self, part: Reasoning) -> bytes:
        """Only the model that thought it gets it, and only with what proves that it did."""
        if part.model != self.model.ref:
            return b""
        if data := part.metadata.get("redacted"):
            return to_json({"type": "redacted_thinking", "data": data})
        if signature := part.metadata.get("signature"):
            return to_json({"type": "thinking", "thinking": part.text, "signature": signature})
        return b""

    def render(self, pieces: Sequence[Piece]) -> bytes:
        """See Writer."""
        return _message(pieces[0].role, b",".join(piece.content for piece in pieces))

    def render_marked(self, pieces: Sequence[Piece]) -> bytes:
        """See MarkingWriter."""
        blocks = b",".join(piece.content for piece in pieces)
        return _message(pieces[0].role, blocks[:-1] + CACHE_MARK + b"}")


def _message(role: Role, blocks: bytes) -> bytes:
    side = b"assistant" if role == "assistant" else b"user"
    return b'{"role":"' + side + b'","content":[' + blocks + b"]}"


def _user_block(item: Text | Media, gate: MediaGate) -> Iterator[bytes]:
    if isinstance(item, Media):
        closed = gate.closed(item)
        yield text_block(closed) if closed is not None else _media(item)
    elif item.text.strip():
        yield text_block(item.text)


def _media(media: Media) -> bytes:
    source = {"type": "base64", "media_type": media.mime, "data": media.data}
    if media.mime != PDF:
        return to_json({"type": "image", "source": source})
    title = {"title": media.name} if media.name else {}
    return to_json({"type": "document", "source": source, **title})


def _result(result: ToolResult, gate: MediaGate) -> bytes:
    words = result.output if result.output.strip() else EMPTY_OUTPUT
    shown: list[bytes] = []
    for media in result.media:
        closed = gate.closed(media)
        if closed is None:
            shown.append(_media(media))
        else:
            words += "\n" + closed
    head: dict[str, Any] = {"type": "tool_result", "tool_use_id": call_id(result.id)}
    if result.is_error:
        head["is_error"] = True
    content = text_json(words)
    if shown:
        content = b"[" + b",".join([text_block(words), *shown]) + b"]"
    return to_json(head)[:-1] + b',"content":' + content + b"}"
