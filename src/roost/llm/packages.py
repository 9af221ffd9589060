"""What OpenCode's names in a provider entry mean here: packages and options of the AI SDK."""

from typing import Any, Final, cast

from roost.llm.models import Dialect

_DIALECTS: Final[dict[str, Dialect]] = {
    "@ai-sdk/openai-compatible": "openai-chat",
    "@ai-sdk/openai": "openai-responses",
    "@ai-sdk/anthropic": "anthropic",
    "@openrouter/ai-sdk-provider": "openai-chat",
    "@ai-sdk/groq": "openai-chat",
    "@ai-sdk/deepseek": "openai-chat",
    "@ai-sdk/mistral": "openai-chat",
    "@ai-sdk/xai": "openai-chat",
    "@ai-sdk/cerebras": "openai-chat",
    "@ai-sdk/togetherai": "openai-chat",
    "@ai-sdk/fireworks": "openai-chat",
    "@ai-sdk/deepinfra": "openai-chat",
    "@ai-sdk/perplexity": "openai-chat",
}

PYDANTIC_AI: Final = {
    "@ai-sdk/amazon-bedrock": "bedrock",
    "@ai-sdk/google": "google",
    "@ai-sdk/google-vertex": "google-cloud",
    "@ai-sdk/azure": "azure",
    "@ai-sdk/cohere": "cohere",
    "@ai-sdk/huggingface": "huggingface",
}
"""The names that pydantic-ai gives to the providers of these packages."""


def package_name(npm: str) -> str:
    """`npm` without a version: `@ai-sdk/openai@2.0.1` is `@ai-sdk/openai`."""
    at = npm.find("@", 1)
    return npm if at < 0 else npm[:at]


def dialect_of(npm: str) -> Dialect:
    """The dialect of a package: those spoken here, and pydantic-ai for all others."""
    return _DIALECTS.get(package_name(npm), "pydantic-ai")


_CHAT: Final = {
    "reasoningEffort": ("reasoning_effort",),
    "serviceTier": ("service_tier",),
    "promptCacheKey": ("prompt_cache_key",),
    "parallelToolCalls": ("parallel_tool_calls",),
    "textVerbosity": ("verbosity",),
    "topP": ("top_p",),
    "topK": ("top_k",),
}
_RESPONSES: Final = {
    "reasoningEffort": ("reasoning", "effort"),
    "reasoningSummary": ("reasoning", "summary"),
    "textVerbosity": ("text", "verbosity"),
    "serviceTier": ("service_tier",),
    "promptCacheKey": ("prompt_cache_key",),
    "parallelToolCalls": ("parallel_tool_calls",),
    "topP": ("top_p",),
}
_ANTHROPIC: Final = {
    "effort": ("output_config", "effort"),
    "budgetTokens": ("budget_tokens",),
    "serviceTier": ("service_tier",),
    "topP": ("top_p",),
    "topK": ("top_k",),
}
_NAMES: Final[dict[Dialect, dict[str, tuple[str, ...]]]] = {
    "openai-chat": _CHAT,
    "openai-responses": _RESPONSES,
    "anthropic": _ANTHROPIC,
    "pydantic-ai": {},
}


def body_fields(options: dict[str, Any], dialect: Dialect) -> dict[str, Any]:
    """`options` of a model as fields of the request body; unknown names stay as they are."""
    names = _NAMES[dialect]
    fields: dict[str, Any] = {}
    for name, value in options.items():
        nested = isinstance(value, dict)
        inner = body_fields(cast("dict[str, Any]", value), dialect) if nested else value
        _put(fields, names.get(name, (name,)), inner)
    return fields


def _put(fields: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    for step in path[:-1]:
        fields = fields.setdefault(step, {})
    fields[path[-1]] = value
