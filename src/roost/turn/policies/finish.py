"""An answer ends the turn, results of tools go back to the model."""

from typing import Final

from roost.turn.models import Action, Facts, Sample, Stop
from roost.turn.policy import Policy


def judge(facts: Facts) -> Action | None:
    """Stop after a final answer, go on after tools and where nothing is said yet."""
    if facts.row is None or facts.row.kind == "continue":
        return Sample()
    if facts.row.kind == "final":
        return Stop("success", degraded=facts.row.degraded)
    return None


POLICY: Final = Policy(
    name="finish",
    looks_at="class `final` or `continue`, or mail that nothing was said to yet",
    answers="after an answer stop, and say so where it is a degraded one; else call the model",
    judge=judge,
)
