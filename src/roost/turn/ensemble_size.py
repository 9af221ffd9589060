"""From how many proposals a step is to be chosen. Pure."""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from roost.actors import tree_budgets
from roost.llm.models import Usage
from roost.sessions.models import AssistantInfo
from roost.turn.models import Facts
from roost.turn.policies import limits
from roost.turn.prepare import Plan
from roost.turn.sampler import price
from roost.turn.world import MaxMode

MOST: Final = 8
"""Candidates that there may be, whoever asks for more."""
GRACE: Final = 20.0
"""Seconds that those who are late have at least, once two proposals can be taken."""
_FORMAT: Final = "an answer in a format was asked for, which is not chosen from several"
_MONEY: Final = "the limit in US dollars leaves no room for several candidates"


class Size(Struct, frozen=True):
    """How many candidates there are to be."""

    count: int
    why: str = ""
    """Why they are fewer than was asked for, for people."""


def size_of(facts: Facts, plan: Plan, mode: MaxMode, *, fronts: bool) -> Size:
    """`fronts`: the actor is the session's own, for whom the configuration speaks."""
    count = min(_asked_for(facts, mode, fronts=fronts), MOST)
    if count < 2 or plan.request.tool_choice == "none":
        return Size(1)
    if plan.answer is not None:
        return Size(1, _FORMAT)
    affordable = _affordable(facts)
    if affordable is None or affordable >= count:
        return Size(count)
    if affordable < 2:
        return Size(1, _MONEY)
    return Size(affordable, f"the limit in US dollars leaves room for {affordable} of {count}")


def _asked_for(facts: Facts, mode: MaxMode, *, fronts: bool) -> int:
    """The prompt goes before the agent, and that before the configuration."""
    told = (facts.prompt.max_mode if facts.prompt else None, facts.agent.max_mode)
    wanted = next((one for one in told if one is not None), mode.on and fronts)
    if isinstance(wanted, bool):
        return mode.candidates if wanted else 1
    return wanted


def _affordable(facts: Facts) -> int | None:
    """How many calls like the newest one the limits of money leave room for; None: nobody knows."""
    names = (limits.COST, tree_budgets.COST)
    left = [facts.budgets.left(one) for one in names if one in facts.budgets.limits]
    infos = (message.info for message in reversed(facts.messages))
    last = next((one for one in infos if isinstance(one, AssistantInfo)), None)
    if not left or last is None:
        return None
    used = last.tokens
    usage = Usage(used.input, used.output, used.reasoning, used.cache.read, used.cache.write)
    one = price(facts.model, usage)
    return None if one <= 0 else int(max(0.0, min(left)) / one)


def has_room(facts: Facts, tokens: int, cost: float) -> bool:
    """Whether the limits leave room for a judge once candidates have used so much."""
    held = {
        name: limit
        for name, limit in facts.budgets.limits.items()
        if name not in {limits.STEPS, limits.INVALID_CALLS}
    }
    amounts = facts.budgets.spend(
        cost=cost, tokens=tokens, tree_cost=cost, tree_tokens=tokens, seconds=facts.elapsed
    ).used
    return limits.reached(held, amounts) is None


def patience(took: Sequence[float], elapsed: float) -> float | None:
    """Seconds that are still waited for those who are late; None: no end yet.

    `took`: what each proposal that can be taken took; `elapsed`: since all began.
    """
    if len(took) < 2:
        return None
    slowest = max(took)
    return max(0.0, slowest + max(GRACE, slowest) - elapsed)
