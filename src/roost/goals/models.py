"""A goal of a session, and what a judge said of it."""

from typing import Final, Literal

from msgspec import Struct

from roost.core.wire_names import wire_name
from roost.sessions.parts import Tokens

State = Literal["active", "met", "impossible", "paused", "cleared"]
"""`active`: the turns of the session are judged by it; `paused`: until a person speaks again."""
Cause = Literal["reentries", "judge", "limit"]
"""Why a goal is paused: it was sent on as often as it may, the judge could not answer, or a limit
of the turn left no room for it.
"""
Result = Literal["met", "gap", "impossible", "error", "dropped"]
"""`error`: the judge gave no answer that counts; `dropped`: what it looked at was out of date."""
OPEN: Final = frozenset[State]({"active", "paused"})
"""States in which a goal is still to be reached."""
CONDITION_LIMIT: Final = 8_000
"""Characters of a condition."""


class Goal(Struct, frozen=True, rename=wire_name, omit_defaults=True):
    """What a session is to reach."""

    id: str
    session_id: str
    condition: str
    state: State
    created: int
    updated: int
    reentries: int = 0
    """Times that the judge has sent the session on since a person last spoke."""
    most: int | None = None
    """How often it may, as of the last verdict."""
    reason: str = ""
    """Why it is in its state; of an active one, what was missing last."""
    cause: Cause | None = None
    """Of a pause."""


class Verdict(Struct, frozen=True, rename=wire_name, omit_defaults=True):
    """One call of the judge."""

    id: str
    goal_id: str
    result: Result
    reason: str
    """What is missing, or why; in the judge's words, or in ours where it gave none."""
    model: str
    """`provider/model` of the judge; empty: none could be called."""
    turn_id: str
    message_id: str
    """The step that was to end the turn."""
    created: int
    seconds: float
    tokens: Tokens = Tokens()
    cost: float = 0.0
    """US dollars; like the tokens with those of tries that failed."""


class Ruling(Struct, frozen=True, kw_only=True):
    """What is to become of a goal: decided by a policy, stored with what follows from it."""

    goal_id: str
    state: State
    """Active: the session goes on."""
    reason: str
    most: int
    """See `Goal.most`."""
    cause: Cause | None = None
    verdict: Verdict | None = None
    """None where no judge was asked."""
