"""What a kill leaves of budgets that are spent at the end of a turn or kept outside of it."""

import json
from typing import Any

import msgspec
import pytest
from cast import WAIT, act, report, spawn
from court import GAP
from household import Household
from invariants import assert_sound
from test_actor_hooks import hook
from test_policy_restarts import CASES, Case, Child, through_a_kill
from test_try_best import failing, no_progress

from roost.actors import tree_budgets
from roost.turn.policies import cancel, goal, hooks, limits, try_best, uncommitted
from roost.turn.verdict import POLICIES
from scripted_model.picture import Request
from scripted_model.scenario import Call, Reply, Said, Stall, Usage, reply

pytestmark = pytest.mark.scenario
STEPS = 3


def used(row: Any) -> dict[str, float]:
    return msgspec.json.decode(row["budgets"])["used"]


def test_every_budget_of_a_policy_is_tried_with_a_kill() -> None:
    """A new one needs a case in `test_policy_restarts` or a test here."""
    here = {limits.REPORT, cancel.BUDGET, hooks.POST_BUDGET, try_best.REMINDERS, goal.BUDGET}
    at_the_end = {try_best.PAUSES, uncommitted.BUDGET}
    known = {one.name for policy in POLICIES for one in policy.allowances}
    assert known == {case.budget for case in CASES} - {limits.STEPS} | here | at_the_end


@pytest.mark.parametrize("limit", [limits.TOKENS, tree_budgets.TOKENS])
def test_what_was_used_before_a_kill_counts_towards_the_limits_of_tokens(
    chat_house: Household, limit: str
) -> None:
    house = chat_house
    house.config["permission"] = "allow"
    house.config["limits"][limit] = 100_000

    def says(number: int) -> Said:
        return [Call("bash", {"command": f"true {number}"}), Usage(input=20_000, output=0)]

    child = Child(Case(limit, 100_000, says, None), silent_at=3)
    killed, last = through_a_kill(house, child, lambda: child.asked > 3)
    assert killed["outcome"] == "interrupted"
    assert msgspec.json.decode(last["error"])["name"] == "LimitError"
    (row,) = house.rows("SELECT sum(tokens) AS all_of_it FROM turn WHERE actor_id != 'main'")
    assert 80_000 <= row["all_of_it"] <= 120_000
    assert child.asked <= 5 + 1 + 1
    assert_sound(house)


def test_a_last_word_at_a_limit_that_a_kill_cut_off_is_not_asked_for_again(
    chat_house: Household,
) -> None:
    house = chat_house
    house.config["permission"] = "allow"
    house.config["limits"]["steps"] = STEPS
    case = Case(limits.STEPS, STEPS, lambda n: Call("bash", {"command": f"true {n}"}), None)
    child = Child(case, silent_at=STEPS)
    killed, last = through_a_kill(house, child, lambda: child.asked > STEPS)
    assert (killed["outcome"], used(killed)[limits.REPORT]) == ("interrupted", 1)
    assert msgspec.json.decode(last["error"])["name"] == "LimitError"
    assert child.asked == STEPS + 1
    assert_sound(house)


def test_a_last_word_before_a_stop_that_a_kill_cut_off_is_not_asked_for_again(
    chat_house: Household,
) -> None:
    house = chat_house
    house.config["permission"] = "allow"
    last_words: list[Request] = []

    def play(request: Request) -> Reply:
        steps = sum(message.role == "assistant" for message in request.messages)
        if any("one: " in text for text in request.user_texts):
            if steps:
                last_words.append(request)
                return reply([Stall()])
            return reply(Call("bash", {"command": "touch begun; sleep 0.3"}))
        begun = Call("bash", {"command": "until [ -e begun ]; do sleep 0.02; done"})
        stop = act("cancel", actor_id="general-1")
        lines: list[Said] = [spawn("one"), begun, [stop, WAIT]]
        return reply(lines[steps] if steps < len(lines) else "Heard.")

    (turn,) = through_a_kill(house, play, lambda: bool(last_words))
    assert (turn["outcome"], turn["phase"]) == ("cancelled", "ended")
    assert used(turn)[cancel.BUDGET] == 1
    assert len(last_words) == 1
    assert_sound(house)


def test_who_tidied_up_after_its_result_when_it_was_killed_is_not_sent_on_anew(
    chat_house: Household,
) -> None:
    house = chat_house
    log = hook(
        house, "tidy", "actor.post_stop", 'cat >>"$LOG"; echo "tidy up" >&2; exit 2', "explore"
    )
    child = Child(Case(hooks.POST_BUDGET, 3, lambda n: f"Answer {n}.", None), silent_at=1)
    (turn,) = through_a_kill(house, child, lambda: child.asked > 1)
    assert (turn["outcome"], turn["phase"]) == ("success", "ended")
    assert used(turn)[hooks.POST_BUDGET] == 1
    assert child.asked == 2
    assert log.read_text().count('"on":"actor.post_stop"') == 1
    assert_sound(house)


def test_who_was_told_to_try_another_way_is_told_so_no_more_often_for_a_kill(
    chat_house: Household,
) -> None:
    house = chat_house
    failing(house)
    house.config |= {"permission": "allow", "try_best": "continue"}
    lines = no_progress(20)
    case = Case(
        try_best.REMINDERS,
        try_best.MODES["continue"][0],
        lambda n: lines[n] if n < len(lines) else report(),
        None,
        agent="general",
    )
    child = Child(case, silent_at=14)
    killed, last = through_a_kill(house, child, lambda: child.asked > 14)
    assert (killed["outcome"], used(killed)[case.budget]) == ("interrupted", 1)
    assert (last["outcome"], used(last)[case.budget]) == ("success", case.limit)
    told = house.rows("SELECT body FROM inbox WHERE kind = 'system'")
    origins = [json.loads(row["body"]).get("origin") for row in told]
    assert origins.count(try_best.REMINDERS) == case.limit
    assert_sound(house)


def test_a_goal_that_news_of_a_child_leads_back_to_counts_on_after_a_kill(
    chat_house: Household,
) -> None:
    """Nobody but the child speaks after the kill, so that the count does not begin anew."""
    house = chat_house
    house.config |= {"goal": {"reentries": 2}}
    asked: list[str] = []

    def play(request: Request) -> Reply:
        if not request.tool_names:
            return reply(GAP)
        if any("one: " in text for text in request.user_texts):
            asked.append("child")
            return reply([Stall()] if len(asked) == 1 else report())
        steps = sum(message.role == "assistant" for message in request.messages)
        return reply(spawn("one") if steps == 1 else "Done.")

    through_a_kill(house, play, lambda: bool(asked), goal="the tests pass")
    (goal,) = house.rows("SELECT * FROM goal")
    assert (goal["state"], goal["reentries"]) == ("paused", 2)
    assert [row["result"] for row in house.rows("SELECT result FROM goal_verdict")] == ["gap"] * 3
    assert len(house.rows("SELECT 1 FROM turn WHERE actor_id = 'main'")) == 2
    assert_sound(house, ping=False)
