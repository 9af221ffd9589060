from typing import Any

import msgspec
import pytest
from step_samples import after, facts, failed, ran, step, words

from roost.actors import tree_budgets
from roost.actors.models import Budgets
from roost.goals.models import Goal, Ruling, Verdict
from roost.sessions.parts import Tokens
from roost.turn.models import Action, Blocked, Completed, Facts, Inject, Review, Stop
from roost.turn.policies import goal, limits
from roost.turn.verdict import NUDGES, POLICIES, REFILLED_BY_A_PERSON, verdict

GOAL = Goal("goal_1", "ses_1", "the tests pass", "active", 1, 1)


def said(result: Any, reason: str = "no test was run") -> Verdict:
    return Verdict("vrd_1", "goal_1", result, reason, "scripted/one", "trn_1", "msg_1", 1, 0.5)


def judged(found: Verdict | None, *, sent_on: int = 0, **changes: Any) -> Facts:
    """A good end that a judge has looked at."""
    now = msgspec.structs.replace(GOAL, reentries=sent_on)
    return after(step(words("done")), review=Review(goal=now, verdict=found), **changes)


def ruling(action: Action) -> Ruling:
    assert isinstance(action, Inject | Stop)
    assert action.ruling is not None
    return action.ruling


def test_a_gap_sends_the_session_on_with_what_is_missing() -> None:
    action = verdict(judged(said("gap"), sent_on=2))
    assert isinstance(action, Inject)
    assert action.policy == goal.BUDGET
    for part in ("the tests pass", "no test was run", "(3 of 12)", "consent"):
        assert part in action.words
    assert ruling(action) == Ruling(
        goal_id="goal_1",
        state="active",
        reason="no test was run",
        most=12,
        verdict=said("gap"),
    )


@pytest.mark.parametrize(
    ("result", "state", "cause"),
    [
        ("met", "met", None),
        ("impossible", "impossible", None),
        ("error", "paused", "judge"),
        ("dropped", "active", None),
    ],
)
def test_everything_else_lets_the_turn_end_well(result: Any, state: str, cause: str | None) -> None:
    action = verdict(judged(said(result)))
    assert isinstance(action, Stop)
    assert action.outcome == "success"
    assert (ruling(action).state, ruling(action).cause) == (state, cause)
    assert ruling(action).verdict == said(result)


@pytest.mark.parametrize(("limit", "most"), [(None, goal.LIMIT), (3, 3), (0, 0)])
def test_after_the_last_time_the_goal_is_paused_and_says_what_is_missing(
    limit: int | None, most: int
) -> None:
    held = Budgets({} if limit is None else {goal.BUDGET: limit})
    if most:
        last = verdict(judged(said("gap"), sent_on=most - 1, budgets=held))
        assert isinstance(last, Inject)
    action = verdict(judged(said("gap"), sent_on=most, budgets=held))
    assert isinstance(action, Stop)
    assert action.outcome == "success"
    assert (ruling(action).state, ruling(action).cause) == ("paused", "reentries")
    assert "no test was run" in ruling(action).reason
    assert str(most) in ruling(action).reason


def test_the_count_is_the_goals_and_not_that_of_the_turn() -> None:
    held = Budgets(used={goal.BUDGET: 40})
    assert isinstance(verdict(judged(said("gap"), sent_on=1, budgets=held)), Inject)


def test_a_person_gives_new_room_and_nudges_are_no_matter_of_the_judge() -> None:
    assert goal.BUDGET in REFILLED_BY_A_PERSON
    assert goal.BUDGET not in NUDGES


def test_the_judge_comes_after_all_that_can_be_known_without_it() -> None:
    names = [policy.name for policy in POLICIES]
    at = names.index("goal")
    assert names[at + 1 :] == ["uncommitted work", "structured: accept", "finish"]


@pytest.mark.parametrize(
    "ending",
    [
        after(Blocked(step(words("no"), failed()))),
        after(Completed(step(words("hm"), finish="error"))),
        after(step(words("go on"), ran())),
        facts(cancel="forced"),
        facts(refusal="a hook says no"),
    ],
)
def test_no_other_end_rules_over_a_goal(ending: Facts) -> None:
    with_goal = msgspec.structs.replace(ending, review=Review(goal=GOAL, verdict=said("met")))
    action = verdict(with_goal)
    assert not isinstance(action, Inject)
    assert getattr(action, "ruling", None) is None


LIMITS = [
    (limits.COST, 1.0, {"cost": 0.5}),
    (limits.TOKENS, 100, {"tokens": Tokens(input=60)}),
    (tree_budgets.COST, 1.0, {"cost": 0.5}),
    (tree_budgets.TOKENS, 100, {"tokens": Tokens(input=60)}),
]


@pytest.mark.parametrize(("name", "limit", "of_step"), LIMITS)
def test_a_limit_that_the_step_itself_used_up_leaves_no_room_for_a_judge(
    name: str, limit: float, of_step: dict[str, Any]
) -> None:
    held = Budgets({name: limit}, {name: limit / 2})
    last = step(words("done"), **of_step)
    ended = after(last, review=Review(goal=GOAL), budgets=held)
    assert goal.no_room(ended)
    action = verdict(ended)
    assert isinstance(action, Stop)
    assert (ruling(action).state, ruling(action).cause) == ("paused", "limit")
    assert goal.no_room(after(step(words("done")), budgets=held)) is None


def test_steps_are_no_reason_not_to_judge() -> None:
    held = Budgets({limits.STEPS: 1, limits.INVALID_CALLS: 1}, {limits.INVALID_CALLS: 1})
    assert goal.no_room(after(step(words("done")), budgets=held)) is None


def test_without_a_goal_nothing_is_ruled() -> None:
    action = verdict(after(step(words("done")), review=Review()))
    assert action == Stop("success")
