"""The parts of a message. Stored JSON and wire JSON are the same: OpenCode's v1.14 shapes
(`@opencode-ai/sdk` 1.14, `types.gen.d.ts`), so that reading a transcript re-encodes nothing.
"""

from typing import Any, Literal

import msgspec
from msgspec import Struct

from roost.core.wire_names import wire_name


class Span(Struct, frozen=True, rename=wire_name, omit_defaults=True):
    """Milliseconds since the epoch."""

    start: int
    end: int | None = None


class TextPart(Struct, frozen=True, tag="text", rename=wire_name, omit_defaults=True):
    """Words. `synthetic`: made by the runtime and sent to the model; `ignored`: never sent."""

    id: str
    session_id: str
    message_id: str
    text: str
    synthetic: bool = False
    ignored: bool = False
    time: Span | None = None
    metadata: dict[str, Any] | None = None

    @property
    def is_own(self) -> bool:
        """Whether these are words of whoever speaks in the message, which the model is shown."""
        return not self.synthetic and not self.ignored


class ReasoningPart(Struct, frozen=True, tag="reasoning", rename=wire_name, omit_defaults=True):
    """A model's thinking; `metadata` carries what the provider wants back unchanged."""

    id: str
    session_id: str
    message_id: str
    text: str
    time: Span
    metadata: dict[str, Any] | None = None


class FilePart(Struct, frozen=True, tag="file", rename=wire_name, omit_defaults=True):
    """A file said along with a prompt or given back by a tool; media as a `data:` URL."""

    id: str
    session_id: str
    message_id: str
    mime: str
    url: str
    filename: str | None = None
    source: dict[str, Any] | None = None


class AgentPart(Struct, frozen=True, tag="agent", rename=wire_name, omit_defaults=True):
    """A mention of an agent by name."""

    id: str
    session_id: str
    message_id: str
    name: str
    source: dict[str, Any] | None = None


class SubtaskPart(Struct, frozen=True, tag="subtask", rename=wire_name, omit_defaults=True):
    """A task that a person gave to an agent by name: an actor is started for it."""

    id: str
    session_id: str
    message_id: str
    prompt: str
    description: str
    agent: str
    model: dict[str, str] | None = None
    """`providerID` and `modelID`."""
    command: str | None = None
    """The name of the command that it came of."""


class ToolPending(Struct, frozen=True, tag_field="status", tag="pending", rename=wire_name):
    """The model began to write the call."""

    input: dict[str, Any]
    raw: str


class ToolTime(Struct, frozen=True, rename=wire_name, omit_defaults=True):
    """Milliseconds since the epoch; `compacted`: when the output left the model's view."""

    start: int
    end: int
    compacted: int | None = None


class ToolRunning(
    Struct, frozen=True, tag_field="status", tag="running", rename=wire_name, omit_defaults=True
):
    """The tool is at work."""

    input: dict[str, Any]
    time: Span
    title: str | None = None
    metadata: dict[str, Any] | None = None


class ToolCompleted(
    Struct, frozen=True, tag_field="status", tag="completed", rename=wire_name, omit_defaults=True
):
    """The tool answered."""

    input: dict[str, Any]
    output: str
    title: str
    metadata: dict[str, Any]
    time: ToolTime
    attachments: tuple[FilePart, ...] | None = None


class ToolFailed(
    Struct, frozen=True, tag_field="status", tag="error", rename=wire_name, omit_defaults=True
):
    """The tool could not do it, was refused, or was interrupted."""

    input: dict[str, Any]
    error: str
    time: ToolTime
    metadata: dict[str, Any] | None = None
    """`interrupted: true` when the process or the user stopped it: side effects are possible."""


ToolState = ToolPending | ToolRunning | ToolCompleted | ToolFailed


class ToolPart(Struct, frozen=True, tag="tool", rename=wire_name, omit_defaults=True):
    """A call of a tool and what became of it."""

    id: str
    session_id: str
    message_id: str
    call_id: str
    tool: str
    state: ToolState
    metadata: dict[str, Any] | None = None


class CacheTokens(Struct, frozen=True):
    read: int = 0
    write: int = 0


class Tokens(Struct, frozen=True):
    """Tokens of a step; `input` excludes the cached ones."""

    input: int = 0
    output: int = 0
    reasoning: int = 0
    cache: CacheTokens = CacheTokens()

    @property
    def total(self) -> int:
        """All that the provider counted."""
        return self.input + self.output + self.reasoning + self.cache.read + self.cache.write

    def plus(self, other: "Tokens") -> "Tokens":
        """Those of both."""
        return Tokens(
            self.input + other.input,
            self.output + other.output,
            self.reasoning + other.reasoning,
            CacheTokens(self.cache.read + other.cache.read, self.cache.write + other.cache.write),
        )


class StepStartPart(Struct, frozen=True, tag="step-start", rename=wire_name, omit_defaults=True):
    """A model call begins."""

    id: str
    session_id: str
    message_id: str
    snapshot: str | None = None


class StepFinishPart(Struct, frozen=True, tag="step-finish", rename=wire_name, omit_defaults=True):
    """A model call ended; `reason` is its finish reason, `cost` US dollars."""

    id: str
    session_id: str
    message_id: str
    reason: str
    cost: float
    tokens: Tokens
    snapshot: str | None = None


class PatchPart(Struct, frozen=True, tag="patch", rename=wire_name, omit_defaults=True):
    """Files that one call of a tool changed: all that undo needs to know."""

    id: str
    session_id: str
    message_id: str
    hash: str
    """The snapshot before it."""
    files: tuple[str, ...]
    """Absolute paths of what differs."""
    after: str | None = None
    """The snapshot after it; None in what another program wrote, and then it cannot be undone."""
    time: Span | None = None
    """While it may have happened."""
    tool_id: str | None = None
    """The part of the call that changed them."""
    base: str = ""
    """The folder of the project, with `/`, that the snapshots are of; empty: of all of it."""
    outside: tuple[str, ...] = ()
    """Files outside of the project that it changed, of which no snapshot tells."""


class RetryPart(Struct, frozen=True, tag="retry", rename=wire_name):
    """A model call failed and was tried again."""

    id: str
    session_id: str
    message_id: str
    attempt: int
    error: dict[str, Any]
    time: dict[str, int]


class CompactionPart(Struct, frozen=True, tag="compaction", rename=wire_name, omit_defaults=True):
    """From here on the model is shown this message and a tail of what came before it, in place of
    all that did; the words for it are the text parts beside this one.
    """

    id: str
    session_id: str
    message_id: str
    auto: bool
    """Nobody asked for it."""
    overflow: bool = False
    """The provider had refused a request as too long."""
    tail_start_id: str | None = msgspec.field(default=None, name="tail_start_id")
    """The first message before it that is still shown; None: none is."""
    source: Literal["checkpoint", "summary"] = "checkpoint"
    """Whether the words were put together from what is stored, or a model summed it up."""
    attempt: int = 1
    """Counts on from the one before, if no step came in between that fitted."""
    trim: int | None = None
    """Characters that are shown of one text of the tail; None: all."""
    before: int = 0
    """Tokens that the conversation took up when it was shortened."""
    after: int = 0
    """Tokens that it was to take up from then on, by an estimate."""


KnownPart = (
    TextPart
    | ReasoningPart
    | FilePart
    | AgentPart
    | SubtaskPart
    | ToolPart
    | StepStartPart
    | StepFinishPart
    | PatchPart
    | RetryPart
    | CompactionPart
)


class UnknownPart(Struct, frozen=True):
    """A part of a type that this program does not know: kept as it is, shown as text."""

    id: str
    session_id: str
    message_id: str
    type: str
    raw: msgspec.Raw


Part = KnownPart | UnknownPart

_decoder = msgspec.json.Decoder(KnownPart)
_encoder = msgspec.json.Encoder()


class _Header(Struct, rename=wire_name):
    id: str
    session_id: str
    message_id: str
    type: str


_header_decoder = msgspec.json.Decoder(_Header)


def part_type(part: Part) -> str:
    """The `type` of a part as the wire names it."""
    if isinstance(part, UnknownPart):
        return part.type
    return str(part.__struct_config__.tag)


def encode_part(part: Part) -> str:
    """A part as JSON text."""
    if isinstance(part, UnknownPart):
        return bytes(part.raw).decode()
    return _encoder.encode(part).decode()


def decode_part(data: str) -> Part:
    """A part from JSON text; one of an unknown type or shape becomes an `UnknownPart`."""
    try:
        return _decoder.decode(data)
    except msgspec.ValidationError:
        head = _header_decoder.decode(data)
        return UnknownPart(
            head.id, head.session_id, head.message_id, head.type, msgspec.Raw(data.encode())
        )


def is_open(part: Part) -> bool:
    """Whether a part still waits for its end: streaming text or a tool that is not final."""
    match part:
        case ToolPart(state=ToolPending() | ToolRunning()):
            return True
        case ReasoningPart(time=Span(end=None)):
            return True
        case TextPart(time=Span(end=None)):
            return True
        case _:
            return False
