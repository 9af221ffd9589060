"""An answer that was cut at the output limit is continued where it stopped."""

from typing import Final

from roost.sessions.models import AssistantInfo, MessageError
from roost.turn.models import Action, Facts, Inject, Stop
from roost.turn.policies.finish import classify, spoken

BUDGET: Final = "length"
LIMIT: Final = 3
WORDS: Final = (
    "Your answer was cut off at the output limit. Continue exactly where it stopped, without "
    "repeating what is there already."
)


def judge(facts: Facts) -> Action | None:
    """Ask for the rest of a cut answer, a bounded number of times."""
    step = facts.step
    if step is None or facts.outcome is None or classify(step) == "continue":
        return None
    info = step.info
    if not isinstance(info, AssistantInfo) or info.finish != "length" or not spoken(step):
        return None
    if facts.budgets.left(BUDGET, LIMIT) > 0:
        return Inject(BUDGET, WORDS)
    words = "The answer was still cut off at the output limit after it had been continued"
    return Stop("failure", MessageError("MessageOutputLengthError", {"message": words}))
