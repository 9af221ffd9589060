"""The order of the policies. The first that answers decides."""

from collections.abc import Callable
from typing import Final

import msgspec

from roost.sessions.models import AssistantInfo, MessageError
from roost.turn.models import Action, Facts, Stop
from roost.turn.policies import (
    cancel,
    failure,
    finish,
    hooks,
    invalid,
    length,
    limits,
    repetition,
    structured,
    tasks_gate,
    text_tool_call,
    waiting,
)

Policy = Callable[[Facts], Action | None]

POLICIES: Final[tuple[Policy, ...]] = (
    hooks.admit,
    hooks.conclude,
    cancel.judge,
    failure.judge,
    limits.judge,
    structured.judge,
    repetition.judge,
    text_tool_call.judge,
    length.judge,
    invalid.judge,
    waiting.judge,
    hooks.judge,
    tasks_gate.judge,
    structured.accept,
    finish.judge,
)

REFILLED_BY_A_PERSON: Final = frozenset(
    {
        length.BUDGET,
        invalid.BUDGET,
        text_tool_call.BUDGET,
        repetition.BUDGET,
        structured.BUDGET,
        hooks.BUDGET,
        tasks_gate.BUDGET,
    }
)
"""Budgets that begin anew when a person speaks: their next message always starts cleanly."""


def verdict(facts: Facts) -> Action:
    """What to do next."""
    for policy in POLICIES:
        if (action := policy(facts)) is not None:
            return _with_dues(action, facts)
    return _with_dues(Stop("failure", _left_over(facts)), facts)


def _with_dues(action: Action, facts: Facts) -> Action:
    """A stop with what is due at its end, whichever policy stops."""
    if not isinstance(action, Stop):
        return action
    finalize = facts.review is not None and facts.review.finalize and action.outcome == "success"
    return msgspec.structs.replace(action, gated=facts.gated, finalize=finalize)


def _left_over(facts: Facts) -> MessageError:
    """A step that was stored unfinished, for example by a process that died, and nothing since."""
    info = facts.step.info if facts.step else None
    if isinstance(info, AssistantInfo) and info.error is not None:
        return info.error
    return MessageError("UnknownError", {"message": "The last step has no answer"})
