"""What the loop reasons about: facts, the outcome of a step, and the action that follows."""

from functools import cached_property
from typing import Literal

import msgspec
from msgspec import Struct

from roost.actors.models import Budgets, CancelMode, Outcome
from roost.context.agents import Agent
from roost.context.capacity import Window
from roost.goals.models import Goal, Ruling, Verdict
from roost.llm.models import Model, ToolSpec
from roost.sessions.models import AssistantInfo, Message, MessageError, UserInfo
from roost.turn.classes import Row, StepClass, row_of, traits_of
from roost.turn.stuck import Stuck


class Completed(Struct, frozen=True):
    """The model answered and every call it made has its result."""

    message: Message


class Overflow(Struct, frozen=True):
    """The request was larger than the model's window."""

    message: Message
    error: MessageError


class Repeat(Struct, frozen=True):
    """The stream was cut because it repeated itself."""

    message: Message
    finding: str
    """What was repeated, for people and for the model."""


class Blocked(Struct, frozen=True):
    """A person refused an action without a word on how to go on."""

    message: Message


class Failed(Struct, frozen=True):
    """The call failed for good."""

    message: Message
    error: MessageError


class Cancelled(Struct, frozen=True):
    """The step was stopped from outside."""

    message: Message
    mode: CancelMode


StepOutcome = Completed | Overflow | Repeat | Blocked | Failed | Cancelled


class Review(Struct, frozen=True, kw_only=True):
    """What speaks against a good end of the turn, though the answer is one."""

    open_tasks: tuple[str, ...] = ()
    """Tasks of a gated actor that are neither done nor blocked, each as `T1 what`."""
    objections: tuple[str, ...] = ()
    """Why hooks want the actor to go on."""
    uncommitted: tuple[str, ...] = ()
    """Files that are not committed, where that is to be told."""
    finalize: bool = False
    """Hooks are to be asked once more when the result is delivered."""
    goal: Goal | None = None
    """What the session is to reach, where it is time to judge that."""
    verdict: Verdict | None = None
    """What the judge says; None where a limit left no room for asking it."""


class Delivered(Struct, frozen=True):
    """What holds once the result of the turn is delivered and hooks were asked again."""

    outcome: Outcome
    reason: str = ""
    """Why hooks want the actor to go on; empty if they do not."""
    prompted: bool = False
    """A person has spoken meanwhile, and goes first."""


class Facts(Struct, frozen=True, kw_only=True, dict=True):
    """All that policies may look at. Nothing in it changes while they look."""

    agent: Agent
    model: Model
    messages: tuple[Message, ...]
    """The actor's effective slice, oldest first."""
    user: UserInfo | None = None
    """The newest message that was said to the actor."""
    prompt: UserInfo | None = None
    """The newest prompt: what it asks for beside its words holds until the next one."""
    tools: tuple[ToolSpec, ...] = ()
    """What the model was shown in the step that is judged."""
    budgets: Budgets
    """As they stood when the step began."""
    steps: int
    """Steps of this turn so far."""
    window: Window = Window(0, 0)
    """What of the model's window may be used."""
    used: int = 0
    """Tokens that the next request has, as far as is known."""
    settled: int = 0
    """How many of the messages are the mark of the last shortening and its tail."""
    elapsed: float
    """Seconds since the turn began."""
    cancel: CancelMode | None = None
    """As it stood when the step began."""
    outcome: StepOutcome | None = None
    """The step that was just taken; None at the start of one."""
    wait_until: int | None = None
    """The step asked to wait for mail until then (milliseconds since the epoch)."""
    gated: bool = False
    """The actor owes its parent a report and ended tasks."""
    refusal: str = ""
    """Why hooks want the turn not to begin, or not to go on; empty if they do not."""
    review: Review | None = None
    """What was gathered once everything else spoke for a good end; None before."""
    delivered: Delivered | None = None
    """None before."""

    def after(
        self,
        outcome: StepOutcome,
        *,
        tools: tuple[ToolSpec, ...] = (),
        wait_until: int | None = None,
    ) -> "Facts":
        """The facts once `outcome` is known, of a step in which the model was shown `tools`."""
        return msgspec.structs.replace(
            self,
            outcome=outcome,
            tools=tools,
            wait_until=wait_until,
            messages=(*self.messages, outcome.message),
            steps=self.steps + 1,
        )

    @property
    def last(self) -> Message | None:
        """The newest message of the slice."""
        return self.messages[-1] if self.messages else None

    @property
    def step(self) -> Message | None:
        """The newest message if it is the model's: what the policies judge."""
        last = self.last
        return last if last is not None and isinstance(last.info, AssistantInfo) else None

    @cached_property
    def row(self) -> Row | None:
        """The row of the table of classes that `step` is of."""
        return None if self.step is None else row_of(traits_of(self.step, self.tools))

    @property
    def kind(self) -> StepClass | None:
        """The class of `step`, whether it was just taken or found at the start of one."""
        return None if self.row is None else self.row.kind


class Sample(Struct, frozen=True):
    """Call the model."""

    closing: bool = False
    """The last call of the turn: no tools, report what was done."""
    spend: str | None = None
    """A budget that this uses one of."""
    words: str = ""
    """Said to the model with a closing call, after all that is cached."""


class Inject(Struct, frozen=True):
    """Say something to the actor through its own inbox and go on."""

    policy: str
    """Which policy speaks; also the budget it spends one of."""
    words: str
    hide: tuple[str, ...] = ()
    """Ids of the steps that are left out of the model's view from now on."""
    stuck: Stuck | None = None
    """How the actor gets nowhere, where that is why."""
    ruling: Ruling | None = None
    """What becomes of the goal. If that does not hold any more, nothing is said and the turn goes
    on."""


class Wait(Struct, frozen=True):
    """Do nothing until mail comes or the time is up; the turn goes on then."""

    until: int
    """Milliseconds since the epoch."""


class Stop(Struct, frozen=True):
    """End the turn."""

    outcome: Outcome
    error: MessageError | None = None
    degraded: str = ""
    """Why the answer is less than it should be, for people; empty: it is a good one."""
    stuck: Stuck | None = None
    """How the actor gets nowhere, where that is why."""
    gated: bool = False
    """The actor owes a report; see `Facts.gated`."""
    finalize: bool = False
    """The turn goes on once its result is delivered, for hooks alone."""
    ruling: Ruling | None = None
    """What becomes of the goal. If that does not hold any more, the turn goes on."""


class Shorten(Struct, frozen=True):
    """Put words in the place of the conversation's beginning, and go on."""

    cause: Literal["size", "provider", "asked"]
    """It fills the window, the provider refused a request as too long, or a person wants it."""
    attempt: int = 1
    """Counts on while no step in between fitted."""


Action = Sample | Inject | Wait | Shorten | Stop
