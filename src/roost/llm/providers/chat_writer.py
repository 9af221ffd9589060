"""Messages of OpenAI's chat API: how each kind of message is written, and how neighbours join."""

from collections.abc import Hashable, Iterable, Iterator, Sequence
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
from roost.llm.providers.media import PDF, MediaGate, note
from roost.llm.providers.quirks import Quirks, call_id, tool_name
from roost.llm.providers.reasoning_details import joined_details
from roost.llm.providers.transcript import Piece, Role
from roost.llm.providers.wire import EMPTY_OUTPUT, object_json, text_json, to_json

CACHE_MARK: Final = b',"cache_control":{"type":"ephemeral"}'
"""Put before the closing brace of a part, it ends a cached prefix."""
FILLER: Final = b'{"role":"assistant","content":"Understood."}'
"""Stands between a tool result and a user, where the server demands an assistant there."""
_NO_FILES: Final = "was left out: this server takes no documents"


def text_part(text: bytes) -> bytes:
    """A content part of the JSON string `text`."""
    return b'{"type":"text","text":' + text + b"}"


class ChatWriter:
    """Messages of the chat API for one model."""

    def __init__(self, model: Model, quirks: Quirks, *, tools_in_play: bool) -> None:
        self.model = model
        self._quirks = quirks
        self._tools_in_play = tools_in_play

    @property
    def scope(self) -> Hashable:
        """See Writer."""
        model = self.model
        takes = (model.reads_images, model.reads_pdf)
        return ("chat", model.ref, takes, self._quirks, self._tools_in_play)

    def joins(self, before: Role, after: Role) -> bool:
        """Users and assistants speak in one message until the other speaks; results stand alone."""
        return before == after and after != "tool"

    def pieces(self, message: Message, skip: int) -> tuple[Piece, ...]:
        """See Writer."""
        match message:
            case UserMessage():
                return self._user(message, MediaGate(self.model, skip))
            case AssistantMessage():
                return self._assistant(message)
            case ToolMessage():
                return self._tool(message, MediaGate(self.model, skip))
            case _:
                assert_never(message)

    def _user(self, message: UserMessage, gate: MediaGate) -> tuple[Piece, ...]:
        words: list[str] = []
        parts: list[bytes] = []
        for item in message.content:
            shown = self._shown(item, gate) if isinstance(item, Media) else item.text
            if isinstance(shown, bytes):
                parts.append(shown)
            elif shown.strip():
                words.append(shown)
                parts.append(text_part(text_json(shown)))
        if not parts:
            return ()
        if len(words) == len(parts):
            return (Piece("user", text=text_json("\n\n".join(words)), content=b",".join(parts)),)
        return (Piece("user", content=b",".join(parts)),)

    def _shown(self, media: Media, gate: MediaGate) -> bytes | str:
        closed = gate.closed(media)
        if closed is not None:
            return closed
        url = f"data:{media.mime};base64,{media.data}"
        if media.mime != PDF:
            return to_json({"type": "image_url", "image_url": {"url": url}})
        if not self._quirks.files:
            return note(media, _NO_FILES)
        file = {"filename": media.name or "document.pdf", "file_data": url}
        return to_json({"type": "file", "file": file})

    def _assistant(self, message: AssistantMessage) -> tuple[Piece, ...]:
        words = [p.text for p in message.content if isinstance(p, Text) and p.text.strip()]
        calls = [self._call(part) for part in message.content if isinstance(part, ToolCall)]
        if not words and not calls:
            return ()
        reasoning = b""
        if self._tools_in_play or calls:
            reasoning = self._reasoning([p for p in message.content if isinstance(p, Reasoning)])
        text = text_json(spaced(words)) if words else b""
        return (Piece("assistant", text=text, calls=b",".join(calls), reasoning=reasoning),)

    def _reasoning(self, blocks: Sequence[Reasoning]) -> bytes:
        """Thinking under the field it came in; only the model that thought it gets it."""
        fields: dict[str, Any] = {}
        for block in blocks:
            if block.model != self.model.ref:
                continue
            if new := block.metadata.get("reasoning_details"):
                known = fields.get("reasoning_details", [])
                fields["reasoning_details"] = joined_details([*known, *new])
            elif block.text and (name := block.metadata.get("field")):
                fields[name] = fields.get(name, "") + block.text
        # Thinking that is nothing but blanks is refused like any other empty content.
        kept = {n: v for n, v in fields.items() if not isinstance(v, str) or v.strip()}
        return to_json(kept)[1:-1]

    def _call(self, call: ToolCall) -> bytes:
        wire: dict[str, Any] = {
            "id": call_id(call.id, self._quirks),
            "type": "function",
            "function": {"name": tool_name(call.name), "arguments": object_json(call.arguments)},
        }
        extra = call.metadata.get("extra_content")
        if extra is not None and call.metadata.get("model") == self.model.ref:
            wire["extra_content"] = extra
        return to_json(wire)

    def _tool(self, message: ToolMessage, gate: MediaGate) -> tuple[Piece, ...]:
        results: list[bytes] = []
        shown: list[bytes] = []
        for result in message.results:
            words = result.output if result.output.strip() else EMPTY_OUTPUT
            for item in self._attached(result, gate):
                if isinstance(item, str):
                    words += "\n" + item
                else:
                    shown.append(item)
            results.append(self._result(call_id(result.id, self._quirks), text_json(words)))
        answer = Piece("tool", content=b",".join(results))
        return (answer, Piece("user", content=b",".join(shown))) if shown else (answer,)

    def _attached(self, result: ToolResult, gate: MediaGate) -> Iterator[bytes | str]:
        """What a result shows: notes for its own text, parts for the user message behind it."""
        pictures = [self._shown(media, gate) for media in result.media]
        if any(isinstance(picture, bytes) for picture in pictures):
            yield text_part(text_json(f"[Shown by the tool {result.name}:]"))
        yield from pictures

    def _result(self, identifier: str, text: bytes) -> bytes:
        content = b"[" + text_part(text) + b"]" if self._quirks.cache_marks else text
        wrapped = b'{"role":"tool","tool_call_id":' + text_json(identifier)
        return wrapped + b',"content":' + content + b"}"

    def render(self, pieces: Sequence[Piece]) -> bytes:
        """See Writer."""
        role = pieces[0].role
        match role:
            case "user":
                if not self._quirks.cache_marks and all(piece.text for piece in pieces):
                    return _user(_glued(piece.text for piece in pieces))
                return _user(b"[" + b",".join(piece.content for piece in pieces) + b"]")
            case "assistant":
                return _render_assistant(pieces)
            case "tool":
                return pieces[0].content
            case _:
                assert_never(role)

    def render_marked(self, pieces: Sequence[Piece]) -> bytes:
        """See MarkingWriter. With breakpoints, users and tools always speak in parts."""
        plain = self.render(pieces)
        tail = len(b"}]}")
        return plain[:-tail] + CACHE_MARK + plain[-tail:]


def _user(content: bytes) -> bytes:
    return b'{"role":"user","content":' + content + b"}"


def _render_assistant(pieces: Sequence[Piece]) -> bytes:
    text = _glued(piece.text for piece in pieces if piece.text)
    data = b'{"role":"assistant","content":' + (text or b"null")
    if reasoning := next((p.reasoning for p in reversed(pieces) if p.reasoning), b""):
        data += b"," + reasoning
    if calls := b",".join(piece.calls for piece in pieces if piece.calls):
        data += b',"tool_calls":[' + calls + b"]"
    return data + b"}"


def _glued(texts: Iterable[bytes]) -> bytes:
    """One JSON string of several, with a blank line between them."""
    inner = rb"\n\n".join(text[1:-1] for text in texts)
    return b'"' + inner + b'"' if inner else b""


def spaced(words: Sequence[str]) -> str:
    """The words of one answer that something interrupted, put together again."""
    whole = ""
    for word in words:
        apart = whole and not whole[-1].isspace() and not word[0].isspace()
        whole += "\n\n" + word if apart else word
    return whole
