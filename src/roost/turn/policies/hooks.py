"""A hook may send an actor on before its turn ends, a bounded number of times."""

from typing import Final

from roost.turn.models import Action, Facts, Inject

BUDGET: Final = "pre_stop"
LIMIT: Final = 3


def judge(facts: Facts) -> Action | None:
    """Go on with the reasons that hooks gave."""
    if facts.review is None or not facts.review.objections:
        return None
    if facts.budgets.left(BUDGET, LIMIT) <= 0:
        return None
    return Inject(BUDGET, "\n\n".join(facts.review.objections))
