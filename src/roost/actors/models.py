"""Actors, turns, and the claim under which a process may write for one."""

from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, Struct

from roost.actors.limits import ActorLimits
from roost.core.wire_names import wire_name
from roost.inbox.models import Address
from roost.sessions.models import MessageError

Mode = Literal["main", "subagent", "peer"]
Status = Literal["idle", "pending", "running"]
Outcome = Literal["success", "failure", "cancelled", "interrupted"]
CancelMode = Literal["graceful", "forced"]
Reason = Literal["prompt", "mail", "resume"]


class RetryState(Struct, frozen=True, omit_defaults=True):
    """A model call failed and is waiting to be tried again."""

    attempt: int
    message: str
    next: int
    """Milliseconds since the epoch of the next try."""
    tries: int | None = None
    """Tries after the first failure that there are at most."""


class IdleStatus(Struct, frozen=True, tag_field="type", tag="idle"):
    """It sleeps."""


class BusyStatus(Struct, frozen=True, tag_field="type", tag="busy"):
    """It works."""


class RetryStatus(Struct, frozen=True, tag_field="type", tag="retry", omit_defaults=True):
    """A model call failed and waits to be tried again, at `next` (see `RetryState`)."""

    attempt: int
    message: str
    next: Annotated[int, Meta(ge=0, le=2**53 - 1)]
    tries: int | None = None


class NoticeStatus(Struct, frozen=True, tag_field="type", tag="notice"):
    """It is at work without anything to be seen of it; `message` says why."""

    message: str


SessionStatus = IdleStatus | BusyStatus | RetryStatus | NoticeStatus
"""What clients see of an actor, and of the session that it fronts. OpenCode's has no notice."""


class Actor(Struct, frozen=True, rename=wire_name, omit_defaults=True):
    """One worker of a session: a slice of its messages, an inbox, at most one running turn."""

    session_id: str
    actor_id: str
    mode: Mode
    fronts: bool
    """Its state is the session's: clients show the session as busy while it runs."""
    agent: str
    lifecycle: Literal["persistent", "ephemeral"]
    status: Status
    created: int
    last_activity: int
    parent: Address | None = None
    description: str = ""
    model: str | None = None
    """`provider/model` of its last turn."""
    variant: str | None = None
    background: bool = False
    depth: int = 0
    owner: str | None = None
    fence: int = 0
    lease_until: int = 0
    cancel: CancelMode | None = None
    retry: RetryState | None = None
    current_turn: str | None = None
    turns: int = 0
    root: Address | None = None
    """The first actor of its tree, which shares its budgets; None: itself."""
    context_mode: Literal["none", "state", "full"] = "none"
    """What it saw of its parent when it began."""
    context_watermark: str | None = None
    """With `full`: the last message of its parent that it sees."""
    tools: tuple[str, ...] | None = None
    """The only tools that it may use; None: those of its agent."""
    task_id: str | None = None
    """The task that it was spawned for."""
    output_schema: dict[str, Any] | None = None
    """JSON Schema of the answer that it was asked for."""
    held: bool = False
    """A person stopped it: notices wait until a person or its parent speaks to it."""
    stalled: int | None = None
    """Since when its parent knows that it is silent."""
    waiting_until: int | None = None
    """It waits for mail, at most until then."""
    resumed: int = 0
    """Times in a row that it went on after its process had died."""
    damage: str = ""
    """The columns of its row that cannot be read; empty: the row is sound. See `actors.rows`."""

    @property
    def address(self) -> Address:
        """Where mail for it goes."""
        return Address(self.session_id, self.actor_id)

    @property
    def aside(self) -> bool:
        """It answers a question about a conversation aside: nobody of its session is to notice."""
        return self.mode == "subagent" and self.parent is None


class Budgets(Struct, frozen=True):
    """The named limits of a turn and what was used of them. Kept in the turn's row."""

    limits: dict[str, float] = {}
    used: dict[str, float] = {}

    def left(self, name: str, limit: float = float("inf")) -> float:
        """How much of `name` is left; `limit` holds where the turn has no limit of its own."""
        return self.limits.get(name, limit) - self.used.get(name, 0)

    def spend(self, **amounts: float) -> "Budgets":
        """The budgets after using `amounts` more."""
        used = dict(self.used)
        for name, amount in amounts.items():
            used[name] = used.get(name, 0) + amount
        return msgspec.structs.replace(self, used=used)

    def refill(self, names: frozenset[str]) -> "Budgets":
        """The budgets as if nothing of `names` had been used."""
        return msgspec.structs.replace(
            self, used={name: used for name, used in self.used.items() if name not in names}
        )


class Terms(Struct, frozen=True, kw_only=True):
    """Under which limits the turns of a session run."""

    budgets: Budgets
    """Of each turn."""
    limits: ActorLimits


class Progress(Struct, frozen=True):
    """What a turn has used so far, summed over its steps."""

    budgets: Budgets
    steps: int = 0
    tokens: int = 0
    cost: float = 0.0
    """US dollars."""

    def plus(self, tokens: int, cost: float, *, invalid_calls: int = 0) -> "Progress":
        """The progress after one more step."""
        budgets = self.budgets.spend(tokens=tokens, cost=cost, invalid_calls=invalid_calls)
        return Progress(budgets, self.steps + 1, self.tokens + tokens, self.cost + cost)

    def charged(self, tokens: int, cost: float) -> "Progress":
        """The progress after a call of a model that is no step."""
        budgets = self.budgets.spend(tokens=tokens, cost=cost)
        return Progress(budgets, self.steps, self.tokens + tokens, self.cost + cost)


class Turn(Struct, frozen=True, rename=wire_name, omit_defaults=True):
    """From waking to idle. Outcomes live here, never on the actor."""

    id: str
    session_id: str
    actor_id: str
    number: int
    fence: int
    reason: Reason
    phase: Literal["running", "finalizing", "ended"]
    budgets: Budgets
    started: int
    outcome: Outcome | None = None
    result_message_id: str | None = None
    error: MessageError | None = None
    steps: int = 0
    tokens: int = 0
    cost: float = 0.0
    """US dollars."""
    ended: int | None = None
    reported_status: str | None = None
    """What the actor says of its task: `success`, `partial`, `failed`, `blocked`."""
    summary: str | None = None
    hops: int = 0
    """Messages from actor to actor since a person spoke, up to the one that woke it."""


STEPS: Final = "steps"
SECONDS: Final = "seconds"
"""Budgets that are counted by the turn itself; `Budgets.used` holds what turns before it used."""


def carried(last: Turn, until: int, budgets: Budgets) -> Budgets:
    """`budgets` with what `last` has used, which was at work until then (milliseconds since the
    epoch): for the turn that goes on with its work.
    """
    seconds = max(0, until - last.started) / 1000
    used = last.budgets.spend(**{STEPS: last.steps, SECONDS: seconds}).used
    return msgspec.structs.replace(budgets, used=used)


class Claim(Struct, frozen=True):
    """The right to write for an actor during one turn; worthless once the fence has moved."""

    actor: Actor
    turn: Turn
    limits: ActorLimits = ActorLimits()

    @property
    def address(self) -> Address:
        """The actor it is for."""
        return self.actor.address


class Ending(Struct, frozen=True, kw_only=True):
    """How a turn ended."""

    outcome: Outcome
    result_message_id: str | None = None
    error: MessageError | None = None
    gated: bool = False
    """The actor was asked to report how its task went, and to leave no task of its own open."""
    finalize: bool = False
    """Something is to follow once the result is delivered; the actor does not sleep yet."""


Settled = Literal["idle", "pending", "more", "finalizing"]
"""`idle`: it sleeps; `pending`: the turn ended but mail waits; `more`: the turn goes on with it;
`finalizing`: the result is delivered, and the turn goes on without it."""
