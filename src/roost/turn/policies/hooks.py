"""A hook may keep a turn from beginning, and send an actor on before or after its result is
delivered, a bounded number of times each.
"""

from typing import Final

from roost.hooks.models import PRE_STOP_LIMIT
from roost.sessions.models import MessageError
from roost.turn.models import Action, Facts, Inject, Stop

BUDGET: Final = "pre_stop"
LIMIT: Final = PRE_STOP_LIMIT
POST_BUDGET: Final = "post_stop"


def admit(facts: Facts) -> Action | None:
    """Stop a turn that hooks do not let begin."""
    if not facts.refusal:
        return None
    words = f"A hook keeps the turn back: {facts.refusal}"
    return Stop("failure", MessageError("UnknownError", {"message": words}))


def conclude(facts: Facts) -> Action | None:
    """End a turn whose result is delivered, or go on with the reasons that hooks gave then.

    What was delivered does not change any more. Who asked the hooks has counted already how often
    they sent the actor on.
    """
    if facts.delivered is None:
        return None
    if facts.delivered.reason and not facts.delivered.prompted:
        return Inject(POST_BUDGET, facts.delivered.reason)
    return Stop(facts.delivered.outcome)


def judge(facts: Facts) -> Action | None:
    """Go on with the reasons that hooks gave."""
    if facts.review is None or not facts.review.objections:
        return None
    if facts.budgets.left(BUDGET, LIMIT) <= 0:
        return None
    return Inject(BUDGET, "\n\n".join(facts.review.objections))
