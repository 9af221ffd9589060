"""A step without words or calls is asked again, a bounded number of times."""

from typing import Final

from roost.sessions.models import AssistantInfo, MessageError
from roost.turn.models import Action, Facts, Inject, Stop
from roost.turn.policies.finish import classify

BUDGET: Final = "invalid"
LIMIT: Final = 2
THINK_ONLY: Final = (
    "Your last step held reasoning but no answer and no tool call. Answer the user now, or call "
    "the tool you need."
)
EMPTY: Final = "Your last step was empty. Answer the user now, or call the tool you need."
TOO_LONG: Final = (
    "Your last step used the whole output limit for reasoning. Think less, and answer or act now."
)


def judge(facts: Facts) -> Action | None:
    """Nudge after an empty or reasoning-only step."""
    step = facts.step
    if step is None or facts.outcome is None:
        return None
    kind = classify(step)
    if kind not in {"think-only", "invalid"}:
        return None
    if facts.budgets.left(BUDGET, LIMIT) > 0:
        cut = isinstance(step.info, AssistantInfo) and step.info.finish == "length"
        return Inject(BUDGET, TOO_LONG if cut else THINK_ONLY if kind == "think-only" else EMPTY)
    what = "only reasoning" if kind == "think-only" else "nothing"
    words = f"The model answered with {what}, also after it was asked again"
    return Stop("failure", MessageError("InvalidOutputError", {"message": words}))
