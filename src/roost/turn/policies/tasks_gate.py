"""A gated actor that ends with tasks of its own open is reminded of them, a few times at most.

What is still open after that is told in its report, which is then no success.
"""

from typing import Final

from roost.turn.models import Action, Facts, Inject
from roost.turn.policy import Allowance, Policy

BUDGET: Final = "tasks_gate"
LIMIT: Final = 2
WORDS: Final = (
    "You are about to end, but these tasks of yours are open: {tasks}. Finish each and mark it "
    "done, or mark it blocked or abandoned with the reason. Then give your report again."
)


def judge(facts: Facts) -> Action | None:
    """Send the actor on while it has open tasks and reminders are left."""
    if facts.review is None or not facts.review.open_tasks:
        return None
    if facts.budgets.left(BUDGET, LIMIT) <= 0:
        return None
    return Inject(BUDGET, WORDS.format(tasks="; ".join(facts.review.open_tasks)))


POLICY: Final = Policy(
    name="tasks gate",
    looks_at="a good end of an actor that owes a report and has open tasks of its own",
    answers="send it on with their list",
    judge=judge,
    allowances=(Allowance(name=BUDGET, limit=LIMIT),),
    spent="end; the report tells that it is none of a success",
    words=(WORDS,),
)
