"""One ladder for loops: remind, then ask for another plan, then stop.

It climbs for a stream that repeated itself and for identical tool calls step after step.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from roost.sessions.models import Message, MessageError, UserInfo
from roost.sessions.parts import ToolPart
from roost.turn.models import Action, Facts, Inject, Repeat, Stop
from roost.turn.policies.structured import is_given, wants_format
from roost.turn.policy import Allowance, Policy

BUDGET: Final = "repetition"
LIMIT: Final = 2
STREAK: Final = 3
"""Rounds of the same steps that count as a loop; each further rung needs as many again."""
LONGEST_PERIOD: Final = 4
"""Steps of the longest round that is noticed."""
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
        return _climb(facts, facts.outcome.finding, hide=(facts.outcome.message.info.id,))
    if facts.outcome is None or (wants_format(facts) and is_given(facts.outcome.message)):
        return None
    for period in range(1, LONGEST_PERIOD + 1):
        run = _run(facts.messages, period)
        if run >= period * STREAK:
            due = run % (period * STREAK) == 0
            return _climb(facts, _words(period, run // period), hide=()) if due else None
    return None


def _words(period: int, times: int) -> str:
    what = "the same tool call" if period == 1 else f"the same {period} tool calls in turn"
    return f"{what} {times} times in a row"


def _climb(facts: Facts, what: str, *, hide: tuple[str, ...]) -> Action:
    if facts.budgets.left(BUDGET, LIMIT) <= 0:
        words = f"Stopped because the model kept repeating itself: {what}"
        return Stop("failure", MessageError("RepetitionError", {"message": words}))
    words = REPLAN if facts.budgets.used.get(BUDGET) else REMIND
    return Inject(BUDGET, words.format(what=what), hide=hide)


def calls_signature(message: Message) -> bytes | None:
    """The calls of a step in a form in which equal calls are equal; None without calls."""
    calls = [
        (part.tool, msgspec.to_builtins(part.state.input))
        for part in message.parts
        if isinstance(part, ToolPart)
    ]
    return msgspec.json.encode(calls, order="sorted") if calls else None


def _run(messages: Sequence[Message], period: int) -> int:
    """How many of the newest steps, up to what others said last, made the calls that were made
    `period` steps later.

    News makes the same call another one: an actor that waits, hears and waits again gets on.
    """
    seen: list[bytes] = []
    for message in reversed(messages):
        if isinstance(message.info, UserInfo):
            if not _is_reminder(message.info):
                break
            continue
        signature = calls_signature(message)
        if signature is None or (len(seen) >= period and signature != seen[-period]):
            break
        seen.append(signature)
    return len(seen)


def _is_reminder(info: UserInfo) -> bool:
    """Whether the runtime alone spoke, which is no reason to do the same once more."""
    if info.provenance is None:
        return False
    return all(row["kind"] == "system" for row in info.provenance.get("inbox", ()))


POLICY: Final = Policy(
    name="repetition",
    looks_at="a stream that was cut because it repeated itself, or the same calls step after step",
    answers="remind, then ask for another plan",
    judge=judge,
    allowances=(Allowance(name=BUDGET, limit=LIMIT),),
    spent="stop with RepetitionError",
    words=(REMIND, REPLAN),
)
