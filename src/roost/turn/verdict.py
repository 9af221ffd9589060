"""The order of the policies. The first that answers decides."""

from typing import Final

import msgspec

from roost.sessions.models import MessageError
from roost.turn.models import Action, Facts, Sample, Stop
from roost.turn.policies import (
    cancel,
    capacity,
    failure,
    finish,
    goal,
    hooks,
    invalid,
    length,
    limits,
    repetition,
    structured,
    tasks_gate,
    text_tool_call,
    try_best,
    uncommitted,
    waiting,
)
from roost.turn.policy import Policy

POLICIES: Final[tuple[Policy, ...]] = (
    hooks.ADMIT,
    hooks.CONCLUDE,
    cancel.POLICY,
    capacity.POLICY,
    failure.POLICY,
    limits.POLICY,
    structured.ASK,
    repetition.POLICY,
    try_best.POLICY,
    text_tool_call.POLICY,
    length.POLICY,
    invalid.POLICY,
    waiting.POLICY,
    hooks.OBJECT,
    tasks_gate.POLICY,
    goal.POLICY,
    uncommitted.POLICY,
    structured.ACCEPT,
    finish.POLICY,
)
"""What stops a turn comes first, then what mends a step, then what holds up a good end. A new rule
is a module of `policies/` with its `Policy`, and a line here.
"""

_ALLOWANCES: Final = tuple(one for policy in POLICIES for one in policy.allowances)
REFILLED_BY_A_PERSON: Final = frozenset(one.name for one in _ALLOWANCES if one.refilled)
"""Budgets that begin anew when a person speaks: their next message always starts cleanly."""
NUDGES: Final = frozenset(one.name for one in _ALLOWANCES if one.nudge)
"""Budgets whose limit is `limits.nudges` of the configuration, where that is given."""
_UNJUDGED: Final = MessageError("UnknownError", {"message": "No policy knows how to go on"})


def verdict(facts: Facts) -> Action:
    """What to do next, of a step that was just taken as of one that was found at the start."""
    actions = (policy.judge(facts) for policy in POLICIES)
    decided = next((action for action in actions if action is not None), None)
    if isinstance(decided, Sample) and (shorter := capacity.before_a_call(facts)) is not None:
        return shorter
    return _with_dues(decided or Stop("failure", _UNJUDGED), facts)


def _with_dues(action: Action, facts: Facts) -> Action:
    """A stop with what is due at its end, whichever policy stops."""
    if not isinstance(action, Stop):
        return action
    good = action.outcome == "success"
    finalize = facts.review is not None and facts.review.finalize and good
    ruling = goal.ruling(facts) if good else None
    return msgspec.structs.replace(action, gated=facts.gated, finalize=finalize, ruling=ruling)
