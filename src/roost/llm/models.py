"""What is asked of a model and what streams back, in words of no provider.

A dialect (`providers/`) turns a `ModelRequest` into bytes and the bytes of the answer into
`StreamEvent`s. Nothing above this package knows which API a model speaks.
"""

from typing import Any, Literal

from msgspec import Struct

Dialect = Literal["openai-chat", "openai-responses", "anthropic", "pydantic-ai"]


class Text(Struct, frozen=True, tag="text"):
    """Words of either side; never blank when sent (dialects leave blank text out)."""

    text: str
    metadata: dict[str, Any] = {}
    """What the provider wants back with its own words, for example the phase of an answer."""


class Reasoning(Struct, frozen=True, tag="reasoning"):
    """A model's thinking, handed back unchanged, and only to the model that made it."""

    text: str
    model: str
    """`provider/model` that produced it."""
    metadata: dict[str, Any] = {}
    """What the provider needs back byte for byte: signature, redacted data, item id, field name."""


class Media(Struct, frozen=True, tag="media"):
    """An image or a PDF."""

    mime: str
    data: str
    """Base64 without a `data:` prefix."""
    name: str = ""


class ToolCall(Struct, frozen=True, tag="call"):
    """A complete request for a tool."""

    id: str
    name: str
    arguments: str
    """A JSON object as text: valid UTF-8, checked before it enters history."""
    metadata: dict[str, Any] = {}
    """What the provider needs back with the call, for example an item id."""


class ToolResult(Struct, frozen=True, tag="result"):
    """The one answer to one call."""

    id: str
    name: str
    output: str
    """Empty output is sent as `(no output)`."""
    is_error: bool = False
    media: tuple[Media, ...] = ()


UserContent = Text | Media


class UserMessage(Struct, frozen=True, tag="user"):
    """What a person or the runtime says."""

    content: tuple[UserContent, ...]


class AssistantMessage(Struct, frozen=True, tag="assistant"):
    """What the model said in one step."""

    content: tuple[Text | Reasoning | ToolCall, ...]


class ToolMessage(Struct, frozen=True, tag="tool"):
    """All results of the assistant message right before it, in the order of its calls."""

    results: tuple[ToolResult, ...]


Message = UserMessage | AssistantMessage | ToolMessage


class ToolSpec(Struct, frozen=True):
    """A tool as the model sees it."""

    name: str
    description: str
    schema: dict[str, Any]
    """JSON Schema of the arguments, `type: object` at the top."""


class Price(Struct, frozen=True):
    """US dollars for a million tokens."""

    input: float = 0.0
    output: float = 0.0
    cache_read: float | None = None
    """None: billed as input."""
    cache_write: float | None = None
    """None: billed as input."""


class Model(Struct, frozen=True):
    """A model that can be called: where, how, and what it can take."""

    provider: str
    id: str
    """The name the API knows."""
    dialect: Dialect
    base_url: str
    api_key: str = ""
    key_place: str = ""
    """Where the key comes from, for people; empty: there is none."""
    headers: dict[str, str] = {}
    options: dict[str, Any] = {}
    """Extra fields of the request body, from config."""
    base_url_place: str = ""
    """Where the address is configured, for people; empty: it is built in."""
    name: str = ""
    alias: str = ""
    """The name users write, where config calls the model otherwise than the API does."""
    context: int = 128_000
    """Window in tokens, input and output together."""
    input_limit: int | None = None
    """Input window where the provider states one of its own."""
    output: int = 16_384
    """Most tokens of one answer."""
    price: Price = Price()
    price_known: bool = True
    """Whether `price` is what it costs; False: nobody knows, and it counts as nothing."""
    reads_images: bool = False
    reads_pdf: bool = False
    calls_tools: bool = True
    reasons: bool = False
    small_prompt: bool = False
    """A small local model: short prompt, few tools, tool use by JSON schema."""
    env: tuple[str, ...] = ()
    """Environment variables that carry this provider's key; kept from child processes."""
    variants: dict[str, dict[str, Any]] = {}
    """Extra fields of the request body, by the name of a variant, from config."""
    first_byte_timeout: float = 600.0
    """Seconds from sending a request to the first byte of its answer."""
    idle_timeout: float = 300.0
    """Seconds of silence inside an answer after which it counts as lost."""

    @property
    def ref(self) -> str:
        """`provider/model`, the name users write."""
        return f"{self.provider}/{self.alias or self.id}"


class ModelRequest(Struct, frozen=True):
    """One call of a model."""

    model: Model
    system: tuple[str, ...]
    """Blocks of the system prompt; the prefix of every request of an actor."""
    messages: tuple[Message, ...]
    reminders: tuple[str, ...] = ()
    """Said by the user's side behind all messages, in this request alone: nothing of it is cached,
    and what the next request continues ends before it.
    """
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: Literal["auto", "none", "required"] = "auto"
    max_output: int | None = None
    """Tokens; None means the model's limit."""
    temperature: float | None = None
    top_p: float | None = None
    output_schema: dict[str, Any] | None = None
    """The answer must be JSON of this schema, where the API can be told so."""
    variant: str | None = None
    """Reasoning effort: `low`, `medium`, `high` or a provider's own word."""
    cache_key: str | None = None
    """Stable per actor, for providers that route by it."""


def with_reminders(request: ModelRequest) -> tuple[Message, ...]:
    """The messages of `request` with its reminders as one of the user."""
    if not request.reminders:
        return request.messages
    return (*request.messages, UserMessage(tuple(map(Text, request.reminders))))


class ReasoningStart(Struct, frozen=True, tag="reasoning-start"):
    key: str
    """Names the block within the stream."""
    metadata: dict[str, Any] = {}


class ReasoningDelta(Struct, frozen=True, tag="reasoning-delta"):
    key: str
    text: str


class ReasoningEnd(Struct, frozen=True, tag="reasoning-end"):
    key: str
    metadata: dict[str, Any] = {}


class TextStart(Struct, frozen=True, tag="text-start"):
    key: str


class TextDelta(Struct, frozen=True, tag="text-delta"):
    key: str
    text: str


class TextEnd(Struct, frozen=True, tag="text-end"):
    key: str
    metadata: dict[str, Any] = {}


class CallStart(Struct, frozen=True, tag="call-start"):
    """A tool call begins; its arguments follow in pieces."""

    key: str
    """Names the call within the stream; not its id."""
    id: str
    """The provider's call id; made up when the provider sends none or one already used."""
    name: str
    metadata: dict[str, Any] = {}


class CallDelta(Struct, frozen=True, tag="call-delta"):
    key: str
    text: str


class CallEnd(Struct, frozen=True, tag="call-end"):
    """The provider said that the arguments are complete. Without it they count as cut off."""

    key: str
    metadata: dict[str, Any] = {}


class Usage(Struct, frozen=True, tag="usage"):
    """Tokens of the call; `input` excludes what was read from or written to the cache."""

    input: int = 0
    output: int = 0
    """Without reasoning where the provider tells them apart."""
    reasoning: int = 0
    cache_read: int = 0
    cache_write: int = 0


FinishReason = Literal["stop", "length", "tool-calls", "content-filter", "error", "other"]


class Finish(Struct, frozen=True, tag="finish"):
    """The terminal event. A stream that ends without one is a `ModelError`."""

    reason: FinishReason
    raw: str = ""
    """The provider's own word."""


StreamEvent = (
    ReasoningStart
    | ReasoningDelta
    | ReasoningEnd
    | TextStart
    | TextDelta
    | TextEnd
    | CallStart
    | CallDelta
    | CallEnd
    | Usage
    | Finish
)


ErrorKind = Literal[
    "auth",  # 401, 403: final
    "quota",  # out of money or plan: final
    "bad_request",  # 400, 404, 422: final
    "overflow",  # the request is larger than the context window
    "media",  # an image or document was refused (400, 413)
    "reasoning",  # a reasoning block was refused (bad signature)
    "rate_limit",  # 429: wait
    "server",  # 5xx, 408, 409, 529: wait
    "network",  # no connection, reset, stream without its end, silence: persistent
    "content_filter",  # refused by policy: final
    "invalid_stream",  # the provider sent what cannot be read
]


class ModelError(Exception):
    """A model call failed. Carries what recovery and the user need to know."""

    def __init__(
        self,
        kind: ErrorKind,
        message: str,
        *,
        status: int | None = None,
        retry_after: float | None = None,
        body: str = "",
        headers: dict[str, str] | None = None,
        hint: str = "",
        never_answered: bool = False,
    ) -> None:
        super().__init__(message)
        self.kind: ErrorKind = kind
        self.message = message
        self.status = status
        self.retry_after = retry_after
        """Seconds; a lower bound for the wait."""
        self.body = body
        """The provider's answer, keys redacted, at most 2,000 characters."""
        self.headers = headers or {}
        self.hint = hint
        """What to do, in lines of their own."""
        self.never_answered = never_answered
        """No connection, and the endpoint has not answered once in this process."""

    @property
    def words(self) -> str:
        """What happened and what to do, one thing a line."""
        return f"{self.message}\n{self.hint}" if self.hint else self.message

    def because(self, reason: str) -> "ModelError":
        """The same error, with why it was not tried again."""
        return ModelError(
            self.kind,
            f"{self.message} ({reason})",
            status=self.status,
            retry_after=self.retry_after,
            body=self.body,
            headers=self.headers,
            hint=self.hint,
            never_answered=self.never_answered,
        )
