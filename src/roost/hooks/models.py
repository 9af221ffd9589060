"""What hooks are told, what they may answer, and what became of a run. No I/O.

A plugin takes everything that it needs from here; commands get the same fields as JSON.
"""

from collections.abc import Callable
from typing import Any, Final, Literal

from msgspec import Struct

from roost.config.hooks import HOOK_SECONDS, HookPoint
from roost.config.hooks import Matcher as Matcher

PRE_STOP_LIMIT: Final = 3
"""Times that `actor.pre_stop` may send an actor on in one turn."""
POST_STOP_LIMIT: Final = 3
"""Times that `actor.post_stop` may, after the result was delivered."""
REASON_CHARS: Final = 16_000
"""A longer reason is cut."""

Mode = Literal["main", "subagent", "peer"]


class _Input(Struct, frozen=True, kw_only=True):
    session_id: str
    actor_id: str
    agent: str
    mode: Mode
    task_id: str | None = None
    directory: str = ""
    """The project's folder; filled in by whoever runs the hooks."""


class _Stop(_Input, frozen=True, kw_only=True):
    lifecycle: Literal["persistent", "ephemeral"]
    task: str
    """The words of the brief that the actor works on."""
    final_text: str
    """What the actor said last."""
    description: str = ""
    parent_session_id: str | None = None
    parent_actor_id: str | None = None
    iteration: int = 0
    """How often hooks at this point have sent the actor on in this turn."""


class PreStop(_Stop, frozen=True, kw_only=True, tag_field="on", tag="actor.pre_stop"):
    """An actor is about to end its turn; nothing was delivered yet."""


class PostStop(_Stop, frozen=True, kw_only=True, tag_field="on", tag="actor.post_stop"):
    """The outcome of a turn was delivered, and cannot be changed any more."""

    outcome: Literal["success", "failure", "cancelled", "interrupted"]
    """Only after a success can a hook send the actor on."""
    error: str | None = None
    can_write: bool = True
    """Whether the permissions of the agent let it write files at all."""


class SessionPre(_Input, frozen=True, kw_only=True, tag_field="on", tag="session.pre"):
    """A turn is about to begin; no model was called yet."""


class SessionPost(_Input, frozen=True, kw_only=True, tag_field="on", tag="session.post"):
    """A turn is over, whatever became of it."""

    outcome: Literal["completed", "error", "cancelled"]
    error: str | None = None
    final_text: str = ""
    message_id: str | None = None
    """The message that holds `final_text`."""


class StepPre(_Input, frozen=True, kw_only=True, tag_field="on", tag="step.pre"):
    """The model is about to be called for a step."""

    step: int
    """Its number in the turn, from 1."""


class StepPost(_Input, frozen=True, kw_only=True, tag_field="on", tag="step.post"):
    """A step was taken and is stored: the model has spoken, its tools have run."""

    step: int
    """Its number in the turn, from 1."""
    message_id: str
    outcome: Literal["completed", "error"]
    error: str | None = None
    text: str = ""
    """What the model said in it."""
    tools: tuple[str, ...] = ()
    """The tools that it called, in order."""


HookInput = PreStop | PostStop | SessionPre | SessionPost | StepPre | StepPost


class Continue(Struct, frozen=True):
    """The actor is to go on, and is told why. For `actor.pre_stop` and `actor.post_stop`."""

    reason: str


class Cancel(Struct, frozen=True):
    """The turn is not to begin, or not to take another step. For `session.pre` and `step.pre`."""

    reason: str


Answer = Continue | Cancel | None


class Hook(Struct, frozen=True, kw_only=True):
    """One hook of a plugin."""

    on: HookPoint
    run: Callable[[Any], Any]
    """Called with the input of its point; returns `Continue`, `Cancel` or None, or is async and
    does so. Each call has a thread of its own, and an event loop if it needs one."""
    name: str = ""
    """Empty: the name of the function."""
    matcher: Matcher | None = None
    """None: every agent; at `actor.*` every agent that is not built in."""
    timeout: float = HOOK_SECONDS
    """Seconds; after that nobody waits for it any more."""


class HookFailedError(Exception):
    """A hook gave no answer; the text says why. Nothing is blocked by it."""


class HookRaisedError(HookFailedError):
    """Foreign code raised something: the text says of which kind and what it says, the cause is
    the thing itself.
    """


class HookRun(Struct, frozen=True):
    """One hook that was run."""

    name: str
    seconds: float
    answer: Answer = None
    error: str | None = None
    """Why it gave no answer."""


class HookReport(Struct, frozen=True, kw_only=True):
    """What all hooks at one point said."""

    on: HookPoint
    runs: tuple[HookRun, ...] = ()
    """In the order in which they ran."""
    warnings: tuple[str, ...] = ()
    """To be shown to a person: hooks that failed, plugins that could not be loaded."""
    held: bool = False
    """Nobody is sent on whatever the hooks say: the limit of this point is reached, or the turn
    did not succeed."""

    @property
    def reasons(self) -> tuple[tuple[str, str], ...]:
        """The hooks that want the actor to go on, each with its reason."""
        if self.held:
            return ()
        return tuple(
            (one.name, one.answer.reason) for one in self.runs if isinstance(one.answer, Continue)
        )

    @property
    def reason(self) -> str:
        """All reasons as one text for the actor; empty when it may stop."""
        return _joined(self.reasons)

    @property
    def refusal(self) -> str:
        """Why the turn must not begin or go on; empty when it may."""
        return _joined(
            tuple(
                (one.name, one.answer.reason) for one in self.runs if isinstance(one.answer, Cancel)
            )
        )


def _joined(reasons: tuple[tuple[str, str], ...]) -> str:
    """One reason stands alone; several are told apart by the names of their hooks."""
    if len(reasons) == 1:
        return reasons[0][1]
    return "\n\n".join(f"{name}: {reason}" for name, reason in reasons)
