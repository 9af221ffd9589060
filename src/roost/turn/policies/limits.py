"""The caps of a turn: steps, tokens, money, time, and calls that could not be read."""

from collections.abc import Mapping
from typing import Final

from roost.actors import tree_budgets
from roost.sessions.models import MessageError
from roost.turn.models import Action, Facts, Sample, Stop
from roost.turn.policy import Allowance, Policy

REPORT: Final = "limit_report"
REPORTS: Final = 1
"""Calls that may still be made to report, once a limit is reached."""
STEPS: Final = "steps"
TOKENS: Final = "tokens"
COST: Final = "cost"
SECONDS: Final = "seconds"
INVALID_CALLS: Final = "invalid_calls"
_WORDS: Final = {
    STEPS: "{:.0f} steps",
    TOKENS: "{:.0f} tokens",
    COST: "{:.2f} US dollars",
    SECONDS: "{:.0f} seconds",
    tree_budgets.TOKENS: "{:.0f} tokens of all actors together",
    tree_budgets.COST: "{:.2f} US dollars of all actors together",
    tree_budgets.SECONDS: "{:.0f} seconds of all actors together",
    INVALID_CALLS: "{:.0f} tool calls that could not be read",
}
"""The limits in words, in the order in which they are looked at."""
WORDS: Final = (
    "The {limit} is reached ({what}). Use no more tools. Say what is done, what is "
    "not, and how to go on."
)


def reached(limits: Mapping[str, float], amounts: Mapping[str, float]) -> str | None:
    """The first of `limits` that is used up by `amounts`, by its name; None if none is."""
    for name in _WORDS:
        if name in limits and amounts.get(name, 0) >= limits[name]:
            return name
    return None


def judge(facts: Facts) -> Action | None:
    """When more work is due but a limit is reached: one last call to report, then stop.

    A step that began with a limit reached was that last call; the first step of a turn never is.
    Where the whole tree has used up what it may, a new turn does not begin at all.
    """
    limits = _limits(facts)
    if facts.steps == 0 and (shared := reached(_of_tree(limits), facts.budgets.used)) is not None:
        return _stop(shared, limits)
    taken = facts.outcome is not None
    before = facts.steps - 1 if taken else facts.steps
    amounts = {**facts.budgets.used, STEPS: before, SECONDS: facts.elapsed}
    if before <= 0 or (name := reached(limits, amounts)) is None:
        return None
    if taken or facts.budgets.left(REPORT, REPORTS) <= 0:
        return _stop(name, limits)
    if facts.kind not in {None, "continue"}:
        return None
    words = WORDS.format(limit=_limit(name), what=_WORDS[name].format(limits[name]))
    return Sample(closing=True, spend=REPORT, words=words)


def in_words(name: str, limit: float) -> str:
    """A limit for people: `0.05 US dollars`."""
    return _WORDS[name].format(limit)


def _limits(facts: Facts) -> dict[str, float]:
    """The limits of the turn; of steps the smaller one of turn and agent."""
    limits = dict(facts.budgets.limits)
    if facts.agent.steps is not None:
        limits[STEPS] = min(facts.agent.steps, limits.get(STEPS, facts.agent.steps))
    return limits


def _of_tree(limits: Mapping[str, float]) -> dict[str, float]:
    return {name: limit for name, limit in limits.items() if name in tree_budgets.NAMES}


def _limit(name: str) -> str:
    return "limit" if name in tree_budgets.NAMES else "limit of this turn"


def _stop(name: str, limits: Mapping[str, float]) -> Stop:
    what = _WORDS[name].format(limits[name])
    words = f"Stopped by the {_limit(name)}: {what}"
    if name in tree_budgets.NAMES:
        words += f". The next prompt counts from nothing; `limits.{name}` allows more"
    return Stop("failure", MessageError("LimitError", {"message": words}))


POLICY: Final = Policy(
    name="limits",
    looks_at="more work is due and a limit of the turn or of the tree is reached",
    answers="one last call without tools to report, then stop",
    judge=judge,
    allowances=(Allowance(name=REPORT, limit=REPORTS, refilled=False, nudge=False),),
    spent="stop with LimitError",
    words=(WORDS,),
)
