"""A tool call that was written as text is not run; the model is told how to call tools."""

from typing import Final

from roost.sessions.models import MessageError
from roost.turn.models import Action, Facts, Inject, Stop
from roost.turn.policies.finish import classify

BUDGET: Final = "text_tool_call"
LIMIT: Final = 2
WORDS: Final = (
    "Your last step wrote a tool call as text, so nothing was run. Call the tool through the "
    "tool interface instead."
)


def judge(facts: Facts) -> Action | None:
    """Ask for a real call, and leave the false one out of the model's view."""
    if facts.step is None or facts.outcome is None or classify(facts.step) != "text-tool-call":
        return None
    if facts.budgets.left(BUDGET, LIMIT) > 0:
        return Inject(BUDGET, WORDS, hide=True)
    words = "The model wrote its tool calls as text, also after it was told how to call tools"
    return Stop("failure", MessageError("InvalidOutputError", {"message": words}))
