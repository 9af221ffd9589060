"""Errors that nothing here can mend end the turn with their own words."""

from typing import Final

from roost.sessions.models import AssistantInfo, MessageError
from roost.turn.models import Action, Facts, Failed, Stop
from roost.turn.policy import Policy

FILTERED: Final = "The provider's content filter withheld the answer"
UNTOLD: Final = "The model ended its step as an error and did not say why"


def judge(facts: Facts) -> Action | None:
    """Stop after a failed call, or an answer that was withheld."""
    if isinstance(facts.outcome, Failed):
        return Stop("failure", facts.outcome.error)
    if facts.kind == "filtered":
        return Stop("failure", MessageError("ContentFilterError", {"message": FILTERED}))
    if facts.kind != "failed" or facts.step is None:
        return None
    info = facts.step.info
    error = info.error if isinstance(info, AssistantInfo) else None
    return Stop("failure", error or MessageError("UnknownError", {"message": UNTOLD}))


POLICY: Final = Policy(
    name="failure",
    looks_at="class `failed` or `filtered`: an error that trying again did not mend, a step that a"
    " process left unfinished",
    answers="stop with the error of the step",
    judge=judge,
)
