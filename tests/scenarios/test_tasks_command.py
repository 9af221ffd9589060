"""`roost tasks`: what a session keeps of its work."""

import json
from typing import Any

import pytest
from household import Household

from scripted_model.scenario import Call, scenario

pytestmark = pytest.mark.scenario


def task(action: str, **more: Any) -> Call:
    return Call("task", {"action": action, **more})


def test_open_tasks_are_a_tree_and_those_that_are_over_are_shown_on_request(
    chat_house: Household,
) -> None:
    house = chat_house
    house.play(
        scenario(
            task("create", summary="Build the parser"),
            task("create", summary="Lex", parentID="T1"),
            task("create", summary="Ship it"),
            task("start", id="T1.1"),
            task("done", id="T1.1"),
            task("block", id="T2", reason="no key"),
            "Planned.",
            scope="server",
        )
    )
    session = house.prompt("Plan.").session
    shown = house.run("tasks")
    assert shown.returncode == 0, shown.stderr
    rows = [line.split(None, 1)[0] for line in shown.stdout.splitlines()]
    assert rows == ["TASK", "T1", "T2"]
    assert "Ship it (no key)" in shown.stdout
    assert "1 task that is over" in shown.stderr
    everything = house.run("tasks", "--all").stdout.splitlines()
    assert any(line.startswith("  T1.1") and "done" in line for line in everything)
    found = json.loads(house.run("tasks", "-s", session, "--all", "--json").stdout)
    assert [one["id"] for one in found] == ["T1", "T1.1", "T2"]


def test_a_session_without_tasks_says_so(chat_house: Household) -> None:
    chat_house.play(scenario("Hello."))
    chat_house.prompt("Hi.")
    shown = chat_house.run("tasks")
    assert (shown.returncode, shown.stdout) == (0, "")
    assert "has no tasks" in shown.stderr
