"""The fields of an OpenAI chat completions request: what may be there, and of which type.

Source: the parameter types of the `openai` package, plus the reasoning fields of compatible APIs.
"""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]


class Breakpoint(Struct, forbid_unknown_fields=True):
    mode: Literal["explicit"]
    ttl: Literal["30m", "12h"] | None = None


class TextPart(Struct, tag="text", forbid_unknown_fields=True):
    text: str
    prompt_cache_breakpoint: Breakpoint | None = None


class RefusalPart(Struct, tag="refusal", forbid_unknown_fields=True):
    refusal: str


class ImageUrl(Struct, forbid_unknown_fields=True):
    url: str
    detail: Literal["auto", "low", "high", "original"] | None = None


class ImagePart(Struct, tag="image_url", forbid_unknown_fields=True):
    image_url: ImageUrl
    prompt_cache_breakpoint: Breakpoint | None = None


class FileData(Struct, forbid_unknown_fields=True):
    file_data: str | None = None
    file_id: str | None = None
    filename: str | None = None


class FilePart(Struct, tag="file", forbid_unknown_fields=True):
    file: FileData
    prompt_cache_breakpoint: Breakpoint | None = None


class CalledFunction(Struct, forbid_unknown_fields=True):
    name: str
    arguments: str


class ToolCall(Struct, forbid_unknown_fields=True):
    id: str
    function: CalledFunction
    type: Literal["function"]


class System(Struct, tag_field="role", tag="system", forbid_unknown_fields=True):
    content: str | list[TextPart]
    name: str | None = None


class Developer(Struct, tag_field="role", tag="developer", forbid_unknown_fields=True):
    content: str | list[TextPart]
    name: str | None = None


class User(Struct, tag_field="role", tag="user", forbid_unknown_fields=True):
    content: str | list[TextPart | ImagePart | FilePart]
    name: str | None = None


class Assistant(Struct, tag_field="role", tag="assistant", forbid_unknown_fields=True):
    content: str | list[TextPart | RefusalPart] | None = None
    name: str | None = None
    refusal: str | None = None
    tool_calls: Annotated[list[ToolCall], Meta(min_length=1)] | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    reasoning_text: str | None = None


class ToolResult(Struct, tag_field="role", tag="tool", forbid_unknown_fields=True):
    content: str | list[TextPart]
    tool_call_id: str


Message = System | Developer | User | Assistant | ToolResult


class Function(Struct, forbid_unknown_fields=True):
    name: str
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None


class Tool(Struct, tag="function", forbid_unknown_fields=True):
    function: Function


class NamedFunction(Struct, forbid_unknown_fields=True):
    name: str


class NamedTool(Struct, tag="function", forbid_unknown_fields=True):
    function: NamedFunction


class StreamOptions(Struct, forbid_unknown_fields=True):
    include_usage: bool | None = None
    include_obfuscation: bool | None = None


class JsonSchema(Struct, forbid_unknown_fields=True):
    name: Annotated[str, Meta(pattern="^[a-zA-Z0-9_-]{1,64}$")]
    schema: dict[str, Any] | None = None
    description: str | None = None
    strict: bool | None = None


class FormatSchema(Struct, tag="json_schema", forbid_unknown_fields=True):
    json_schema: JsonSchema


class FormatObject(Struct, tag="json_object", forbid_unknown_fields=True):
    pass


class FormatText(Struct, tag="text", forbid_unknown_fields=True):
    pass


class Body(Struct, forbid_unknown_fields=True):
    model: str
    messages: list[Any]
    frequency_penalty: Annotated[float, Meta(ge=-2, le=2)] | None = None
    logit_bias: dict[str, int] | None = None
    logprobs: bool | None = None
    max_completion_tokens: Annotated[int, Meta(ge=1)] | None = None
    max_tokens: Annotated[int, Meta(ge=1)] | None = None
    metadata: dict[str, str] | None = None
    modalities: list[Literal["text"]] | None = None
    n: Annotated[int, Meta(ge=1, le=1)] | None = None
    parallel_tool_calls: bool | None = None
    presence_penalty: Annotated[float, Meta(ge=-2, le=2)] | None = None
    prompt_cache_key: str | None = None
    prompt_cache_retention: Literal["in_memory", "24h"] | None = None
    reasoning_effort: Effort | None = None
    response_format: FormatSchema | FormatObject | FormatText | None = None
    safety_identifier: str | None = None
    seed: int | None = None
    service_tier: Literal["auto", "default", "flex", "scale", "priority", "fast"] | None = None
    stop: str | Annotated[list[str], Meta(max_length=4)] | None = None
    store: bool | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    tool_choice: Literal["none", "auto", "required"] | NamedTool | None = None
    tools: Annotated[list[Tool], Meta(min_length=1, max_length=128)] | None = None
    top_logprobs: Annotated[int, Meta(ge=0, le=20)] | None = None
    top_p: Annotated[float, Meta(ge=0, le=1)] | None = None
    user: str | None = None
    verbosity: Literal["low", "medium", "high"] | None = None
