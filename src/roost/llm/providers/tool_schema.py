"""Tool use for small models, without tools: the answer is one JSON object of a given schema.

A small local model rarely keeps to the format of its own tool calls, but a server that turns a JSON
schema into a grammar makes it. Each answer is `{"tool": name, "arguments": {…}}` or
`{"answer": text}`; calls and results of the history are written in the same words.
"""

from collections.abc import Hashable, Sequence
from typing import Any, Final, assert_never, cast

import msgspec
from msgspec.structs import replace

from roost.llm.models import (
    AssistantMessage,
    Media,
    Message,
    Model,
    ModelRequest,
    Text,
    ToolCall,
    ToolMessage,
    ToolResult,
    ToolSpec,
    UserMessage,
    with_reminders,
)
from roost.llm.providers.cache import EncodingCache
from roost.llm.providers.media import note
from roost.llm.providers.openai_chat import headers, parameters
from roost.llm.providers.quirks import quirks_of
from roost.llm.providers.transcript import Piece, Role
from roost.llm.providers.wire import (
    EMPTY_OUTPUT,
    WireRequest,
    closed_body,
    object_json,
    text_json,
    to_json,
)
from roost.llm.schema_refs import moved

_BLIND: Final = "was left out: this model reads only text"
_RULES: Final = """\
Answer with exactly one JSON object and nothing else.
To use a tool: {"tool": "<name>", "arguments": {<arguments>}}
To speak to the user: {"answer": "<your words>"}
Tools:
"""


def applies(request: ModelRequest) -> bool:
    """Whether the tools of `request` are offered by schema."""
    return request.model.small_prompt and bool(request.tools) and request.tool_choice != "none"


def encode(request: ModelRequest, cache: EncodingCache) -> WireRequest:
    """`request` for `POST /chat/completions`, its tools as a schema of the answer."""
    writer = SchemaWriter(request.model)
    sent = cache.history(with_reminders(request), writer)
    quirks = quirks_of(request.model)
    plain = replace(request, tools=(), output_schema=None)
    fields = parameters(plain, quirks)
    must_call = request.tool_choice == "required"
    form = {"name": "step", "schema": answer_schema(request.tools, must_call=must_call)}
    fields["response_format"] = {"type": "json_schema", "json_schema": form}
    rules = _RULES + "\n".join(_line(tool) for tool in request.tools)
    system = "\n\n".join(block for block in (*request.system, rules) if block.strip())
    messages = [b'{"role":"system","content":' + text_json(system) + b"}"]
    messages += sent.parts
    body = closed_body(to_json(fields)[:-1], b"messages", messages)
    return WireRequest("/chat/completions", headers(request.model, quirks), body)


def answer_schema(tools: Sequence[ToolSpec], *, must_call: bool) -> dict[str, Any]:
    """One of the tools with its arguments, or (unless it must call one) an answer in words."""
    forms = [
        _object(
            {
                "tool": {"const": tool.name},
                "arguments": moved(tool.schema, f"/anyOf/{place}/properties/arguments"),
            }
        )
        for place, tool in enumerate(tools)
    ]
    if not must_call:
        forms.append(_object({"answer": {"type": "string"}}))
    return {"anyOf": forms}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _line(tool: ToolSpec) -> str:
    properties = cast("dict[str, Any]", tool.schema.get("properties", {}))
    required = set(tool.schema.get("required", ()))
    names = [name if name in required else f"{name}?" for name in properties]
    first = tool.description.strip().partition("\n")[0]
    return f"- {tool.name}({', '.join(names)}): {first}"


class SchemaWriter:
    """The history in the words that the model is to use itself."""

    def __init__(self, model: Model) -> None:
        self.model = model

    @property
    def scope(self) -> Hashable:
        """See Writer."""
        return ("schema", self.model.ref)

    def joins(self, before: Role, after: Role) -> bool:
        """Results are told by the user, so that roles alternate for any chat template."""
        return (before == "assistant") == (after == "assistant")

    def pieces(self, message: Message, skip: int) -> tuple[Piece, ...]:
        """See Writer."""
        del skip  # No media is ever shown.
        match message:
            case UserMessage():
                said = [_words(item) for item in message.content]
                return _piece("user", said)
            case AssistantMessage():
                return _piece("assistant", _own_words(message))
            case ToolMessage():
                return _piece("tool", [_told(result) for result in message.results])
            case _:
                assert_never(message)

    def render(self, pieces: Sequence[Piece]) -> bytes:
        """See Writer."""
        side = b"assistant" if pieces[0].role == "assistant" else b"user"
        words = rb"\n\n".join(piece.text[1:-1] for piece in pieces)
        return b'{"role":"' + side + b'","content":"' + words + b'"}'


def _piece(role: Role, said: Sequence[str]) -> tuple[Piece, ...]:
    words = "\n\n".join(text for text in said if text.strip())
    return (Piece(role, text=text_json(words)),) if words else ()


def _words(item: Text | Media) -> str:
    return note(item, _BLIND) if isinstance(item, Media) else item.text


def _own_words(message: AssistantMessage) -> list[str]:
    calls = [part for part in message.content if isinstance(part, ToolCall)]
    if calls:
        return [_call(call) for call in calls]
    said = "".join(part.text for part in message.content if isinstance(part, Text))
    return [to_json({"answer": said}).decode()] if said.strip() else []


def _call(call: ToolCall) -> str:
    arguments = msgspec.Raw(object_json(call.arguments).encode())
    return to_json({"tool": call.name, "arguments": arguments}).decode()


def _told(result: ToolResult) -> str:
    words = result.output if result.output.strip() else EMPTY_OUTPUT
    head = f"The tool {result.name} {'failed' if result.is_error else 'answered'}:"
    return "\n".join([head, words, *(note(media, _BLIND) for media in result.media)])
