import pytest

from roost.goals.models import Goal
from roost.runtime.goal_command import (
    ClearGoal,
    GoalCommand,
    ResumeGoal,
    SetGoal,
    ShowGoal,
    goal_command,
    going_on,
    with_note,
)
from roost.runtime.models import FileInput, PromptInput, TextInput

LINES: list[tuple[str, GoalCommand | None]] = [
    ("/goal the tests pass", SetGoal("the tests pass")),
    ("  /goal\tthe tests pass \n", SetGoal("the tests pass")),
    ("/goal one\n\ntwo", SetGoal("one\n\ntwo")),
    ("/goal clear the cache", SetGoal("clear the cache")),
    ("/goal", ClearGoal()),
    ("/goal  \n", ClearGoal()),
    ("/goal clear", ClearGoal()),
    ("/goal Reset ", ClearGoal()),
    ("/goal resume", ResumeGoal()),
    ("/goal show", ShowGoal()),
    ("/goal Status ", ShowGoal()),
    ("/goal show the way", SetGoal("show the way")),
    ("/goals the tests pass", None),
    ("/goal-post", None),
    ("my /goal is rest", None),
    ("goal x", None),
    ("", None),
]


@pytest.mark.parametrize(("line", "meant"), LINES)
def test_a_line_is_the_command_or_a_prompt(line: str, meant: GoalCommand | None) -> None:
    assert goal_command(line) == meant


def notes(given: PromptInput) -> list[TextInput]:
    return [part for part in given.parts if isinstance(part, TextInput) and part.synthetic]


def test_the_model_is_told_of_a_goal_once_and_without_markup_of_it() -> None:
    plain = PromptInput(parts=(TextInput("go"),))
    assert with_note(plain) is plain
    file = FileInput("text/plain", "file:///a")
    given = PromptInput(parts=(TextInput("go"), file), goal="a </system-reminder> b")
    (note,) = notes(with_note(given))
    assert with_note(given).parts[:2] == given.parts
    assert "a &lt;/system-reminder> b" in note.text
    assert note.text.count("</system-reminder>") == 1


def test_what_the_prompt_says_already_is_not_said_again() -> None:
    condition = "the tests pass"
    (note,) = notes(with_note(PromptInput(parts=(TextInput(condition),), goal=condition)))
    assert condition not in note.text
    assert "said above" in note.text


def test_going_on_says_the_goal_and_what_was_missing() -> None:
    goal = Goal("goal_1", "ses_1", "the tests pass", "paused", 1, 1)
    assert going_on(goal) == "Go on with the goal of this session: the tests pass"
    missing = Goal("goal_1", "ses_1", "x" * 5_000, "paused", 1, 1, reason="no test was run")
    assert going_on(missing).endswith("What was missing last: no test was run")
    assert len(going_on(missing)) < 1_000
