"""One ladder for loops: remind, then ask for another plan, then stop.

It climbs for a stream that repeated itself and for identical tool calls step after step.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from roost.sessions.models import Message, MessageError, UserInfo
from roost.sessions.parts import ToolPart
from roost.turn.models import Action, Facts, Inject, Repeat, Stop

BUDGET: Final = "repetition"
LIMIT: Final = 2
STREAK: Final = 3
"""Identical steps in a row that count as a loop; each further rung needs as many again."""
REMIND: Final = (
    "You are repeating yourself: {what}. Stop that. Use what you know already, and take a "
    "different step."
)
REPLAN: Final = (
    "You are still repeating yourself: {what}. Write a new plan in a few lines: what is known, why "
    "the last way did not work, what you will do instead. Then do it, or tell the user what "
    "blocks you."
)


def judge(facts: Facts) -> Action | None:
    """Climb one rung when the step just taken closed a loop."""
    if isinstance(facts.outcome, Repeat):
        return _climb(facts, facts.outcome.finding, hide=True)
    if facts.outcome is None:
        return None
    signature = calls_signature(facts.step) if facts.step else None
    if signature is None:
        return None
    streak = _streak(facts.messages, signature)
    if streak >= STREAK and streak % STREAK == 0:
        return _climb(facts, f"the same tool call {streak} times in a row", hide=False)
    return None


def _climb(facts: Facts, what: str, *, hide: bool) -> Action:
    rung = facts.budgets.used.get(BUDGET, 0)
    if rung >= facts.budgets.limits.get(BUDGET, LIMIT):
        words = f"Stopped because the model kept repeating itself: {what}"
        return Stop("failure", MessageError("RepetitionError", {"message": words}))
    return Inject(BUDGET, (REPLAN if rung else REMIND).format(what=what), hide=hide)


def calls_signature(message: Message) -> bytes | None:
    """The calls of a step in a form in which equal calls are equal; None without calls."""
    calls = [
        (part.tool, msgspec.to_builtins(part.state.input))
        for part in message.parts
        if isinstance(part, ToolPart)
    ]
    return msgspec.json.encode(calls, order="sorted") if calls else None


def _streak(messages: Sequence[Message], signature: bytes) -> int:
    """How many of the newest steps made exactly these calls, up to what a person said last."""
    count = 0
    for message in reversed(messages):
        if isinstance(message.info, UserInfo):
            if message.info.provenance is None:
                break
            continue
        if calls_signature(message) != signature:
            break
        count += 1
    return count
