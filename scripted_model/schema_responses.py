"""The fields of an OpenAI responses request: what may be there, and of which type.

Source: the parameter types of the `openai` package, without the tools that the API itself runs.
"""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from scripted_model.schema_chat import Breakpoint, Effort

ItemStatus = Literal["in_progress", "completed", "incomplete"]


class InputText(Struct, tag="input_text", forbid_unknown_fields=True):
    text: str
    prompt_cache_breakpoint: Breakpoint | None = None


class InputImage(Struct, tag="input_image", forbid_unknown_fields=True):
    image_url: str | None = None
    file_id: str | None = None
    detail: Literal["auto", "low", "high", "original"] | None = None
    prompt_cache_breakpoint: Breakpoint | None = None


class InputFile(Struct, tag="input_file", forbid_unknown_fields=True):
    file_data: str | None = None
    file_id: str | None = None
    file_url: str | None = None
    filename: str | None = None
    detail: Literal["auto", "low", "high"] | None = None
    prompt_cache_breakpoint: Breakpoint | None = None


class OutputText(Struct, tag="output_text", forbid_unknown_fields=True):
    text: str
    annotations: list[Any] = []
    logprobs: list[Any] = []


class Refusal(Struct, tag="refusal", forbid_unknown_fields=True):
    refusal: str


class InputMessage(Struct, forbid_unknown_fields=True):
    role: Literal["user", "system", "developer"]
    content: str | list[InputText | InputImage | InputFile]
    type: Literal["message"] | None = None
    status: ItemStatus | None = None


class OutputMessage(Struct, forbid_unknown_fields=True):
    role: Literal["assistant"]
    content: str | list[OutputText | Refusal]
    type: Literal["message"] | None = None
    id: str | None = None
    status: ItemStatus | None = None
    phase: Literal["commentary", "final_answer"] | None = None


class SummaryText(Struct, tag="summary_text", forbid_unknown_fields=True):
    text: str


class ReasoningText(Struct, tag="reasoning_text", forbid_unknown_fields=True):
    text: str


class ReasoningItem(Struct, tag="reasoning", forbid_unknown_fields=True):
    summary: list[SummaryText]
    id: str | None = None
    content: list[ReasoningText] | None = None
    encrypted_content: str | None = None
    status: ItemStatus | None = None


class FunctionCall(Struct, tag="function_call", forbid_unknown_fields=True):
    call_id: str
    name: str
    arguments: str
    id: Annotated[str, Meta(pattern="^fc_")] | None = None
    status: ItemStatus | None = None


class FunctionOutput(Struct, tag="function_call_output", forbid_unknown_fields=True):
    call_id: str
    output: str | list[InputText | InputImage | InputFile]
    id: str | None = None
    status: ItemStatus | None = None


class ItemReference(Struct, tag="item_reference", forbid_unknown_fields=True):
    id: str


TypedItem = ReasoningItem | FunctionCall | FunctionOutput | ItemReference


class Tool(Struct, tag="function", forbid_unknown_fields=True):
    name: str
    parameters: dict[str, Any] | None
    strict: bool | None = None
    description: str | None = None


class NamedTool(Struct, tag="function", forbid_unknown_fields=True):
    name: str


class Reasoning(Struct, forbid_unknown_fields=True):
    effort: Effort | None = None
    summary: Literal["auto", "concise", "detailed"] | None = None
    generate_summary: Literal["auto", "concise", "detailed"] | None = None
    context: Literal["auto", "current_turn", "all_turns"] | None = None
    mode: str | None = None


class FormatSchema(Struct, tag="json_schema", forbid_unknown_fields=True):
    name: Annotated[str, Meta(pattern="^[a-zA-Z0-9_-]{1,64}$")]
    schema: dict[str, Any]
    description: str | None = None
    strict: bool | None = None


class FormatObject(Struct, tag="json_object", forbid_unknown_fields=True):
    pass


class FormatText(Struct, tag="text", forbid_unknown_fields=True):
    pass


class TextConfig(Struct, forbid_unknown_fields=True):
    format: FormatSchema | FormatObject | FormatText | None = None
    verbosity: Literal["low", "medium", "high"] | None = None


class StreamOptions(Struct, forbid_unknown_fields=True):
    include_obfuscation: bool | None = None


Includable = Literal[
    "file_search_call.results",
    "web_search_call.results",
    "web_search_call.action.sources",
    "message.input_image.image_url",
    "computer_call_output.output.image_url",
    "code_interpreter_call.outputs",
    "reasoning.encrypted_content",
    "message.output_text.logprobs",
]


class Body(Struct, forbid_unknown_fields=True):
    model: str
    input: str | list[Any]
    background: Literal[False] | None = None
    include: list[Includable] | None = None
    instructions: str | None = None
    max_output_tokens: Annotated[int, Meta(ge=16)] | None = None
    max_tool_calls: int | None = None
    metadata: dict[str, str] | None = None
    parallel_tool_calls: bool | None = None
    previous_response_id: str | None = None
    prompt_cache_key: str | None = None
    prompt_cache_retention: Literal["in_memory", "24h"] | None = None
    reasoning: Reasoning | None = None
    safety_identifier: str | None = None
    service_tier: Literal["auto", "default", "flex", "scale", "priority", "fast"] | None = None
    store: bool | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    text: TextConfig | None = None
    tool_choice: Literal["none", "auto", "required"] | NamedTool | None = None
    tools: Annotated[list[Tool], Meta(max_length=128)] | None = None
    top_logprobs: Annotated[int, Meta(ge=0, le=20)] | None = None
    top_p: Annotated[float, Meta(ge=0, le=1)] | None = None
    truncation: Literal["auto", "disabled"] | None = None
    user: str | None = None
