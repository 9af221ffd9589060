"""Agents as the whole program runs them: what they see, and what they are refused."""

from typing import Any

import pytest
from household import Household

from scripted_model.scenario import Call, Parallel, scenario

pytestmark = pytest.mark.scenario
EDITS = [
    Call("write", {"filePath": "new.txt", "content": "x"}),
    Call("bash", {"command": "echo x>>f"}),
    Call("bash", {"command": "git commit --allow-empty -m x"}),
    Call("bash", {"command": "sed -i s/a/b/ f"}),
    Call("bash", {"command": "echo x | tee f"}),
]


def states(house: Household, *calls: Call, agent: str) -> list[tuple[str, dict[str, Any]]]:
    house.play(scenario(*calls, "done", scope="server"))
    answer = house.prompt("go", "--agent", agent)
    assert answer.code == 0, answer.err
    return [(part["state"]["status"], part["state"]) for part in answer.tools()]


def test_plan_changes_nothing_even_with_yes(chat_house: Household) -> None:
    house = chat_house
    house.write("f", "a\n")
    for status, state in states(house, *EDITS, agent="plan"):
        assert status == "error"
        assert "agent plan" in state["error"]
    assert (house.project / "f").read_text() == "a\n"
    assert sorted(path.name for path in house.project.iterdir()) == ["f"]
    look = Call("bash", {"command": "cat f"})
    assert [status for status, _ in states(house, look, agent="plan")] == ["completed"]


def test_a_tool_that_is_not_on_the_list_is_neither_shown_nor_run(chat_house: Household) -> None:
    house = chat_house
    house.config["agent"] = {"reader": {"tool_allowlist": ["read", "grep"]}}
    house.write("f", "a\n")
    calls = Parallel((Call("bash", {"command": "ls"}), Call("read", {"filePath": "f"})))
    house.play(scenario(calls, "done", scope="server"))
    answer = house.prompt("go", "--agent", "reader")
    assert [part["state"]["status"] for part in answer.tools()] == ["error", "completed"]
    assert house.model.requests[0].request.tool_names == ("read", "grep")


def test_a_subagent_cannot_be_talked_to(chat_house: Household) -> None:
    done = chat_house.run("run", "--agent", "explore", "go")
    assert done.returncode == 2
    assert "subagent" in done.stderr


def test_an_agent_and_the_command_line_may_name_a_group(chat_house: Household) -> None:
    house = chat_house
    house.config["model_groups"] = {"lite": "test/gpt-scripted"}
    house.config["agent"] = {"quick": {"model": "lite"}}
    house.play(scenario("pong", "pong", "pong", scope="server"))
    assert house.prompt("ping", "--agent", "quick").text == "pong"
    assert house.prompt("ping", "-m", "lite").text == "pong"
    assert house.prompt("ping", "-m", "standard").text == "pong"
    used = [record.model for record in house.model.requests]
    assert used == ["gpt-scripted", "gpt-scripted", "scripted"]
