"""An answer that was cut at the output limit is continued where it stopped."""

from typing import Final

from roost.sessions.models import AssistantInfo, MessageError
from roost.turn.classes import spoken
from roost.turn.models import Action, Facts, Inject, Stop
from roost.turn.policy import Allowance, Policy

BUDGET: Final = "length"
LIMIT: Final = 3
WORDS: Final = (
    "Your answer was cut off at the output limit. Continue exactly where it stopped, without "
    "repeating what is there already."
)


def judge(facts: Facts) -> Action | None:
    """Ask for the rest of a cut answer, a bounded number of times."""
    if facts.step is None or facts.kind != "final":
        return None
    info = facts.step.info
    if not isinstance(info, AssistantInfo) or info.finish != "length" or not spoken(facts.step):
        return None
    if facts.budgets.left(BUDGET, LIMIT) > 0:
        return Inject(BUDGET, WORDS)
    words = "The answer was still cut off at the output limit after it had been continued"
    return Stop("failure", MessageError("MessageOutputLengthError", {"message": words}))


POLICY: Final = Policy(
    name="length",
    looks_at="class `final`, cut off at the output limit",
    answers="ask for the rest",
    judge=judge,
    allowances=(Allowance(name=BUDGET, limit=LIMIT),),
    spent="stop with MessageOutputLengthError",
    words=(WORDS,),
)
