"""Shapes of the wire that are not stored anywhere: OpenCode's v1.14 (`@opencode-ai/sdk` 1.14,
`types.gen.d.ts`). Sessions, messages and parts are in `roost.sessions`.
"""

from typing import Annotated, Any, Literal, cast

from msgspec import Meta, Struct, field

from roost.core.wire_names import wire_name
from roost.inbox.models import Address, InboxRow, State
from roost.permissions.models import Rule
from roost.sessions.models import Info, Message
from roost.sessions.parts import KnownPart, UnknownPart

Stamp = Annotated[int, Meta(ge=0, le=2**53 - 1)]
"""Milliseconds since the epoch."""


class MessageView(Struct, frozen=True):
    """A message with its parts."""

    info: Info
    parts: tuple[KnownPart, ...]


def message_view(message: Message) -> MessageView:
    """A message as it is sent; parts of a type that this program does not know pass unchanged."""
    parts = [part.raw if isinstance(part, UnknownPart) else part for part in message.parts]
    return MessageView(message.info, cast("tuple[KnownPart, ...]", tuple(parts)))


class ModelChoice(Struct, frozen=True, rename=wire_name, omit_defaults=True):
    """A model as `POST /session` and agents name it."""

    provider_id: str
    id: str
    variant: str | None = None


class AgentModel(Struct, frozen=True, rename=wire_name):
    """The model of an agent."""

    provider_id: str
    model_id: str


class AgentView(Struct, frozen=True, rename=wire_name, omit_defaults=True):
    """An agent that actors can run as; its prompt is not told."""

    name: str
    mode: Literal["subagent", "primary", "all"]
    permission: list[Rule]
    options: dict[str, Any]
    description: str | None = None
    native: bool = False
    hidden: bool = False
    top_p: float | None = None
    temperature: float | None = None
    color: str | None = None
    model: AgentModel | None = None
    variant: str | None = None
    steps: int | None = None


class CommandView(Struct, frozen=True, omit_defaults=True):
    """A command of the configuration. `hints` are the placeholders of its template."""

    name: str
    template: str
    hints: list[str]
    source: str = field(name="source", default="command")
    description: str | None = None
    agent: str | None = None
    model: str | None = None
    subtask: bool | None = None


class PathView(Struct, frozen=True):
    """The folders in use."""

    home: str
    state: str
    config: str
    worktree: str
    directory: str


class ProjectTime(Struct, frozen=True):
    """When its first session was made and its last one was used."""

    created: Stamp
    updated: Stamp


class ProjectView(Struct, frozen=True, omit_defaults=True):
    """A project. `sandboxes` are its further worktrees that sessions work in."""

    id: str
    worktree: str
    time: ProjectTime
    sandboxes: list[str]
    vcs: Literal["git"] | None = None


class VcsView(Struct, frozen=True, omit_defaults=True):
    """What git says; empty outside of a repository."""

    branch: str | None = None
    default_branch: str | None = None


class FileNode(Struct, frozen=True):
    """One entry of a folder; `path` is relative to the project's folder."""

    name: str
    path: str
    absolute: str
    type: Literal["file", "directory"]
    ignored: bool


class FileContent(Struct, frozen=True, rename=wire_name, omit_defaults=True):
    """What a file holds: text, or base64 for what is none."""

    type: Literal["text", "binary"]
    content: str
    encoding: Literal["base64"] | None = None
    mime_type: str | None = None


class FileStatus(Struct, frozen=True):
    """A file that differs from the last commit, with lines added and removed."""

    path: str
    added: int
    removed: int
    status: Literal["added", "deleted", "modified"]


class Words(Struct, frozen=True):
    """Text as ripgrep's JSON wraps it."""

    text: str


class Submatch(Struct, frozen=True):
    """Where in a line the pattern was found, in bytes."""

    match: Words
    start: int
    end: int


class TextMatch(Struct, frozen=True):
    """A line that holds the pattern."""

    path: Words
    lines: Words
    line_number: int
    absolute_offset: int
    submatches: list[Submatch]


class Media(Struct, frozen=True):
    """What a model takes or gives."""

    text: bool = True
    audio: bool = False
    image: bool = False
    video: bool = False
    pdf: bool = False


class Capabilities(Struct, frozen=True):
    """What a model can do."""

    temperature: bool
    reasoning: bool
    attachment: bool
    toolcall: bool
    input: Media
    output: Media
    interleaved: bool = False


class CacheCost(Struct, frozen=True):
    """US dollars for a million tokens."""

    read: float
    write: float


class Cost(Struct, frozen=True):
    """US dollars for a million tokens."""

    input: float
    output: float
    cache: CacheCost


class Limits(Struct, frozen=True, omit_defaults=True):
    """Tokens."""

    context: int
    output: int
    input: int | None = None


class Api(Struct, frozen=True):
    """How a model is reached."""

    id: str
    url: str
    npm: str


class ModelView(Struct, frozen=True, rename={"provider_id": "providerID"}):
    """A model that can be chosen."""

    id: str
    provider_id: str
    name: str
    api: Api
    capabilities: Capabilities
    cost: Cost
    limit: Limits
    variants: dict[str, dict[str, Any]]
    status: str = "active"
    options: dict[str, Any] = {}
    headers: dict[str, str] = {}
    release_date: str = ""


class ProviderView(Struct, frozen=True):
    """A provider that is set up. Keys and headers are never told."""

    id: str
    name: str
    source: Literal["env", "config", "custom", "api"]
    env: list[str]
    models: dict[str, ModelView]
    options: dict[str, Any] = {}


class ConfiguredProviders(Struct, frozen=True):
    """`default` is the model to begin with, by provider."""

    providers: list[ProviderView]
    default: dict[str, str]


class Providers(Struct, frozen=True):
    """The same for `GET /provider`."""

    all: list[ProviderView]
    default: dict[str, str]
    connected: list[str]


class Health(Struct, frozen=True, omit_defaults=True):
    """`proof` answers the challenge of a client that knows the server's advert."""

    healthy: bool
    version: str
    proof: str | None = None


class MailView(Struct, frozen=True, rename=wire_name, omit_defaults=True):
    """One thing said to one actor, whatever became of it."""

    seq: int
    id: str
    receiver: Address
    kind: str
    body: Any
    """A prompt with its parts, or the words of anything else."""
    state: State
    created: Stamp
    sender: Address | None = None
    sender_turn: str | None = None
    reply_to: str | None = None
    key: str | None = None
    wake: bool = True
    message_id: str | None = None
    turn_id: str | None = None
    delivered: Stamp | None = None


def mail_view(row: InboxRow) -> MailView:
    """A row of the inbox as it is sent."""
    return MailView(**{name: getattr(row, name) for name in MailView.__struct_fields__})
