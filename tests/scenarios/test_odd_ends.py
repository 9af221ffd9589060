"""Answers that are whole although their stream is not, and calls that no screen expects."""

from typing import Any

import pytest
from household import Household
from invariants import assert_plain, assert_sound

from scripted_model.scenario import Call, Drop, Fail, Finish, NoEnd, Reset, Text, scenario

pytestmark = pytest.mark.scenario
LATE: dict[str, Any] = {"closed": Drop(), "reset": Reset(), "error": Fail(), "no mark": NoEnd()}


@pytest.mark.parametrize("late", LATE)
@pytest.mark.parametrize("house", ["chat", "anthropic"], indirect=True)
def test_a_connection_that_breaks_behind_the_end_of_an_answer_costs_nothing(
    house: Household, late: str
) -> None:
    house.play(scenario([Text("The answer."), Finish("stop"), LATE[late]], "again", scope="server"))
    answer = house.prompt("Say it.")
    assert (answer.code, answer.text) == (0, "The answer."), answer.err
    assert len(house.model.requests) == 1
    assert_sound(house)


@pytest.mark.parametrize("late", LATE)
@pytest.mark.parametrize("house", ["chat", "anthropic"], indirect=True)
def test_a_call_that_came_whole_before_the_connection_broke_is_run_once(
    house: Household, late: str
) -> None:
    call = Call("bash", {"command": "echo x >> count"})
    broken = [call, Finish("tool-calls"), LATE[late]]
    house.play(scenario(broken, "Done.", scope="server"))
    answer = house.prompt("Count.")
    assert (answer.code, answer.text) == (0, "Done."), answer.err
    assert (house.project / "count").read_text() == "x\n"
    assert len(house.model.requests) == 2
    assert_sound(house)


ODD: dict[str, Any] = {
    "numbers": {"filePath": 5, "command": 6, "pattern": 7, "url": 8},
    "lists": {"filePath": ["a"], "command": ["ls"], "pattern": [[]], "todos": {}},
    "objects": {"filePath": {"a": 1}, "command": {}, "operation": 3, "questions": "?"},
    "nothing": {},
    "null": {"filePath": None, "command": None, "operation": None},
    "depth": {"operation": {"action": {"action": ["spawn"]}}, "edits": [[[[1]]]]},
}
TOOLS = ("read", "write", "edit", "bash", "glob", "grep", "webfetch", "actor", "task", "question")


@pytest.mark.parametrize("odd", ODD)
def test_no_screen_breaks_at_what_a_model_sends_for_arguments(
    chat_house: Household, odd: str
) -> None:
    house = chat_house
    calls: list[Any] = [Call(tool, ODD[odd]) for tool in TOOLS]
    house.play(scenario(calls, "Done.", scope="server"))
    done = house.run("run", "--yes", "--thinking", "Go.")
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("Done.\n")
    (session,) = house.rows("SELECT id FROM session")
    for words in (["sessions", "show", session["id"]], ["trace", session["id"]]):
        shown = house.run(*words)
        assert shown.returncode == 0, shown.stderr
        assert_plain(shown.stdout)
    assert_plain(done.stderr)
    assert_sound(house)
