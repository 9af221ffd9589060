"""The caps of a turn: steps, tokens, money, time, and calls that could not be read."""

from typing import Final

import msgspec

from roost.actors import trees
from roost.sessions.models import MessageError
from roost.turn.models import Action, Facts, Sample, Stop
from roost.turn.policies.finish import classify

REPORT: Final = "limit_report"
REPORTS: Final = 1
"""Calls that may still be made to report, once a limit is reached."""
STEPS: Final = "steps"
TOKENS: Final = "tokens"
COST: Final = "cost"
SECONDS: Final = "seconds"
INVALID_CALLS: Final = "invalid_calls"
WORDS: Final = (
    "The limit of this turn is reached ({what}). Use no more tools. Say what is done, what is "
    "not, and how to go on."
)


def reached(facts: Facts, steps: int) -> str | None:
    """The limit that is used up after `steps`, in words, or None."""
    limits, used = dict(facts.budgets.limits), facts.budgets.used
    if facts.agent.steps is not None:
        limits[STEPS] = min(facts.agent.steps, limits.get(STEPS, facts.agent.steps))
    amounts = {
        STEPS: (steps, "{:.0f} steps"),
        TOKENS: (used.get(TOKENS, 0), "{:.0f} tokens"),
        COST: (used.get(COST, 0), "{:.2f} US dollars"),
        SECONDS: (facts.elapsed, "{:.0f} seconds"),
        trees.TOKENS: (used.get(trees.TOKENS, 0), "{:.0f} tokens of all actors together"),
        trees.COST: (used.get(trees.COST, 0), "{:.2f} US dollars of all actors together"),
        trees.SECONDS: (used.get(trees.SECONDS, 0), "{:.0f} seconds of all actors together"),
        INVALID_CALLS: (used.get(INVALID_CALLS, 0), "{:.0f} tool calls that could not be read"),
    }
    for name, (amount, words) in amounts.items():
        if name in limits and amount >= limits[name]:
            return words.format(limits[name])
    return None


def judge(facts: Facts) -> Action | None:
    """When more work is due but a limit is reached: one last call to report, then stop.

    A step that began with a limit reached was that last call; the first step of a turn never is.
    Where the whole tree has used up what it may, a new turn does not begin at all.
    """
    if facts.steps == 0 and (shared := _shared(facts)) is not None:
        return _stop(shared)
    taken = facts.outcome is not None
    before = facts.steps - 1 if taken else facts.steps
    if before <= 0 or (what := reached(facts, before)) is None:
        return None
    if taken or facts.budgets.left(REPORT, REPORTS) <= 0:
        return _stop(what)
    if facts.step is not None and classify(facts.step) != "continue":
        return None
    return Sample(closing=True, spend=REPORT, words=WORDS.format(what=what))


def _shared(facts: Facts) -> str | None:
    """The limit of the tree that is used up, in words, or None."""
    limits = {name: limit for name, limit in facts.budgets.limits.items() if name in trees.NAMES}
    if not limits:
        return None
    budgets = msgspec.structs.replace(facts.budgets, limits=limits)
    agent = msgspec.structs.replace(facts.agent, steps=None)
    return reached(msgspec.structs.replace(facts, budgets=budgets, agent=agent), 0)


def _stop(what: str) -> Stop:
    words = f"Stopped by the limit of this turn: {what}"
    return Stop("failure", MessageError("LimitError", {"message": words}))
