"""Where servers that speak OpenAI's chat API differ from it, told by the host of the base URL.

An unknown host gets the common subset that every known server takes.
"""

import hashlib
import re
from functools import lru_cache
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from roost.llm.models import Model

_PLAIN: Final = re.compile(r"[A-Za-z0-9_-]{1,40}")
"""Ids of calls that every API takes."""
_TOOL: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_NO_TOOL: Final = re.compile(r"[^A-Za-z0-9_-]")
_NINE: Final = re.compile(r"[A-Za-z0-9]{9}")
_BASE62: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


class Quirks(Struct, frozen=True):
    """How one server differs."""

    limit_field: str = "max_tokens"
    """The field that bounds the answer."""
    usage_on_request: bool = True
    """Whether `stream_options.include_usage` is known; elsewhere usage always comes."""
    short_ids: bool = False
    """Ids of calls must be nine letters or digits."""
    own_ids: bool = False
    """Reads a meaning in the ids it made, so they go back as they are."""
    filler_after_tool: bool = False
    """A user may not speak right after a tool result."""
    cache_marks: bool = False
    """Takes Anthropic's `cache_control` on parts of messages."""
    nested_effort: bool = False
    """Reasoning effort is `reasoning.effort`, not `reasoning_effort`."""
    json_schema: bool = True
    """Knows `response_format` of type `json_schema`; elsewhere `json_object` is asked for."""
    routes_by_key: bool = False
    """Knows `prompt_cache_key`."""
    fixed_sampling: bool = False
    """Reasoning models refuse `temperature` and `top_p`."""
    files: bool = False
    """Takes documents as `file` parts."""
    key_header: str = ""
    """The header that carries the key, where it is not a bearer token."""


PLAIN: Final = Quirks()
"""A server without any."""
_OPENAI: Final = Quirks(
    limit_field="max_completion_tokens", routes_by_key=True, fixed_sampling=True, files=True
)
_HOSTS: Final = {
    "api.openai.com": _OPENAI,
    "openai.azure.com": replace(_OPENAI, key_header="api-key"),
    "cognitiveservices.azure.com": replace(_OPENAI, key_header="api-key"),
    "api.mistral.ai": Quirks(usage_on_request=False, short_ids=True, filler_after_tool=True),
    "openrouter.ai": Quirks(nested_effort=True, files=True),
    "api.deepseek.com": Quirks(json_schema=False),
    "api.groq.com": Quirks(limit_field="max_completion_tokens"),
    "api.cerebras.ai": Quirks(limit_field="max_completion_tokens"),
}


@lru_cache(maxsize=64)
def quirks_of_host(base_url: str) -> Quirks:
    """The quirks of the server at `base_url`."""
    host = urlsplit(base_url).hostname or ""
    for suffix, quirks in _HOSTS.items():
        if host == suffix or host.endswith("." + suffix):
            return quirks
    return PLAIN


def quirks_of(model: Model) -> Quirks:
    """The quirks of the server that `model` runs on."""
    quirks = quirks_of_host(model.base_url)
    if "kimi" in model.id.lower():
        quirks = replace(quirks, own_ids=True)
    if quirks.nested_effort and model.id.startswith("anthropic/"):
        return replace(quirks, cache_marks=True)
    return quirks


def call_id(identifier: str, quirks: Quirks = PLAIN) -> str:
    """`identifier` as the server takes it; equal ids stay equal, so calls keep their results."""
    if quirks.short_ids:
        return identifier if _NINE.fullmatch(identifier) else short(identifier, 9)
    if quirks.own_ids or _PLAIN.fullmatch(identifier):
        return identifier
    return "call_" + short(identifier, 24)


def tool_name(name: str) -> str:
    """`name` as every server takes it: models call tools that no tool is called."""
    if _TOOL.fullmatch(name):
        return name
    return _NO_TOOL.sub("_", name)[:64] or "unnamed"


def short(identifier: str, length: int) -> str:
    """`length` letters and digits that stand for `identifier`."""
    number = int.from_bytes(hashlib.sha256(identifier.encode(errors="replace")).digest())
    letters: list[str] = []
    for _ in range(length):
        number, digit = divmod(number, len(_BASE62))
        letters.append(_BASE62[digit])
    return "".join(letters)
