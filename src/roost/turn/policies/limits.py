"""The caps of a turn: steps, tokens, money, time, and calls that could not be read."""

from collections.abc import Callable, Mapping
from typing import Final

from roost.actors import tree_budgets
from roost.actors.models import SECONDS, STEPS
from roost.core.amounts import counted, dollars
from roost.sessions.models import MessageError
from roost.turn.models import Action, Facts, Sample, Stop
from roost.turn.policy import Allowance, Policy

REPORT: Final = "limit_report"
REPORTS: Final = 1
"""Calls that may still be made to report, once a limit is reached."""
TOKENS: Final = "tokens"
COST: Final = "cost"
INVALID_CALLS: Final = "invalid_calls"
_OF_ALL: Final = " of all actors together"
_WORDS: Final[dict[str, Callable[[float], str]]] = {
    STEPS: lambda most: counted(most, "step"),
    TOKENS: lambda most: counted(most, "token"),
    COST: lambda most: f"{dollars(most)} US dollars",
    SECONDS: lambda most: counted(most, "second"),
    tree_budgets.TOKENS: lambda most: counted(most, "token") + _OF_ALL,
    tree_budgets.COST: lambda most: f"{dollars(most)} US dollars{_OF_ALL}",
    tree_budgets.SECONDS: lambda most: counted(most, "second") + _OF_ALL,
    INVALID_CALLS: lambda most: counted(most, "tool call") + " that could not be read",
}
"""The limits in words, in the order in which they are looked at."""
NAMES: Final = tuple(_WORDS)
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

    A step that began with a limit reached was that last call; the first step of a turn never is,
    unless the turn goes on with the work of one before it, whose use counts.
    Where the whole tree has used up what it may, a new turn does not begin at all.
    """
    limits = _limits(facts)
    if facts.steps == 0 and (shared := reached(_of_tree(limits), facts.budgets.used)) is not None:
        return _stop(shared, limits)
    taken = facts.outcome is not None
    used = facts.budgets.used
    before = used.get(STEPS, 0) + (facts.steps - 1 if taken else facts.steps)
    amounts = {**used, STEPS: before, SECONDS: used.get(SECONDS, 0) + facts.elapsed}
    if before <= 0 or (name := reached(limits, amounts)) is None:
        return None
    if taken or facts.budgets.left(REPORT, REPORTS) <= 0:
        return _stop(name, limits)
    if facts.kind not in {None, "continue"}:
        return None
    words = WORDS.format(limit=_limit(name), what=in_words(name, limits[name]))
    return Sample(closing=True, spend=REPORT, words=words)


def in_words(name: str, limit: float) -> str:
    """A limit for people: `0.05 US dollars`."""
    return _WORDS[name](limit)


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
    words = f"Stopped by the {_limit(name)}: {in_words(name, limits[name])}"
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
