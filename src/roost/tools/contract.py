"""What every tool is, what it is given and what it gives back."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Any, ClassVar, Generic, Literal, TypeVar, cast

import msgspec
from msgspec import Meta, Struct

from roost.core.errors import RoostError
from roost.db.database import Database
from roost.inbox.models import Address
from roost.llm.models import Media
from roost.permissions.models import PermissionRequest
from roost.skills.models import Skills
from roost.tools.actor_port import ActorPort, Stored
from roost.tools.change_record import ChangeRecord, NoRecord
from roost.tools.history_port import HistoryPort
from roost.tools.memory_port import MemoryPort
from roost.tools.plan_port import NoPlan, PlanPort
from roost.tools.session_port import SessionPort
from roost.tools.team_port import TeamPort
from roost.workspace.guard import Guard
from roost.workspace.ledger import ReadLedger
from roost.workspace.shell import Shell


class ToolError(RoostError):
    """The tool could not do what was asked; the words go to the model.

    `stored` is what is true once they are stored, and not before.
    """

    longest: ClassVar[int] = 60_000
    """It may hold the result of a child that failed, which is capped before."""

    def __init__(self, message: str, *, hint: str = "", stored: Stored | None = None) -> None:
        super().__init__(message, hint=hint)
        self.stored = stored


class ToolOutput(Struct, frozen=True):
    """What a tool answers."""

    output: str
    """For the model; capped by `output.py` afterwards. Empty is allowed."""
    title: str = ""
    """A few words for people, for example the path."""
    metadata: dict[str, Any] = {}
    """For clients: `diff`, `exit`, `count`, …"""
    media: tuple[Media, ...] = ()
    capped: bool = False
    """The tool kept its output within the caps itself."""
    stored: Stored | None = None
    """What is true once the answer is stored, and not before."""


class Option(Struct, frozen=True):
    """One answer to choose."""

    label: Annotated[str, Meta(min_length=1, description="One to five words.")]
    description: Annotated[str, Meta(description="What choosing it means.")] = ""


class Question(Struct, frozen=True):
    """One question to the person, in OpenCode's shape."""

    question: str
    header: str
    options: tuple[Option, ...] = ()
    multiple: bool = False
    custom: bool = True
    """Free text is allowed as an answer."""


def _nobody(_: Path) -> None:
    """Nobody wants to know."""


class ToolContext(Struct, frozen=True, kw_only=True):
    """The world of one call."""

    actor: Address
    agent: str
    turn_id: str
    message_id: str
    call_id: str
    """Unique among all calls ever made; names spilled outputs and processes."""
    directory: Path
    """Working directory of the actor."""
    root: Path
    """Root of the project: what lies below it is inside."""
    guard: Guard
    ledger: ReadLedger
    """What this actor has read, by content."""
    database: Database
    spill_folder: Path
    """Private folder for outputs that are too long to be shown."""
    shell: Shell
    reads_images: bool
    reads_pdf: bool
    allow_private_hosts: bool
    ask: Callable[[PermissionRequest], Awaitable[None]]
    """Returns when the action is allowed; raises `DeniedError` with words for the model."""
    question: Callable[[tuple[Question, ...]], Awaitable[tuple[tuple[str, ...], ...]]]
    """The chosen labels (or free text) per question; raises `DeniedError` if nobody answers."""
    actors: ActorPort
    sessions: SessionPort
    teams: TeamPort
    memory: MemoryPort
    history: HistoryPort
    progress: Callable[[str | None, dict[str, Any]], None]
    """Shows a new title and metadata of the running call; cheap, may be called often."""
    plan: PlanPort = NoPlan()
    skills: Skills = Skills()
    """Those of the folder."""
    touched: Callable[[Path], None] = _nobody
    """Told of each file, without links, that the call reads or changes, once it may."""
    record: ChangeRecord = NoRecord()
    """Notes what the call changes in files."""


A = TypeVar("A", bound=Struct)


class Tool(ABC, Generic[A]):
    """A tool. Subclasses say their name, arguments and effects, and implement `run`."""

    name: ClassVar[str]
    parameters: ClassVar[type[Struct]]
    """Arguments by their JSON names (OpenCode's, so camelCase fields are renamed)."""
    effects: ClassVar[Literal["reads", "writes"]] = "writes"
    """Calls that only read run side by side within a step; see `effects_of`."""
    permission: ClassVar[str]
    """The key under which rules speak of it: a deny of `*` takes it out of the model's sight."""
    repeats: ClassVar[bool] = False
    """Equal calls in one step are meant: each makes something of its own. Of other tools the first
    of them is run.
    """
    given: ClassVar[bool] = False
    """The runtime gives it along with one prompt: no list of an agent's tools leaves it out."""

    @property
    def description(self) -> str:
        """What the model is told, from the Markdown file beside the tool."""
        return _read_description(type(self))

    def schema(self) -> dict[str, Any]:
        """JSON Schema of the arguments, without references."""
        return flat_schema(self.parameters)

    def parse(self, value: dict[str, Any]) -> A:
        """The arguments in `value`, checked. Raises `msgspec.ValidationError`."""
        return cast("A", msgspec.convert(value, self.parameters, strict=False))

    def effects_of(self, arguments: A) -> Literal["reads", "writes"]:
        """What one call does, where that depends on its arguments."""
        del arguments
        return self.effects

    @abstractmethod
    async def run(self, arguments: A, context: ToolContext) -> ToolOutput:
        """Do it. Cancellation stops everything that was started.

        Raises `ToolError` or `DeniedError`; any other error is a defect and reported as such.
        """


_descriptions: dict[type, str] = {}


def _read_description(kind: type) -> str:
    if kind not in _descriptions:
        module = kind.__module__.rpartition(".")[2]
        path = Path(__file__).with_name(f"{module}.md")
        _descriptions[kind] = path.read_text(encoding="utf-8").strip()
    return _descriptions[kind]


def flat_schema(kind: type[Struct]) -> dict[str, Any]:
    """JSON Schema of `kind` with every `$ref` replaced by what it names.

    An argument that may be left out is shown without `null`, which is accepted all the same.
    """
    (schema,), definitions = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    resolved = _resolve(schema, definitions)
    resolved.pop("description", None)  # the docstring is for people; the tool has its own words
    return resolved


def _resolve(node: Any, definitions: dict[str, Any]) -> Any:
    match node:
        case list():
            return [_resolve(item, definitions) for item in cast("list[Any]", node)]
        case {"$ref": str(reference)}:
            return _resolve(definitions[reference.rpartition("/")[2]], definitions)
        case {"anyOf": [choice, {"type": "null"}], "default": None}:
            # What may be left out may also be null; a model need not be told both.
            fields = cast("dict[str, Any]", node)
            rest = {key: fields[key] for key in fields if key not in {"anyOf", "default"}}
            return _resolve({**cast("dict[str, Any]", choice), **rest}, definitions)
        case {"discriminator": {"propertyName": str()}}:
            # Some providers refuse the word; each choice says itself which one it is.
            fields = cast("dict[str, Any]", node)
            return _resolve(
                {key: fields[key] for key in fields if key != "discriminator"}, definitions
            )
        case dict():
            fields = cast("dict[str, Any]", node)
            if "enum" in fields and "type" not in fields:
                fields = {"type": "string", **fields}
            return {
                key: _resolve(value, definitions)
                for key, value in fields.items()
                if key != "title" or not isinstance(value, str)
            }
        case _:
            return node
