"""An actor that asked to wait for mail waits, without a call of its model or an open tool."""

from typing import Final

from roost.turn.models import Action, Completed, Facts, Wait
from roost.turn.policy import Policy

NOBODY: Final = (
    "Nobody wrote in the time that you wanted to wait. Go on with what you have, or wait again."
)
"""Said to the actor when the time is up."""


def judge(facts: Facts) -> Action | None:
    """Wait after a step that asked for it."""
    if facts.wait_until is None or not isinstance(facts.outcome, Completed):
        return None
    return Wait(facts.wait_until)


POLICY: Final = Policy(
    name="waiting",
    looks_at="a step that asked to wait for mail",
    answers="wait, without a call of the model; when the time is up, say so",
    judge=judge,
    words=(NOBODY,),
)
