"""Errors that nothing here can mend end the turn with their own words."""

from roost.sessions.models import MessageError
from roost.turn.models import Action, Facts, Failed, Overflow, Stop
from roost.turn.policies.finish import classify


def judge(facts: Facts) -> Action | None:
    """Stop after a failed call, an overflow, or an answer that was withheld."""
    match facts.outcome:
        case Failed(error=error) | Overflow(error=error):
            return Stop("failure", error)
        case _:
            pass
    if facts.outcome is not None and facts.step is not None and classify(facts.step) == "filtered":
        words = "The provider's content filter withheld the answer"
        return Stop("failure", MessageError("ContentFilterError", {"message": words}))
    return None
