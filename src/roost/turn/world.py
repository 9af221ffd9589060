"""What a turn needs of the world outside it, put together by the runtime."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct

from roost.actors.models import Claim
from roost.context.agents import Agent
from roost.context.capacity import Window
from roost.context.instructions import FolderRules
from roost.core.secrets import Secrets
from roost.db.database import Database
from roost.events.bus import Bus
from roost.hooks.runner import Hooks
from roost.llm.models import Model, ModelRequest, StreamEvent
from roost.llm.providers.cache import EncodingCache
from roost.llm.retry import RetryPolicy
from roost.permissions.models import PermissionRequest
from roost.sessions.models import ModelName, Session
from roost.skills.models import Skills
from roost.tools.actor_port import ActorPort
from roost.tools.change_record import ChangeRecord
from roost.tools.contract import Question, Tool
from roost.tools.history_port import HistoryPort
from roost.tools.memory_port import MemoryPort
from roost.tools.plan_port import PlanPort
from roost.tools.session_port import SessionPort
from roost.tools.team_port import TeamPort
from roost.turn.recorder import Recorder
from roost.workspace.guard import Guard
from roost.workspace.ledger import ReadLedger
from roost.workspace.shell import Shell


class ModelSource(Protocol):
    """Calls models."""

    def stream(
        self, request: ModelRequest, cache: EncodingCache
    ) -> AsyncGenerator[StreamEvent, None]:
        """The answer as it streams; raises `ModelError`. Closing it ends the request at once."""
        ...


class Asker(Protocol):
    """Gets permission and answers for one call of a tool."""

    async def permission(self, request: PermissionRequest, call: "CallPlace") -> None:
        """Return when it is allowed. Raises `DeniedError`."""
        ...

    async def question(
        self, questions: tuple[Question, ...], call: "CallPlace"
    ) -> tuple[tuple[str, ...], ...]:
        """The answers, one tuple a question. Raises `DeniedError` when nobody answers."""
        ...


class CallPlace(Struct, frozen=True):
    """Which call of which step asks."""

    claim: Claim
    agent: Agent
    message_id: str
    call_id: str


class Caller(Struct, frozen=True, kw_only=True):
    """Who asks something of other actors, in which step."""

    claim: Claim
    agent: Agent
    model: ModelName
    message_id: str
    """The step's message."""
    seen: str
    """The last message that the model was shown in the step."""
    switched_off: frozenset[str] = frozenset()
    """Tools that the prompt of its turn switched off: whom it starts has not got them either."""
    wait_until: Callable[[int], None]
    """Lets the step be followed by a wait for mail, until then (milliseconds since the epoch)."""


class Place(Struct, frozen=True, kw_only=True):
    """Where an actor works."""

    directory: Path
    root: Path
    guard: Guard
    ledger: ReadLedger
    spill_folder: Path
    shell: Shell


class UndoLog(Protocol):
    """Keeps files as they were, so that what actors do to them can be taken back."""

    @property
    def last(self) -> str | None:
        """The newest snapshot of all files, as far as one is known; waits for nothing."""
        ...

    def begin(self) -> None:
        """Look at all files in the background, if nobody did: a call may need it soon."""
        ...

    def record(self, recorder: Recorder, part_id: str) -> ChangeRecord:
        """Notes what the call of that part changes, in the message that `recorder` writes."""
        ...


class MaxMode(Struct, frozen=True, kw_only=True):
    """How steps of a session are chosen from several proposals."""

    on: bool = False
    """For prompts to the session's own actor that say nothing of it, nor does their agent."""
    candidates: int = 3
    seconds: float = 300.0
    """What one candidate may take, its retries included."""
    judge: Callable[[Model], Model]
    """The model that chooses in a session which runs on the given one. Raises `RoostError`."""


class World(Struct, frozen=True, kw_only=True):
    """The services of one session's turns."""

    database: Database
    bus: Bus
    models: ModelSource
    asker: Asker
    session: Session
    place: Place
    retry: RetryPolicy
    secrets: Secrets
    """What no tool may show."""
    allow_private_hosts: bool
    resolve_model: Callable[[ModelName], Model]
    """Raises `RoostError` for a model that cannot be used."""
    window: Callable[[Model], Window]
    """What of a model's window may be used."""
    checkpoints: bool
    """Whether long conversations are kept in words that no model is asked for; else one sums up."""
    judge: Callable[[Model], Model]
    """The model that judges the goal of a session which runs on the given one. Raises
    `RoostError`."""
    max_mode: MaxMode
    hand_offs: Callable[[str], Mapping[str, str]]
    """Command lines that hand the work over to another program which is installed here, by its
    name, with the given brief."""
    resolve_agent: Callable[[str], Agent]
    """Raises `ConfigError` for a name that is not known."""
    system: Callable[[Agent, Model, str | None], tuple[str, ...]]
    """The system prompt for an agent on a model, with what the prompt added."""
    tools: Callable[[Agent, Model, bool], Mapping[str, Tool[Any]]]
    """The tools that an agent may see on a model; the last: whether it is shown how to spawn."""
    lenders: tuple[Agent, ...]
    """The agents of those above the actor whose lists of tools hold for it too."""
    hooks: Hooks
    undo: UndoLog
    uncommitted: Callable[[], Awaitable[tuple[str, ...]]] | None
    """Files of the working tree that are not committed; None: nobody is told of them."""
    actors: Callable[[Caller], ActorPort]
    sessions: Callable[[Caller], SessionPort]
    teams: Callable[[Caller], TeamPort]
    plan: Callable[[Caller], PlanPort]
    skills: Skills
    folder_rules: FolderRules
    memory: MemoryPort
    history: HistoryPort
    remembered: Callable[[str], int]
    """How many files of memory there are for an agent of that name; 0 if it does not use memory."""
    reap: Callable[[str], Awaitable[object]]
    """Ends the processes that one call left behind."""
