"""Sessions and messages. Stored JSON and wire JSON are the same: OpenCode's v1.14 shapes
(`@opencode-ai/sdk` 1.14, `types.gen.d.ts`).
"""

from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

from roost.core.wire_names import wire_name
from roost.sessions.parts import Part, TextPart, Tokens

MAIN: Final = "main"
"""The actor id of a session's first actor, unless the session is a peer's: then it is its own."""


def agent_id_of(session_id: str, actor_id: str) -> str | None:
    """How a message on the wire names its actor: not at all if the actor fronts its session.

    Where rows of actors can be asked, they say who does (`Actor.fronts`).
    """
    return None if actor_id in {MAIN, session_id} else actor_id


class SessionTime(Struct, frozen=True, omit_defaults=True):
    """Milliseconds since the epoch."""

    created: int
    updated: int
    archived: int | None = None


class ChangeTotals(Struct, frozen=True):
    """What a session changed in files, in lines and files."""

    additions: int
    deletions: int
    files: int


class LeftFile(Struct, frozen=True):
    """A file that a revert did not set back."""

    path: str
    """Relative to the project."""
    reason: str


class Reverted(Struct, frozen=True, rename=wire_name, omit_defaults=True):
    """From where on a session is taken back, until it is prompted again or this is taken back."""

    message_id: str
    """The first message that is taken back, if not in part."""
    part_id: str | None = None
    """The first part of it that is."""
    snapshot: str | None = None
    """What the files were that were set back."""
    diff: str | None = None
    """What setting them back changed, as a unified diff of bounded size."""
    left: tuple[LeftFile, ...] = ()
    """Changed files that are as they were before the revert."""
    notes: tuple[str, ...] = ()
    """What else is not taken back, in words."""


class Session(Struct, frozen=True, rename=wire_name, omit_defaults=True):
    """A conversation in a directory."""

    id: str
    slug: str
    project_id: str
    directory: str
    title: str
    version: str
    time: SessionTime
    parent_id: str | None = None
    permission: list[dict[str, str]] | None = None
    """Rules of this session alone: `{permission, pattern, action}`."""
    revision: int = 0
    """Counts changes of the title, so that two writers notice each other."""
    summary: ChangeTotals | None = None
    """What it changed in files, as far as that is not taken back; None: nothing."""
    revert: Reverted | None = None
    """Set while the end of the conversation is taken back."""
    goal: dict[str, Any] | None = None
    """The goal in force, as `session.goal` tells it; None: there is none, or it was cleared."""
    damage: str = ""
    """What of its row cannot be read, and what holds instead; empty: nothing is damaged."""


class ModelName(Struct, frozen=True, rename=wire_name, omit_defaults=True):
    """A model as clients name it."""

    provider_id: str
    model_id: str
    variant: str | None = None

    @property
    def ref(self) -> str:
        """`provider/model`."""
        return f"{self.provider_id}/{self.model_id}"

    @classmethod
    def of(cls, ref: str, variant: str | None = None) -> "ModelName":
        """The name in `provider/model`; the provider ends at the first slash."""
        provider, _, model = ref.partition("/")
        return cls(provider, model, variant)


_UNREAD: Final = 200
"""Characters that are shown of an error that cannot be read."""


class MessageTime(Struct, frozen=True, omit_defaults=True):
    """Milliseconds since the epoch; `completed` is missing while the message grows."""

    created: int
    completed: int | None = None


class MessageError(Struct, frozen=True):
    """Why a message has no good end: a name of OpenCode's list and its data."""

    name: Literal[
        "ProviderAuthError",
        "UnknownError",
        "MessageOutputLengthError",
        "MessageAbortedError",
        "StructuredOutputError",
        "ContextOverflowError",
        "APIError",
        "InvalidOutputError",
        "ContentFilterError",
        "LimitError",
        "RepetitionError",
        "StuckError",
        "HookError",
    ]
    data: dict[str, Any]

    @property
    def message(self) -> str:
        """The words for people."""
        return str(self.data.get("message", self.name))


_error_decoder = msgspec.json.Decoder(MessageError)


def decode_error(data: str) -> MessageError:
    """An error from JSON text; what cannot be read, for example of a newer program, is told so."""
    try:
        return _error_decoder.decode(data)
    except msgspec.MsgspecError:
        words = f"an error that this program cannot read: {data[:_UNREAD]}"
        return MessageError("UnknownError", {"message": words})


class UserInfo(
    Struct, frozen=True, tag_field="role", tag="user", rename=wire_name, omit_defaults=True
):
    """What was said to an actor, and how it is to answer."""

    id: str
    session_id: str
    time: MessageTime
    agent: str
    model: ModelName
    agent_id: str | None = None
    """The actor, unless it is the one that fronts the session."""
    format: dict[str, Any] | None = None
    summary: dict[str, Any] | None = None
    system: str | None = None
    tools: dict[str, bool] | None = None
    max_mode: bool | int | None = None
    """Candidates that each step is chosen from; true: as many as the configuration says; None: as
    the agent says."""
    provenance: dict[str, Any] | None = None
    """Where it came from if not from a person: inbox kinds and senders."""


class MessagePath(Struct, frozen=True):
    """Working directory and project root of a step."""

    cwd: str
    root: str


class Chosen(Struct, frozen=True, rename=wire_name, omit_defaults=True):
    """How a step was chosen from several that were proposed."""

    candidates: int
    by: Literal["judge", "agreement", "default"]
    """`agreement`: all that could be used propose the same; `default`: no judge said which."""
    candidate: int
    """The one that was taken, from 1."""
    usable: int
    """Those that could be taken."""
    tokens: int
    """Of the others and of the judge."""
    cost: float
    """US dollars of the same; part of what the step cost."""
    reason: str = ""


class AssistantInfo(
    Struct, frozen=True, tag_field="role", tag="assistant", rename=wire_name, omit_defaults=True
):
    """What a model said in one step."""

    id: str
    session_id: str
    time: MessageTime
    parent_id: str
    model_id: str
    provider_id: str
    mode: str
    agent: str
    path: MessagePath
    cost: float
    tokens: Tokens
    agent_id: str | None = None
    error: MessageError | None = None
    finish: str | None = None
    variant: str | None = None
    structured: Any = None
    hidden: bool = False
    """Left out of what the model sees, for example a step that only repeated itself."""
    chosen: Chosen | None = None
    """None: it was the only one."""
    degraded: str = ""
    """Why this answer is less than it should be, for people; empty: it is a good one."""
    context: int = 0
    """Tokens of its request and answer alone, where `tokens` counts failed attempts or candidates
    as well; 0: as `tokens` says."""


Info = UserInfo | AssistantInfo


class Message(Struct, frozen=True):
    """A message with its parts, as the wire shows it."""

    info: Info
    parts: tuple[Part, ...] = ()

    @property
    def own_words(self) -> str:
        """The words of whoever speaks in it, without what the runtime says beside them."""
        texts = (
            part.text.strip() for part in self.parts if isinstance(part, TextPart) and part.is_own
        )
        return "\n\n".join(filter(None, texts))


_info_decoder = msgspec.json.Decoder(Info)
_encoder = msgspec.json.Encoder()


def decode_info(data: str) -> Info:
    """The head of a message from JSON text."""
    return _info_decoder.decode(data)


def encode_info(info: Info) -> str:
    """The head of a message as JSON text."""
    return _encoder.encode(info).decode()


class NewSession(Struct, frozen=True, kw_only=True):
    """What a session is made of."""

    directory: str
    project_id: str
    title: str = ""
    parent_id: str | None = None
    permission: list[dict[str, str]] | None = None
