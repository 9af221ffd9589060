"""A request as a picture that is the same for every dialect; rules and scenarios look at this."""

from typing import Any, Literal

import msgspec
from msgspec import Struct

Dialect = Literal["chat", "responses", "anthropic"]


class TextBlock(Struct, frozen=True):
    """Words of one side."""

    text: str


class ReasoningBlock(Struct, frozen=True):
    """Thinking that the client hands back."""

    text: str
    proof: str = ""
    """Signature, encrypted content or redacted data; chat completions have none."""
    id: str = ""
    redacted: bool = False


class CallBlock(Struct, frozen=True):
    """A tool call that the model made earlier."""

    id: str
    name: str
    arguments: str
    """As text in every dialect."""


class MediaBlock(Struct, frozen=True):
    """An image or document; `data` is base64, empty where only an address was given."""

    mime: str
    data: str
    url: str = ""


class ResultBlock(Struct, frozen=True):
    """The answer to one call."""

    id: str
    text: str
    media: tuple[MediaBlock, ...] = ()
    is_error: bool = False


Block = TextBlock | ReasoningBlock | CallBlock | ResultBlock | MediaBlock


class Message(Struct, frozen=True):
    """One message (or, in responses, one item) of the request."""

    role: Literal["system", "user", "assistant", "tool"]
    blocks: tuple[Block, ...]

    @property
    def text(self) -> str:
        """All text blocks, joined by line ends."""
        return "\n".join(block.text for block in self.blocks if isinstance(block, TextBlock))

    @property
    def calls(self) -> tuple[CallBlock, ...]:
        """The tool calls in it."""
        return tuple(block for block in self.blocks if isinstance(block, CallBlock))

    @property
    def results(self) -> tuple[ResultBlock, ...]:
        """The tool results in it."""
        return tuple(block for block in self.blocks if isinstance(block, ResultBlock))

    @property
    def reasoning(self) -> tuple[ReasoningBlock, ...]:
        """The thinking in it."""
        return tuple(block for block in self.blocks if isinstance(block, ReasoningBlock))


class Tool(Struct, frozen=True):
    """A tool on offer."""

    name: str
    description: str
    schema: Any
    strict: bool = False


class Request(Struct, frozen=True):
    """What one request asks, and where it came from."""

    dialect: Dialect
    model: str
    system: tuple[str, ...] = ()
    messages: tuple[Message, ...] = ()
    tools: tuple[Tool, ...] = ()
    stream: bool = False
    max_output: int | None = None
    cache_key: str = ""
    """`prompt_cache_key`, or `metadata.user_id` in the Anthropic dialect."""
    options: dict[str, Any] = {}
    """Every other top-level field."""
    headers: dict[str, str] = {}
    """Names in lower case; keys are hidden."""
    body: bytes = b""

    @property
    def tool_names(self) -> tuple[str, ...]:
        """The tools on offer, in order."""
        return tuple(tool.name for tool in self.tools)

    @property
    def last_user_text(self) -> str:
        """What the user said last."""
        said = (message.text for message in reversed(self.messages) if message.role == "user")
        return next((text for text in said if text), "")

    @property
    def user_texts(self) -> tuple[str, ...]:
        """Everything the user said, in order."""
        texts = (message.text for message in self.messages if message.role == "user")
        return tuple(text for text in texts if text)

    @property
    def results(self) -> tuple[str, ...]:
        """The tool results after the last assistant message, in order."""
        found: list[str] = []
        for message in reversed(self.messages):
            if message.role == "assistant":
                break
            found[:0] = [result.text for result in message.results]
        return tuple(found)

    @property
    def all_text(self) -> str:
        """System, user, assistant and tool text, one after another."""
        parts = list(self.system)
        for message in self.messages:
            parts += [
                block.text
                for block in message.blocks
                if not isinstance(block, CallBlock | MediaBlock)
            ]
            parts += [call.arguments for call in message.calls]
        return "\n".join(parts)

    @property
    def json(self) -> Any:
        """The body as sent."""
        return msgspec.json.decode(self.body)
