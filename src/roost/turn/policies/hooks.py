"""A hook may keep a turn from beginning, and send an actor on before or after its result is
delivered, a bounded number of times each.
"""

from typing import Final

from roost.hooks.models import POST_STOP_LIMIT, PRE_STOP_LIMIT
from roost.sessions.models import MessageError
from roost.turn.models import Action, Facts, Inject, Stop
from roost.turn.policy import Allowance, Policy

BUDGET: Final = "pre_stop"
LIMIT: Final = PRE_STOP_LIMIT
POST_BUDGET: Final = "post_stop"
POST_LIMIT: Final = POST_STOP_LIMIT


def admit(facts: Facts) -> Action | None:
    """Stop a turn that hooks do not let begin, or take another step."""
    if not facts.refusal:
        return None
    what = "stops the turn" if facts.steps else "keeps the turn back"
    words = f"A hook {what}: {facts.refusal}"
    return Stop("failure", MessageError("HookError", {"message": words}))


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


ADMIT: Final = Policy(
    name="hooks: begin",
    looks_at="a hook that refuses the turn, or its next step",
    answers="stop with its reason",
    judge=admit,
)
CONCLUDE: Final = Policy(
    name="hooks: afterwards",
    looks_at="what hooks say once the result is delivered",
    answers="go on with their reasons, unless a person has spoken meanwhile; else end the turn as"
    " it was delivered",
    judge=conclude,
    allowances=(Allowance(name=POST_BUDGET, limit=POST_LIMIT, refilled=False, nudge=False),),
    spent="end the turn as it was delivered",
)
OBJECT: Final = Policy(
    name="hooks: before the end",
    looks_at="hooks that object to a good end",
    answers="go on with their reasons",
    judge=judge,
    allowances=(Allowance(name=BUDGET, limit=LIMIT),),
    spent="end all the same",
)
