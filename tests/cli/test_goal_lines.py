from typing import Any

import pytest

from roost.cli.run.goal_lines import code_of, goal_line, is_told, state_line, unmet_words, way_on
from roost.cli.run.json_view import JsonView
from roost.cli.run.sightings import Judged
from roost.cli.terminal import Look
from roost.goals.models import Goal, Verdict

PLAIN = Look(colour=False, unicode=True)


def goal(state: Any, cause: Any = None, **more: Any) -> Goal:
    given: dict[str, Any] = {"reason": "why", "most": 12, **more}
    return Goal("goal_1", "ses_1", "the tests pass", state, 1, 2, cause=cause, **given)


def said(result: Any) -> Verdict:
    return Verdict("vrd_1", "goal_1", result, "why", "m/n", "trn_1", "msg_1", 1, 0.5)


LINES: list[tuple[Goal, str, int]] = [
    (goal("active", reason=""), "goal: the tests pass", 1),
    (goal("active", reentries=2), "goal: not met yet (2 of 12) - why", 1),
    (goal("met", reentries=2), "goal: met - why", 0),
    (goal("impossible"), "goal: impossible - why", 1),
    (goal("paused", "judge"), "goal: paused - why", 1),
    (goal("paused", "reentries"), "goal: paused - why", 3),
    (goal("paused", "limit"), "goal: paused - why", 3),
    (goal("cleared"), "goal: cleared - the tests pass", 0),
]


@pytest.mark.parametrize(("one", "line", "code"), LINES)
def test_each_state_has_its_line_and_its_exit_code(one: Goal, line: str, code: int) -> None:
    assert goal_line(one, PLAIN) == line
    assert code_of(one) == code
    if code:
        assert unmet_words(one)
        assert way_on(one)


def test_what_a_judge_says_is_one_line_that_no_terminal_obeys() -> None:
    line = state_line(goal("met", reason="all\nis \x1b[2Jwell"), PLAIN)
    assert line == "met - all is \u241b[2Jwell"


def test_a_goal_that_is_only_taken_up_again_is_not_told() -> None:
    assert not is_told(goal("active"), None)
    assert not is_told(goal("active"), said("dropped"))
    assert is_told(goal("active", reentries=1), said("gap"))
    assert is_told(goal("cleared"), None)
    assert is_told(Goal("goal_1", "ses_1", "new", "active", 1, 1), None)


def test_programs_read_goal_and_verdict() -> None:
    (line,) = JsonView("ses_1", thinking=False).feed(Judged(goal("met"), said("met")))
    assert '"type":"goal"' in line
    assert '"state":"met"' in line
    assert '"result":"met"' in line
