"""What the tools about actors need of the runtime, and what they are told."""

from collections.abc import Callable, Mapping
from typing import Any, Literal, Protocol

from msgspec import Struct

from roost.actors.models import CancelMode
from roost.actors.spawn import ContextMode
from roost.actors.view import ActorView as ActorView
from roost.actors.wait import How
from roost.db.transaction import Transaction
from roost.inbox.models import State

Stored = Callable[[Transaction, str], None]
"""Done in the transaction that stores a tool's answer; the string is the message's id."""


class SpawnOrder(Struct, frozen=True, kw_only=True):
    """A child that the model wants."""

    agent: str
    description: str
    prompt: str
    model: str | None = None
    """A group (`ultra`, `standard`, `lite`), `provider/model`, or a model's own name."""
    task_id: str | None = None
    context: ContextMode = "none"
    output_schema: dict[str, Any] | None = None
    background: bool = True


class Spawned(Struct, frozen=True):
    """A child that was made and briefed."""

    session_id: str
    actor_id: str
    turn: int
    """The number of the turn that its brief is for."""
    notes: tuple[str, ...] = ()
    """What was not done as ordered, and why."""


class Finished(Struct, frozen=True):
    """How waiting for a turn ended."""

    how: Literal[How, "finished before"]
    """As in `roost.actors.wait`. `ended`: there is a notice; `finished before`: the turn had ended,
    and its notice had been heard already."""
    view: ActorView
    stored: Stored | None = None
    """To be done in the transaction that stores the answer of the tool: it counts as the notice."""


class Sent(Struct, frozen=True):
    """A message on its way."""

    inbox_id: str | None
    """None: it was not accepted."""
    error: str = ""
    busy: bool = False
    """The receiver runs and will hear it at its next step."""
    held: bool = False
    """The receiver was stopped, and is not woken: it hears it with what wakes it next."""


class SentView(Struct, frozen=True):
    """What became of a message that an actor sent."""

    inbox_id: str
    to: str
    state: State
    age: float
    text: str


class ModelView(Struct, frozen=True):
    """A model that a child can be given."""

    ref: str
    note: str
    """Context window, price, what else it can do."""


class ActorPort(Protocol):
    """Other actors, as seen by the one whose call it is.

    Methods raise `UsageError` or `NotFoundError` with words for the model.
    """

    @property
    def agents(self) -> Mapping[str, str]:
        """The agents that a child can run as: name and description."""
        ...

    async def spawn(self, order: SpawnOrder) -> Spawned:
        """Make a child and send it its brief."""
        ...

    async def wait(self, actor_id: str, timeout_ms: int, *, turn: int | None = None) -> Finished:
        """Wait for a turn of another actor (None: the one that runs or is due, else the last).

        Refuses to wait for itself and for who waits for it. A cancellation of the call leaves the
        other alone.
        """
        ...

    async def wait_for_mail(self, timeout_ms: int) -> bool:
        """End the step, and begin the next when mail comes or the time is up.

        False, and no wait, if nobody is there who could write.
        """
        ...

    async def detach(self, actor_id: str) -> None:
        """Let a child that was waited for go on in the background."""
        ...

    async def status(self, actor_id: str) -> ActorView:
        """An actor of this session, or a peer of it."""
        ...

    async def listed(self) -> list[ActorView]:
        """The children of the caller, and of a subagent its siblings and parent too."""
        ...

    async def sent(self, limit: int = 20) -> list[SentView]:
        """The newest messages that the caller sent, the newest last."""
        ...

    async def cancel(self, actor_id: str, mode: CancelMode) -> ActorView:
        """Stop a child and all below it, and wait a moment until it has stopped."""
        ...

    async def send(
        self, to_actor_id: str, text: str, *, to_session_id: str | None, reply_to: str | None
    ) -> Sent:
        """Say something to an actor; an idle one is woken by it."""
        ...

    async def models(self, *, vision: bool | None, limit: int) -> list[ModelView]:
        """Models by usefulness."""
        ...
