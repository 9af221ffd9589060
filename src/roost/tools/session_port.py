"""What the tool `session` needs of the runtime, and what it is told."""

from typing import Literal, Protocol

from msgspec import Struct

from roost.actors.view import ActorView
from roost.actors.wait import JoinHow
from roost.tools.actor_port import Sent, Stored

Bucket = Literal["progressing", "stalled", "waiting", "idle", "failed", "cancelled"]
"""How a session stands; `waiting`: for mail, or for an answer to what it asks."""


class SessionOrder(Struct, frozen=True, kw_only=True):
    """A session that the model wants."""

    task: str
    agent: str | None = None
    model: str | None = None
    title: str = ""
    directory: str | None = None
    """As it was written; None: the caller's own."""
    isolate: bool = False
    topic: str = ""


class TreeView(Struct, frozen=True, kw_only=True):
    """The working tree of a session."""

    directory: str
    branch: str = ""
    base: str = ""
    ahead: int = 0
    """Commits that its base does not have."""
    holds: str = ""
    """What would be lost with it."""
    fault: str = ""
    """Why git does not tell."""


class SessionView(Struct, frozen=True, kw_only=True):
    """A session that the caller directs."""

    actor: ActorView
    """The one that fronts it."""
    title: str
    directory: str
    bucket: Bucket
    topic: str = ""
    tree: TreeView | None = None
    requests: tuple[str, ...] = ()
    """What it asks and nobody has answered: ids, with what is asked for."""


class Opened(Struct, frozen=True, kw_only=True):
    """What became of an order."""

    session_id: str
    new: bool
    """False: a session of that topic was there, and was sent the task."""
    title: str
    directory: str
    tree: TreeView | None = None
    sent: Sent | None = None
    """The message to a session that was there."""
    notes: tuple[str, ...] = ()


class Joined(Struct, frozen=True):
    """How waiting for sessions ended."""

    how: JoinHow
    sessions: tuple[SessionView, ...]
    unknown: tuple[str, ...] = ()
    """Ids that are no sessions of the caller."""
    stored: Stored | None = None
    """To be done in the transaction that stores the answer: it counts as the notices."""


class Reply(Struct, frozen=True):
    """What a copy of a session answered."""

    text: str
    fault: bool = False
    """It could not answer; the text says why."""
    stored: Stored | None = None


class Ended(Struct, frozen=True):
    """A session that was stopped."""

    session: SessionView
    tree: str = ""
    """What became of its working tree; empty: it had none."""


class SessionPort(Protocol):
    """The sessions that the one whose call it is directs.

    Methods raise `UsageError`, `NotFoundError` or `ConflictError` with words for the model.
    """

    def outside(self, directory: str) -> str | None:
        """The folder that `directory` means, if it lies outside of the caller's project.

        Raises `UsageError` for one that is not there.
        """
        ...

    async def create(self, order: SessionOrder) -> Opened:
        """Begin a session, or give the task to that of its topic. A failure leaves nothing."""
        ...

    async def send(self, session_id: str, words: str) -> Sent:
        """Say something to a session."""
        ...

    async def ask(self, session_id: str, question: str) -> Reply:
        """Let a copy of the session that can only read answer a question."""
        ...

    async def join(self, session_ids: list[str], timeout_ms: int) -> Joined:
        """Wait until all of them are at rest; unknown ones are not waited for."""
        ...

    async def status(self, session_id: str) -> SessionView:
        """One session, with its working tree and its last words."""
        ...

    async def listed(self, *, with_trees: bool) -> list[SessionView]:
        """Every session that the caller began, in order."""
        ...

    async def switch(self, session_id: str) -> None:
        """Ask the clients of the caller's folder to show another session."""
        ...

    async def set_agent(self, session_id: str, agent: str) -> SessionView:
        """Let a session work as another agent from its next turn on."""
        ...

    async def cancel(self, session_id: str) -> Ended:
        """Stop a session, and remove its working tree if nothing is lost with it."""
        ...

    async def approve(self, request_id: str) -> str:
        """Agree once to a request; the session that asked."""
        ...

    async def grant(self, session_id: str) -> int:
        """Agree to what a session asks from now on (`*`: each); how many requests that answered."""
        ...
