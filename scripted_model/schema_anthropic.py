"""The fields of an Anthropic messages request: what may be there, and of which type.

Source: the parameter types of the `anthropic` package, without the tools that the API itself runs.
"""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct


class CacheControl(Struct, forbid_unknown_fields=True):
    type: Literal["ephemeral"]
    ttl: Literal["5m", "1h"] | None = None


class Text(Struct, tag="text", forbid_unknown_fields=True):
    text: str
    cache_control: CacheControl | None = None
    citations: list[Any] | None = None


class Base64Image(Struct, tag="base64", forbid_unknown_fields=True):
    data: str
    media_type: Literal["image/jpeg", "image/png", "image/gif", "image/webp"]


class UrlImage(Struct, tag="url", forbid_unknown_fields=True):
    url: str


class Image(Struct, tag="image", forbid_unknown_fields=True):
    source: Base64Image | UrlImage
    cache_control: CacheControl | None = None


class Base64Pdf(Struct, tag="base64", forbid_unknown_fields=True):
    data: str
    media_type: Literal["application/pdf"]


class PlainText(Struct, tag="text", forbid_unknown_fields=True):
    data: str
    media_type: Literal["text/plain"]


class UrlPdf(Struct, tag="url", forbid_unknown_fields=True):
    url: str


class Document(Struct, tag="document", forbid_unknown_fields=True):
    source: Base64Pdf | PlainText | UrlPdf
    cache_control: CacheControl | None = None
    citations: Any = None
    context: str | None = None
    title: str | None = None


class Thinking(Struct, tag="thinking", forbid_unknown_fields=True):
    thinking: str
    signature: str


class RedactedThinking(Struct, tag="redacted_thinking", forbid_unknown_fields=True):
    data: str


class DirectCaller(Struct, tag="direct", forbid_unknown_fields=True):
    pass


class ToolUse(Struct, tag="tool_use", forbid_unknown_fields=True):
    id: str
    name: str
    input: dict[str, Any]
    cache_control: CacheControl | None = None
    caller: DirectCaller | None = None


class ToolResult(Struct, tag="tool_result", forbid_unknown_fields=True):
    tool_use_id: str
    content: str | list[Text | Image | Document] = ""
    is_error: bool = False
    cache_control: CacheControl | None = None


class User(Struct, tag_field="role", tag="user", forbid_unknown_fields=True):
    content: str | list[Text | Image | Document | ToolResult]


class Assistant(Struct, tag_field="role", tag="assistant", forbid_unknown_fields=True):
    content: str | list[Text | Thinking | RedactedThinking | ToolUse]


Message = User | Assistant


class Tool(Struct, forbid_unknown_fields=True):
    name: str
    input_schema: dict[str, Any]
    description: str | None = None
    type: Literal["custom"] | None = None
    cache_control: CacheControl | None = None
    strict: bool | None = None
    eager_input_streaming: bool | None = None
    defer_loading: bool | None = None
    input_examples: list[dict[str, Any]] | None = None
    allowed_callers: list[str] | None = None


Display = Literal["summarized", "omitted"]


class ThinkingOn(Struct, tag="enabled", forbid_unknown_fields=True):
    budget_tokens: Annotated[int, Meta(ge=1024)]
    display: Display | None = None


class ThinkingOff(Struct, tag="disabled", forbid_unknown_fields=True):
    pass


class ThinkingAdaptive(Struct, tag="adaptive", forbid_unknown_fields=True):
    display: Display | None = None


class ThinkingBetweenTools(Struct, tag="between_tools", forbid_unknown_fields=True):
    pass


class ChoiceAuto(Struct, tag="auto", forbid_unknown_fields=True):
    disable_parallel_tool_use: bool | None = None


class ChoiceAny(Struct, tag="any", forbid_unknown_fields=True):
    disable_parallel_tool_use: bool | None = None


class ChoiceTool(Struct, tag="tool", forbid_unknown_fields=True):
    name: str
    disable_parallel_tool_use: bool | None = None


class ChoiceNone(Struct, tag="none", forbid_unknown_fields=True):
    pass


class JsonFormat(Struct, tag="json_schema", forbid_unknown_fields=True):
    schema: dict[str, Any]


class OutputConfig(Struct, forbid_unknown_fields=True):
    effort: Literal["low", "medium", "high", "xhigh", "max"] | None = None
    format: JsonFormat | None = None


class Metadata(Struct, forbid_unknown_fields=True):
    user_id: str | None = None


class Body(Struct, forbid_unknown_fields=True):
    model: str
    messages: list[Any]
    max_tokens: Annotated[int, Meta(ge=0)]
    cache_control: CacheControl | None = None
    metadata: Metadata | None = None
    output_config: OutputConfig | None = None
    service_tier: Literal["auto", "standard_only"] | None = None
    stop_sequences: list[str] | None = None
    stream: bool | None = None
    system: str | list[Text] | None = None
    temperature: Annotated[float, Meta(ge=0, le=1)] | None = None
    thinking: ThinkingOn | ThinkingOff | ThinkingAdaptive | ThinkingBetweenTools | None = None
    tool_choice: ChoiceAuto | ChoiceAny | ChoiceTool | ChoiceNone | None = None
    tools: list[Tool] | None = None
    top_k: int | None = None
    top_p: Annotated[float, Meta(ge=0, le=1)] | None = None


class CountBody(Struct, forbid_unknown_fields=True):
    """What `count_tokens` takes: a request without what only an answer needs."""

    model: str
    messages: list[Any]
    cache_control: CacheControl | None = None
    output_config: OutputConfig | None = None
    system: str | list[Text] | None = None
    thinking: ThinkingOn | ThinkingOff | ThinkingAdaptive | ThinkingBetweenTools | None = None
    tool_choice: ChoiceAuto | ChoiceAny | ChoiceTool | ChoiceNone | None = None
    tools: list[Tool] | None = None
