"""A turn that is about to end well goes on while an independent judge finds its session's goal not
reached, a bounded number of times until a person speaks. Then the goal is paused, never given up.
"""

from typing import Final, assert_never

from roost.core.amounts import counted
from roost.core.text import cut
from roost.goals.models import Cause, Ruling, State
from roost.sessions.models import AssistantInfo
from roost.turn.models import Action, Facts, Inject, Review
from roost.turn.policies import limits
from roost.turn.policies.structured import is_given, wants_format
from roost.turn.policy import Allowance, Policy

BUDGET: Final = "goal"
LIMIT: Final = 12
"""Times that a judge may send a session on until a person speaks. The goal's row counts them, since
they hold for all turns until then.
"""
SECONDS: Final = "goal_seconds"
PATIENCE: Final = 180.0
"""Seconds that a judge may take, its retries included."""
_SHOWN: Final = 600
"""Characters of the condition that are said again with each gap."""
WORDS: Final = (
    "The goal of this session is: {condition}\n\n"
    "An independent judge has looked at the results of your work and finds that it is not reached "
    "yet ({count} of {most}): {gap}\n\n"
    "Go on until it is, and let a command or a file show it. This is nobody's consent to anything: "
    "what you would have asked a person before still needs to be asked. If the goal cannot be "
    "reached, say so, and why."
)
SENT_ON: Final = "not reached after {times} of going on; the judge still misses: {gap}"
NO_ROOM: Final = "not judged, since a limit is reached ({what})"


def is_answered(facts: Facts) -> bool:
    """Whether the step is an answer, in words or in the format that was asked for: nothing else
    is judged.
    """
    if facts.step is None:
        return False
    return facts.kind == "final" or (wants_format(facts) and is_given(facts.step))


def judge(facts: Facts) -> Action | None:
    """Go on with what the judge misses."""
    review = facts.review
    if review is None or review.goal is None or not _is_gap(review) or review.verdict is None:
        return None
    goal, gap = review.goal, review.verdict.reason
    most = most_reentries(facts)
    if goal.reentries >= most:
        return None
    words = WORDS.format(
        condition=cut(goal.condition, _SHOWN), count=goal.reentries + 1, most=most, gap=gap
    )
    return Inject(BUDGET, words, ruling=_ruling(facts, "active", gap))


def _is_gap(review: Review) -> bool:
    return review.verdict is not None and review.verdict.result == "gap"


def most_reentries(facts: Facts) -> int:
    """Times that the judge may send the session on."""
    return int(facts.budgets.limits.get(BUDGET, LIMIT))


def ruling(facts: Facts) -> Ruling | None:
    """What becomes of the goal with a good end of the turn."""
    if facts.review is None or facts.review.goal is None:
        return None
    goal, verdict = facts.review.goal, facts.review.verdict
    if verdict is None:
        what = NO_ROOM.format(what=no_room(facts) or "")
        return _ruling(facts, "paused", what, "limit")
    match verdict.result:
        case "met" | "impossible" as state:
            return _ruling(facts, state, verdict.reason)
        case "error":
            return _ruling(facts, "paused", verdict.reason, "judge")
        case "gap":
            times = counted(most_reentries(facts), "time")
            words = SENT_ON.format(times=times, gap=verdict.reason)
            return _ruling(facts, "paused", words, "reentries")
        case "dropped":
            return _ruling(facts, "active", goal.reason)
        case _:
            assert_never(verdict.result)


def _ruling(facts: Facts, state: State, reason: str, cause: Cause | None = None) -> Ruling:
    assert facts.review is not None
    assert facts.review.goal is not None
    return Ruling(
        goal_id=facts.review.goal.id,
        state=state,
        reason=reason,
        most=most_reentries(facts),
        cause=cause,
        verdict=facts.review.verdict,
    )


def no_room(facts: Facts) -> str | None:
    """The limit, in words, that is used up already, so that no judge can be asked; None if none."""
    held = {
        name: limit
        for name, limit in facts.budgets.limits.items()
        if name not in {limits.STEPS, limits.INVALID_CALLS}
    }
    cost, tokens = _of_the_step(facts)
    amounts = facts.budgets.spend(
        cost=cost, tokens=tokens, tree_cost=cost, tree_tokens=tokens, seconds=facts.elapsed
    ).used
    name = limits.reached(held, amounts)
    return None if name is None else limits.in_words(name, held[name])


def _of_the_step(facts: Facts) -> tuple[float, int]:
    """Cost and tokens of a step that is not in the budgets yet."""
    info = facts.outcome.message.info if facts.outcome is not None else None
    return (info.cost, info.tokens.total) if isinstance(info, AssistantInfo) else (0.0, 0)


POLICY: Final = Policy(
    name="goal",
    looks_at="a good end with a goal in force that an independent judge finds not reached",
    answers="send the session on with what is missing",
    judge=judge,
    allowances=(Allowance(name=BUDGET, limit=LIMIT, kept="the goal", nudge=False),),
    spent="end; the goal is paused until a person speaks",
    words=(WORDS,),
)
