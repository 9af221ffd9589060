"""An actor that works and gets nowhere is stopped before it has used up the turn, with the evidence
and what a person can do; or it is told to try another way, where no person is to be waited for.

The ladder of loops comes before it: what repeats itself step by step is not for this policy.
"""

from typing import Final

from roost.sessions.models import MessageError
from roost.turn.efforts import NAME
from roost.turn.models import Action, Completed, Facts, Inject, Stop
from roost.turn.policy import Allowance, Policy
from roost.turn.stuck import Stuck, find

REMINDERS: Final = NAME
"""Also the name of its budget: times that the actor is told to try another way."""
PAUSES: Final = "try_best_pause"
"""Whether the turn may be paused: 1, or 0."""
MODES: Final = {"pause": (0, 1), "continue": (3, 0), "off": (0, 0)}
"""Reminders and pauses by the word of the configuration."""
WORDS: Final = (
    "You are getting nowhere: {what}. The last that came of it:\n{error}\n\n"
    "Stop what you are doing and try another way: say in a few lines what is known for certain "
    "and which assumption may be wrong, test that assumption by itself, and only then change "
    "something. If what is missing is something that you cannot do or decide, say so and end."
)
PAUSED: Final = "The work gets nowhere and waits for a person: {what}"


def judge(facts: Facts) -> Action | None:
    """Pause, or remind, when the step shows that the actor is stuck."""
    if facts.kind != "continue" or not isinstance(facts.outcome, Completed | None):
        return None
    reminds = facts.budgets.left(REMINDERS, MODES["pause"][0]) > 0
    pauses = facts.budgets.left(PAUSES, MODES["pause"][1]) > 0
    if not (reminds or pauses) or (stuck := find(facts.messages)) is None:
        return None
    if reminds:
        words = WORDS.format(what=stuck.what, error=stuck.error)
        return Inject(REMINDERS, words, stuck=stuck)
    return Stop("failure", error_of(stuck), stuck=stuck)


def error_of(stuck: Stuck) -> MessageError:
    """A turn that waits for a person, as the error it ends with."""
    words = PAUSED.format(what=stuck.what)
    about = {"needsPerson": True, "reason": stuck.reason, "evidence": evidence_of(stuck)}
    return MessageError("StuckError", {"message": words, **about})


def evidence_of(stuck: Stuck) -> dict[str, str | int]:
    """What shows that the actor is stuck."""
    found = {"path": stuck.path, "command": stuck.command, "error": stuck.error}
    return {"count": stuck.count, **{name: value for name, value in found.items() if value}}


POLICY: Final = Policy(
    name="try-best",
    looks_at="nearly the same edit made again and again and taken back in between, a command that"
    " fails the same way whatever stands between, or steps that bring nothing new; no loop",
    answers="pause for a person: stop with StuckError. With `try_best: continue` tell the actor to"
    " try another way",
    judge=judge,
    allowances=(
        Allowance(name=REMINDERS, limit=MODES["pause"][0], nudge=False),
        Allowance(name=PAUSES, limit=MODES["pause"][1], nudge=False),
    ),
    spent="leave it to the other limits",
    words=(WORDS,),
)
