"""A stop asked for from outside: forced ends at once, graceful gets one last word."""

from typing import Final

from roost.turn.models import Action, Blocked, Cancelled, Facts, Sample, Stop
from roost.turn.policy import Allowance, Policy

BUDGET: Final = "cancel_report"
LIMIT: Final = 1
WORDS: Final = (
    "You were asked to stop. Use no more tools. Say in a few sentences what is done, what is not, "
    "and what state the files are in."
)


def judge(facts: Facts) -> Action | None:
    """Stop for a cancel or a refusal by a person.

    A step that began under a graceful cancel was the last one.
    """
    if isinstance(facts.outcome, Cancelled | Blocked) or facts.cancel == "forced":
        return Stop("cancelled")
    if facts.cancel != "graceful":
        return None
    spent = facts.budgets.left(BUDGET, LIMIT) <= 0
    if facts.steps == 0 or facts.outcome is not None or spent:
        return Stop("cancelled")
    return Sample(closing=True, spend=BUDGET, words=WORDS)


POLICY: Final = Policy(
    name="cancel",
    looks_at="a stop from outside, or a call that a person refused without a word",
    answers="stop; asked gracefully, one last call without tools comes before",
    judge=judge,
    allowances=(Allowance(name=BUDGET, limit=LIMIT, refilled=False, nudge=False),),
    spent="stop",
    words=(WORDS,),
)
