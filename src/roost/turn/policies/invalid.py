"""A step without an answer and without calls is asked again, a bounded number of times."""

from typing import Final

from roost.sessions.models import AssistantInfo, MessageError
from roost.turn.models import Action, Facts, Inject, Stop
from roost.turn.policy import Allowance, Policy

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
NO_CALL: Final = (
    "Your last step ended as if it called a tool, but no call arrived. Make the call again, or "
    "answer the user if there is nothing left to do."
)
UNCALLED: Final = "The model announced a tool call with this answer, and none ever came"


def judge(facts: Facts) -> Action | None:
    """Nudge after an empty or reasoning-only step, and after calls that were announced in vain.

    Words that stay without their calls are an answer in the end, though a degraded one.
    """
    row = facts.row
    if row is None or facts.step is None or row.kind not in {"think-only", "invalid"}:
        return None
    if facts.budgets.left(BUDGET, LIMIT) > 0:
        return Inject(BUDGET, _words(facts))
    if row.text:
        return Stop("success", degraded=UNCALLED)
    what = "only reasoning" if row.kind == "think-only" else "nothing"
    words = f"The model answered with {what}, also after it was asked again"
    return Stop("failure", MessageError("InvalidOutputError", {"message": words}))


def _words(facts: Facts) -> str:
    assert facts.step is not None
    if facts.row is not None and facts.row.text:
        return NO_CALL
    if facts.kind == "invalid":
        return EMPTY
    info = facts.step.info
    return TOO_LONG if isinstance(info, AssistantInfo) and info.finish == "length" else THINK_ONLY


POLICY: Final = Policy(
    name="invalid",
    looks_at="class `think-only` or `invalid`",
    answers="ask for an answer or a call",
    judge=judge,
    allowances=(Allowance(name=BUDGET, limit=LIMIT),),
    spent="stop with InvalidOutputError; words whose calls never came are a degraded answer",
    words=(EMPTY, THINK_ONLY, TOO_LONG, NO_CALL),
)
