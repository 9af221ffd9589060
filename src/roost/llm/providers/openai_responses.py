"""OpenAI's responses API: the request around the items. Nothing is stored at the provider.

Format: https://platform.openai.com/docs/api-reference/responses (types of the `openai` package).
"""

from collections.abc import Sequence
from typing import Any

from roost.llm.models import ModelRequest, ToolSpec
from roost.llm.providers.cache import EncodingCache, remind
from roost.llm.providers.openai_chat import headers, is_strict
from roost.llm.providers.quirks import quirks_of
from roost.llm.providers.responses_writer import ResponsesWriter
from roost.llm.providers.wire import WireRequest, closed_body, merged, text_json, to_json


def encode(request: ModelRequest, cache: EncodingCache) -> WireRequest:
    """`request` for `POST /responses`."""
    writer = ResponsesWriter(request.model)
    sent = cache.history(request.messages, writer)
    remind(sent, writer, request.reminders)
    body = to_json(parameters(request))[:-1]
    if request.tools:
        tools = cache.memo("responses-tools", request.tools, lambda: _tools(request.tools))
        body += b',"tools":' + tools
    system = cache.memo("responses-system", request.system, lambda: _system(request.system))
    if system:
        body += b',"instructions":' + system
    body = closed_body(body, b"input", sent.parts)
    return WireRequest("/responses", headers(request.model, quirks_of(request.model)), body)


def parameters(request: ModelRequest) -> dict[str, Any]:
    """All of the body besides instructions, tools and items. Config's options win."""
    model = request.model
    body: dict[str, Any] = {
        "model": model.id,
        "stream": True,
        "store": False,
        "max_output_tokens": request.max_output or model.output,
    }
    if model.reasons:
        body["include"] = ["reasoning.encrypted_content"]
        body["reasoning"] = {"summary": "auto"}
    else:
        sampling = {"temperature": request.temperature, "top_p": request.top_p}
        body |= {name: value for name, value in sampling.items() if value is not None}
    if request.tools and request.tool_choice != "auto":
        body["tool_choice"] = request.tool_choice
    if request.output_schema is not None:
        schema = request.output_schema
        form = {"type": "json_schema", "name": "answer", "schema": schema}
        body["text"] = {"format": form | {"strict": is_strict(schema)}}
    if request.cache_key is not None:
        body["prompt_cache_key"] = request.cache_key
    return merged(merged(body, _effort(request)), model.options)


def _effort(request: ModelRequest) -> dict[str, Any]:
    if request.variant is None:
        return {}
    own = request.model.variants.get(request.variant)
    return {"reasoning": {"effort": request.variant}} if own is None else own


def _system(blocks: Sequence[str]) -> bytes:
    words = "\n\n".join(block for block in blocks if block.strip())
    return text_json(words) if words else b""


def _tools(tools: Sequence[ToolSpec]) -> bytes:
    return to_json(
        [
            {
                "type": "function",
                "name": t.name,
                "description": t.description,
                "parameters": t.schema,
                "strict": False,
            }
            for t in tools
        ]
    )
