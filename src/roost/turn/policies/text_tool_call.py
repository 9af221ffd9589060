"""A tool call that was written as text is not run; the model is told how to call tools."""

from typing import Final

from roost.sessions.models import MessageError
from roost.turn.classes import traits_of
from roost.turn.models import Action, Facts, Inject, Stop
from roost.turn.policy import Allowance, Policy

BUDGET: Final = "text_tool_call"
LIMIT: Final = 2
WORDS: Final = (
    "Your last step wrote a tool call as text ({form}), so nothing was run. Call the tool through "
    "the tool interface instead."
)


def judge(facts: Facts) -> Action | None:
    """Ask for a real call, and leave the false one out of the model's view."""
    if facts.step is None or facts.kind != "text-tool-call":
        return None
    if facts.budgets.left(BUDGET, LIMIT) > 0:
        form = traits_of(facts.step, facts.tools).text_call
        return Inject(BUDGET, WORDS.format(form=form), hide=(facts.step.info.id,))
    words = "The model wrote its tool calls as text, also after it was told how to call tools"
    return Stop("failure", MessageError("InvalidOutputError", {"message": words}))


POLICY: Final = Policy(
    name="text tool call",
    looks_at="class `text-tool-call`",
    answers="ask for a real call, and leave the step out of the model's view",
    judge=judge,
    allowances=(Allowance(name=BUDGET, limit=LIMIT),),
    spent="stop with InvalidOutputError",
    words=(WORDS,),
)
