"""Messages of OpenAI's responses API: a flat list of items.

Format: https://platform.openai.com/docs/api-reference/responses (types of the `openai` package).
"""

from collections.abc import Hashable, Sequence
from typing import Any, assert_never

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


class ResponsesWriter:
    """Items for one model."""

    def __init__(self, model: Model) -> None:
        self.model = model

    @property
    def scope(self) -> Hashable:
        """See Writer."""
        return ("responses", self.model.ref, self.model.reads_images, self.model.reads_pdf)

    def joins(self, before: Role, after: Role) -> bool:
        """A user who speaks twice in a row speaks in one message."""
        return before == after and after != "tool"

    def pieces(self, message: Message, skip: int) -> tuple[Piece, ...]:
        """See Writer."""
        gate = MediaGate(self.model, skip)
        match message:
            case UserMessage():
                parts = [part for item in message.content if (part := _part(item, gate))]
                return (Piece("user", content=b",".join(parts)),) if parts else ()
            case AssistantMessage():
                return self._assistant(message)
            case ToolMessage():
                items = [_output(result, gate) for result in message.results]
                return (Piece("tool", content=b",".join(items)),)
            case _:
                assert_never(message)

    def _assistant(self, message: AssistantMessage) -> tuple[Piece, ...]:
        items: list[bytes] = []
        ends = 0
        for part in message.content:
            if item := self._item(part):
                items.append(item)
            if item and not isinstance(part, Reasoning):
                ends = len(items)
        # A reasoning item is refused without the item that it led to.
        return (Piece("assistant", content=b",".join(items[:ends])),) if ends else ()

    def _item(self, part: Text | Reasoning | ToolCall) -> bytes:
        """The item of `part`, empty when it may not be sent."""
        match part:
            case Text():
                return self._said(part) if part.text.strip() else b""
            case Reasoning():
                return self._thought(part)
            case ToolCall():
                return to_json(
                    {
                        "type": "function_call",
                        "call_id": call_id(part.id),
                        "name": tool_name(part.name),
                        "arguments": object_json(part.arguments),
                    }
                )
            case _:
                assert_never(part)

    def _said(self, part: Text) -> bytes:
        words = b'{"type":"output_text","text":' + text_json(part.text) + b',"annotations":[]}'
        phase = part.metadata.get("phase")
        mine = part.metadata.get("model") == self.model.ref
        tail = b',"phase":' + text_json(str(phase)) if phase and mine else b""
        return b'{"type":"message","role":"assistant","content":[' + words + b"]" + tail + b"}"

    def _thought(self, part: Reasoning) -> bytes:
        """Only the model that thought it gets it, and only sealed: nothing is stored there."""
        sealed = part.metadata.get("encrypted_content")
        if part.model != self.model.ref or not sealed:
            return b""
        item: dict[str, Any] = {"type": "reasoning", "summary": [], **part.metadata}
        return to_json(item)

    def render(self, pieces: Sequence[Piece]) -> bytes:
        """See Writer."""
        content = b",".join(piece.content for piece in pieces)
        if pieces[0].role != "user":
            return content
        return b'{"type":"message","role":"user","content":[' + content + b"]}"


def _text(words: str) -> bytes:
    return b'{"type":"input_text","text":' + text_json(words) + b"}"


def _part(item: Text | Media, gate: MediaGate) -> bytes:
    if isinstance(item, Media):
        closed = gate.closed(item)
        return _text(closed) if closed is not None else _media(item)
    return _text(item.text) if item.text.strip() else b""


def _media(media: Media) -> bytes:
    url = f"data:{media.mime};base64,{media.data}"
    if media.mime != PDF:
        return to_json({"type": "input_image", "detail": "auto", "image_url": url})
    name = media.name or "document.pdf"
    return to_json({"type": "input_file", "filename": name, "file_data": url})


def _output(result: ToolResult, gate: MediaGate) -> bytes:
    words = result.output if result.output.strip() else EMPTY_OUTPUT
    shown: list[bytes] = []
    for media in result.media:
        closed = gate.closed(media)
        if closed is None:
            shown.append(_media(media))
        else:
            words += "\n" + closed
    output = b"[" + b",".join([_text(words), *shown]) + b"]" if shown else text_json(words)
    head = to_json({"type": "function_call_output", "call_id": call_id(result.id)})
    return head[:-1] + b',"output":' + output + b"}"
