"""Anthropic's messages API: the request around the messages.

Format: https://docs.anthropic.com/en/api/messages (types of the `anthropic` package).
"""

import re
from collections.abc import Sequence
from typing import Any, Final, cast

from roost.llm.models import Model, ModelRequest, ToolSpec
from roost.llm.providers.anthropic_writer import CACHE_MARK, AnthropicWriter, text_block
from roost.llm.providers.cache import EncodingCache, mark, remind
from roost.llm.providers.wire import WireRequest, closed_body, merged, to_json

API_VERSION: Final = "2023-06-01"
_MARKED_GROUPS: Final = 2
"""The last two, so that the prefix of the step before is found again. Four marks are allowed."""
BUDGETS: Final = {"minimal": 1_024, "low": 4_096, "medium": 12_288, "high": 24_576, "max": 32_768}
"""Tokens of thinking for each effort, for models that take a budget."""
_LEAST_BUDGET: Final = 1_024
_ANSWER_ROOM: Final = 4_096
"""Tokens left for the answer when a budget would take all of the output."""
_EFFORTS: Final = frozenset({"low", "medium", "high", "xhigh", "max"})

_VERSION: Final = re.compile(r"claude-(?:[a-z]+-)?(\d{1,2})(?:[-.](\d{1,2}))?(?![\d])")
_ADAPTIVE_SINCE: Final = (4, 6)
_FIXED_SAMPLING_SINCE: Final = (4, 7)
_SCHEMA_SINCE: Final = (4, 5)
_INTERLEAVED: Final = "interleaved-thinking-2025-05-14"
"""Lets models that think within a budget also think between two calls; later ones always do."""


def version_of(model_id: str) -> tuple[int, int] | None:
    """`(4, 6)` for `claude-opus-4-6`; None for what is no Claude model."""
    found = _VERSION.search(model_id)
    return (int(found[1]), int(found[2] or 0)) if found else None


def encode(request: ModelRequest, cache: EncodingCache) -> WireRequest:
    """`request` for `POST /messages`."""
    writer = AnthropicWriter(request.model)
    sent = cache.history(request.messages, writer)
    mark(sent, writer, _MARKED_GROUPS)
    remind(sent, writer, request.reminders)
    fields = parameters(request)
    body = to_json(fields)[:-1]
    if request.tools:
        tools = cache.memo("anthropic-tools", request.tools, lambda: _tools(request.tools))
        body += b',"tools":' + tools
    system = cache.memo("anthropic-system", request.system, lambda: _system(request.system))
    if system:
        body += b',"system":' + system
    body = closed_body(body, b"messages", sent.parts)
    heads = headers(request.model)
    if request.tools and fields.get("thinking", {}).get("type") == "enabled":
        heads["anthropic-beta"] = _INTERLEAVED
    return WireRequest("/messages", heads, body)


def headers(model: Model) -> dict[str, str]:
    """The version of the API and the key; tokens of a login are bearer tokens."""
    found = {"anthropic-version": API_VERSION}
    if model.api_key.startswith("sk-ant-oat"):
        found["authorization"] = f"Bearer {model.api_key}"
    elif model.api_key:
        found["x-api-key"] = model.api_key
    return found


def parameters(request: ModelRequest) -> dict[str, Any]:
    """All of the body besides system, tools and messages. Config's options win."""
    model = request.model
    version = version_of(model.id)
    body: dict[str, Any] = {
        "model": model.id,
        "max_tokens": request.max_output or model.output,
        "stream": True,
    }
    body = merged(body, _thinking(request, version))
    # A model that thinks takes no temperature.
    if "thinking" not in body and (version is None or version < _FIXED_SAMPLING_SINCE):
        body |= _sampling(request)
    if request.tools and request.tool_choice != "auto":
        body["tool_choice"] = {"type": "any" if request.tool_choice == "required" else "none"}
    if request.output_schema is not None and version is not None and version >= _SCHEMA_SINCE:
        output = {"type": "json_schema", "schema": closed(request.output_schema)}
        body = merged(body, {"output_config": {"format": output}})
    return merged(body, model.options)


def _sampling(request: ModelRequest) -> dict[str, Any]:
    """One of the two: together they are refused."""
    if request.temperature is not None:
        return {"temperature": request.temperature}
    return {"top_p": request.top_p} if request.top_p is not None else {}


def _thinking(request: ModelRequest, version: tuple[int, int] | None) -> dict[str, Any]:
    """How much the model shall think, in the words of its generation."""
    model, variant = request.model, request.variant
    if variant is None:
        return {}
    if variant in model.variants:
        return model.variants[variant]
    if variant == "none":
        return {"thinking": {"type": "disabled"}}
    if version is not None and version >= _ADAPTIVE_SINCE:
        thinking = {"type": "adaptive", "display": "summarized"}
        effort = variant if variant in _EFFORTS else "low"
        return {"thinking": thinking, "output_config": {"effort": effort}}
    return _budget(request, variant)


def _budget(request: ModelRequest, variant: str) -> dict[str, Any]:
    """A budget inside the output; none where a tool is forced, which thinking does not allow."""
    limit = request.max_output or request.model.output
    wanted = BUDGETS.get(variant, BUDGETS["high"])
    tokens = max(_LEAST_BUDGET, min(wanted, limit - _ANSWER_ROOM))
    if request.tool_choice == "required" or tokens >= limit:
        return {}
    return {"thinking": {"type": "enabled", "budget_tokens": tokens}}


def closed(schema: dict[str, Any]) -> dict[str, Any]:
    """`schema` with every object closed to further keys, as structured output demands."""
    result = {key: _closed(value) for key, value in schema.items()}
    if result.get("type") == "object":
        result["additionalProperties"] = False
    return result


def _closed(value: Any) -> Any:
    if isinstance(value, dict):
        return closed(cast("dict[str, Any]", value))
    if isinstance(value, list):
        return [_closed(item) for item in cast("list[Any]", value)]
    return value


def _system(blocks: Sequence[str]) -> bytes:
    encoded = [text_block(block) for block in blocks if block.strip()]
    return b"[" + b",".join(encoded)[:-1] + CACHE_MARK + b"}]" if encoded else b""


def _tools(tools: Sequence[ToolSpec]) -> bytes:
    specs = [
        {"name": t.name, "description": t.description, "input_schema": t.schema} for t in tools
    ]
    return to_json(specs)[:-2] + CACHE_MARK + b"}]"
