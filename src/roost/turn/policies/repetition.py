"""One ladder for all loops: remind, then ask for another plan and leave the loop out of the model's
view, then stop.

It climbs for a stream that repeated itself, for a step that asks for the same many times over, and
for the same steps again and again. An answer is never a loop, however often it was given before.
"""

from typing import Final

from roost.sessions.models import AssistantInfo, MessageError
from roost.turn.loops import crowd, rounds
from roost.turn.models import Action, Facts, Inject, Repeat, Stop
from roost.turn.policies.structured import is_given, wants_format
from roost.turn.policy import Allowance, Policy

BUDGET: Final = "repetition"
LIMIT: Final = 2
REMIND: Final = (
    "You are repeating yourself: {what}. Stop that. Use what you know already, and take a "
    "different step."
)
REPLAN: Final = (
    "You are still repeating yourself: {what}. What repeats itself is left out above. Write a new "
    "plan in a few lines: what is known, why the last way did not work, what you will do instead. "
    "Then do it, or tell the user what blocks you."
)


def judge(facts: Facts) -> Action | None:
    """Climb one rung when the step closes a loop."""
    if isinstance(facts.outcome, Repeat):
        cut = facts.outcome.message.info.id
        return _climb(facts, facts.outcome.finding, always=(cut,))
    if facts.step is None or not _goes_on(facts):
        return None
    if wants_format(facts) and is_given(facts.step):
        return None
    loop = crowd(facts.step) or rounds(facts.messages)
    return _climb(facts, loop.what, spare=loop.spare) if loop is not None and loop.due else None


def _goes_on(facts: Facts) -> bool:
    """Whether the turn is to go on after the step: calls, or an answer that was cut."""
    info = facts.step.info if facts.step else None
    cut = isinstance(info, AssistantInfo) and info.finish == "length"
    return facts.kind == "continue" or (facts.kind == "final" and cut)


def _climb(
    facts: Facts, what: str, *, always: tuple[str, ...] = (), spare: tuple[str, ...] = ()
) -> Action:
    """`always`: what the model is not shown from the first rung on; `spare`: from the second."""
    if facts.budgets.left(BUDGET, LIMIT) <= 0:
        words = f"Stopped because the model kept repeating itself: {what}"
        return Stop("failure", MessageError("RepetitionError", {"message": words}))
    if facts.budgets.used.get(BUDGET):
        return Inject(BUDGET, REPLAN.format(what=what), hide=always + spare)
    return Inject(BUDGET, REMIND.format(what=what), hide=always)


POLICY: Final = Policy(
    name="repetition",
    looks_at="a stream that was cut because it repeated itself, a step that asks for the same many"
    " times over, or the same steps again and again; an answer is no loop",
    answers="remind; the second time ask for another plan and leave the loop out of the model's"
    " view. A stream that was cut is left out at once",
    judge=judge,
    allowances=(Allowance(name=BUDGET, limit=LIMIT),),
    spent="stop with RepetitionError",
    words=(REMIND, REPLAN),
)
