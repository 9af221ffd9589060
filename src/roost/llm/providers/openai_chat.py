"""OpenAI's chat completions API, as OpenAI and the many servers that imitate it take requests.

Format: https://platform.openai.com/docs/api-reference/chat/create and, for what other servers add
(`reasoning_content`, `reasoning_details`, `extra_content`), the documents of those servers.
"""

from collections.abc import Sequence
from typing import Any, Final, cast

from roost.llm.models import Model, ModelRequest, ToolSpec
from roost.llm.providers.cache import EncodingCache, mark, remind
from roost.llm.providers.chat_writer import CACHE_MARK, FILLER, ChatWriter, text_part
from roost.llm.providers.quirks import Quirks, quirks_of
from roost.llm.providers.transcript import Sent
from roost.llm.providers.wire import WireRequest, closed_body, merged, text_json, to_json

_MARKED_GROUPS: Final = 2


def encode(request: ModelRequest, cache: EncodingCache) -> WireRequest:
    """`request` for `POST /chat/completions`."""
    quirks = quirks_of(request.model)
    writer = ChatWriter(request.model, quirks, tools_in_play=bool(request.tools))
    sent = cache.history(request.messages, writer)
    if quirks.cache_marks:
        mark(sent, writer, _MARKED_GROUPS)
    remind(sent, writer, request.reminders)
    if quirks.filler_after_tool:
        _fill(sent)
    system = cache.memo(
        f"chat-system-{quirks.cache_marks}", request.system, lambda: _system(request.system, quirks)
    )
    messages = [system, *sent.parts] if system else sent.parts
    head = to_json(parameters(request, quirks))[:-1]
    if request.tools:
        tools = cache.memo("chat-tools", request.tools, lambda: _tools(request.tools))
        head += b',"tools":' + tools
    body = closed_body(head, b"messages", messages)
    return WireRequest("/chat/completions", headers(request.model, quirks), body)


def _fill(sent: Sent) -> None:
    for index in range(1, len(sent.groups)):
        before, after = sent.groups[index - 1][-1], sent.groups[index][0]
        if before.role == "tool" and after.role == "user":
            sent.parts[index] = FILLER + b"," + sent.parts[index]
    if len(sent.parts) > len(sent.groups) and sent.groups[-1][-1].role == "tool":
        sent.parts[-1] = FILLER + b"," + sent.parts[-1]  # a reminder behind results


def headers(model: Model, quirks: Quirks) -> dict[str, str]:
    """Headers that carry the key; a server without a key gets none."""
    if not model.api_key:
        return {}
    if quirks.key_header:
        return {quirks.key_header: model.api_key}
    return {"authorization": f"Bearer {model.api_key}"}


def parameters(request: ModelRequest, quirks: Quirks) -> dict[str, Any]:
    """All of the body besides messages and tools. Config's options win over what is asked."""
    model = request.model
    body: dict[str, Any] = {"model": model.id, "stream": True}
    if quirks.usage_on_request:
        body["stream_options"] = {"include_usage": True}
    body[quirks.limit_field] = request.max_output or model.output
    if not (quirks.fixed_sampling and model.reasons):
        body |= _given(temperature=request.temperature, top_p=request.top_p)
    if request.tools and request.tool_choice != "auto":
        body["tool_choice"] = request.tool_choice
    if request.output_schema is not None:
        body["response_format"] = response_format(request.output_schema, quirks)
    if quirks.routes_by_key:
        body |= _given(prompt_cache_key=request.cache_key)
    return merged(merged(body, _effort(request, quirks)), model.options)


def _given(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _effort(request: ModelRequest, quirks: Quirks) -> dict[str, Any]:
    if request.variant is None:
        return {}
    if request.variant in request.model.variants:
        return request.model.variants[request.variant]
    if quirks.nested_effort:
        return {"reasoning": {"effort": request.variant}}
    return {"reasoning_effort": request.variant}


def response_format(schema: dict[str, Any], quirks: Quirks) -> dict[str, Any]:
    """How the server is told that the answer must be JSON of `schema`."""
    if not quirks.json_schema:
        return {"type": "json_object"}
    named = {"name": "answer", "schema": schema, "strict": is_strict(schema)}
    return {"type": "json_schema", "json_schema": named}


def is_strict(schema: Any) -> bool:
    """Whether `schema` meets OpenAI's terms for strict mode: closed objects, no optional keys."""
    if isinstance(schema, list):
        return all(is_strict(item) for item in cast("list[Any]", schema))
    if not isinstance(schema, dict):
        return True
    fields = cast("dict[str, Any]", schema)
    if fields.get("type") == "object":
        keys = set(fields.get("properties", ()))
        closed = fields.get("additionalProperties") is False
        if not closed or set(fields.get("required", ())) != keys:
            return False
    return all(is_strict(value) for value in fields.values())


def _system(blocks: Sequence[str], quirks: Quirks) -> bytes:
    words = [block for block in blocks if block.strip()]
    if not words:
        return b""
    if not quirks.cache_marks:
        return b'{"role":"system","content":' + text_json("\n\n".join(words)) + b"}"
    parts = b",".join(text_part(text_json(block)) for block in words)
    return b'{"role":"system","content":[' + parts[:-1] + CACHE_MARK + b"}]}"


def _tools(tools: Sequence[ToolSpec]) -> bytes:
    functions = [
        {
            "type": "function",
            "function": {"name": t.name, "description": t.description, "parameters": t.schema},
        }
        for t in tools
    ]
    return to_json(functions)
