from typing import Any

import pytest
from stage import Stage

from roost.core.errors import UsageError
from roost.goals import store as goals
from roost.goals.models import CONDITION_LIMIT, Goal, Ruling, State, Verdict
from roost.sessions import store as sessions
from roost.sessions.parts import Tokens


def give(stage: Stage, condition: str = "the tests pass") -> Goal:
    return stage.do(lambda tx: goals.set_goal(tx, stage.session_id, condition))


def now(stage: Stage) -> Goal:
    goal = stage.read(lambda db: goals.find(db, stage.session_id))
    assert goal is not None
    return goal


def verdict(goal: Goal, number: int = 1, **changes: Any) -> Verdict:
    given: dict[str, Any] = {
        "id": f"vrd_{number}",
        "goal_id": goal.id,
        "result": "gap",
        "reason": "no test was run",
        "model": "scripted/one",
        "turn_id": "trn_1",
        "message_id": "msg_1",
        "created": 1_000 + number,
        "seconds": 0.5,
        "tokens": Tokens(input=10, output=2),
        "cost": 0.25,
        **changes,
    }
    return Verdict(**given)


def ruled(
    stage: Stage, found: Verdict, state: State = "active", *, overtaken: bool = False
) -> bool:
    ruling = Ruling(goal_id=found.goal_id, state=state, reason=found.reason, most=12, verdict=found)
    return stage.do(lambda tx: goals.rule(tx, stage.session_id, ruling, overtaken=overtaken))


def told(stage: Stage) -> list[tuple[State, str | None]]:
    events = [event.properties for event in stage.events if event.type == "session.goal"]
    return [(e["goal"].state, e["verdict"].result if e["verdict"] else None) for e in events]


def shown(stage: Stage) -> Any:
    return stage.read(lambda db: sessions.get(db, stage.session_id)).goal


def test_a_goal_is_active_and_shown_with_its_session(stage: Stage) -> None:
    assert shown(stage) is None
    goal = give(stage, "  the tests pass\n")
    assert (goal.condition, goal.state) == ("the tests pass", "active")
    assert now(stage) == goal
    assert shown(stage)["condition"] == "the tests pass"
    assert told(stage) == [("active", None)]
    assert [e.type for e in stage.events][-1] == "session.updated"


@pytest.mark.parametrize("condition", ["", " \n", "x" * (CONDITION_LIMIT + 1)])
def test_a_condition_that_is_none_is_refused_with_what_to_do(stage: Stage, condition: str) -> None:
    with pytest.raises(UsageError) as refused:
        give(stage, condition)
    assert refused.value.hint
    assert stage.read(lambda db: goals.find(db, stage.session_id)) is None


def test_another_goal_takes_the_place_of_the_first_and_counts_from_nothing(stage: Stage) -> None:
    first = give(stage)
    assert ruled(stage, verdict(first))
    second = give(stage, "it is documented")
    assert now(stage) == second
    assert second.reentries == 0
    assert shown(stage)["id"] == second.id
    (row,) = stage.connection.execute("SELECT state FROM goal WHERE id = ?", (first.id,))
    assert row["state"] == "cleared"


def test_what_is_cleared_is_gone_from_the_session_and_stays_in_its_history(stage: Stage) -> None:
    goal = give(stage)
    ruled(stage, verdict(goal))
    cleared = stage.do(lambda tx: goals.clear(tx, stage.session_id))
    assert cleared is not None
    assert cleared.state == "cleared"
    assert shown(stage) is None
    assert len(stage.read(lambda db: goals.verdicts(db, goal.id))) == 1
    before = len(stage.events)
    assert stage.do(lambda tx: goals.clear(tx, stage.session_id)) is None
    assert len(stage.events) == before


def test_each_gap_counts_until_a_person_speaks(stage: Stage) -> None:
    goal = give(stage)
    for number in range(3):
        assert ruled(stage, verdict(goal, number))
    assert now(stage).reentries == 3
    assert (now(stage).reason, now(stage).most) == ("no test was run", 12)
    stage.do(lambda tx: goals.begin_anew(tx, stage.session_id))
    assert (now(stage).reentries, now(stage).state) == (0, "active")
    before = len(stage.events)
    stage.do(lambda tx: goals.begin_anew(tx, stage.session_id))
    assert len(stage.events) == before


@pytest.mark.parametrize(
    ("state", "then"),
    [("paused", "active"), ("met", "met"), ("impossible", "impossible")],
)
def test_a_person_wakes_a_paused_goal_and_no_other(stage: Stage, state: State, then: State) -> None:
    goal = give(stage)
    assert ruled(stage, verdict(goal), state)
    assert now(stage).state == state
    assert now(stage).reentries == 0
    stage.do(lambda tx: goals.begin_anew(tx, stage.session_id))
    assert now(stage).state == then


def test_a_verdict_on_a_goal_that_was_changed_or_overtaken_changes_nothing(stage: Stage) -> None:
    first = give(stage)
    assert not ruled(stage, verdict(first, 1, result="met"), "met", overtaken=True)
    second = give(stage, "it is documented")
    assert not ruled(stage, verdict(first, 2, result="met"), "met")
    assert not ruled(stage, verdict(second, 3, result="dropped"))
    assert (now(stage).state, now(stage).reentries) == ("active", 0)
    kept = stage.read(lambda db: goals.verdicts(db, first.id))
    assert [one.result for one in kept] == ["dropped", "dropped"]
    assert "met" in kept[0].reason
    assert [one for one in told(stage) if one[1]] == [("active", "dropped")] * 3


def test_verdicts_keep_their_order_and_tell_what_they_took(stage: Stage) -> None:
    goal = give(stage)
    for number in (2, 1, 3):
        ruled(stage, verdict(goal, number))
    kept = stage.read(lambda db: goals.verdicts(db, goal.id))
    assert kept == [verdict(goal, 2), verdict(goal, 1), verdict(goal, 3)]
    assert stage.read(lambda db: goals.verdicts(db, goal.id, limit=1)) == kept[-1:]
    used = stage.read(lambda db: goals.judged_since(db, [stage.session_id], 1_002))
    assert (used.tokens, used.cost) == (Tokens(input=20, output=4), 0.5)
    assert stage.read(lambda db: goals.judged_since(db, ["ses_other"], 0)).cost == 0


def test_a_goal_goes_with_its_session(stage: Stage) -> None:
    goal = give(stage)
    ruled(stage, verdict(goal))
    stage.do(lambda tx: sessions.delete(tx, stage.session_id))
    assert stage.read(lambda db: goals.verdicts(db, goal.id)) == []
    assert stage.read(lambda db: goals.find(db, stage.session_id)) is None


def test_a_damaged_verdict_still_says_what_it_said(stage: Stage) -> None:
    goal = give(stage)
    ruled(stage, verdict(goal))
    stage.connection.execute("UPDATE goal_verdict SET tokens = '{broken'")
    (kept,) = stage.read(lambda db: goals.verdicts(db, goal.id))
    assert (kept.reason, kept.tokens) == ("no test was run", Tokens())
    assert stage.read(lambda db: goals.judged_since(db, [stage.session_id], 0)).cost == 0.25


def test_a_damaged_summary_is_not_shown_and_the_goal_stands(stage: Stage) -> None:
    goal = give(stage)
    stage.connection.execute("UPDATE session SET goal = '{broken'")
    assert shown(stage) is None
    assert now(stage) == goal
