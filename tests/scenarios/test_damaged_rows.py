"""Rows of the database whose JSON is damaged: the session goes on, and every command names them."""

import json

import pytest
from cast import WAIT, Cast, act, report, run
from household import Household

from scripted_model.scenario import Call, reply, scenario, step

ONE_TWO = ((1, "one"), (2, "two"))


@pytest.mark.parametrize("data", ["{", "", "null", '{"type":"tool"'])
def test_a_session_with_damaged_rows_goes_on_and_they_are_named(
    house: Household, data: str
) -> None:
    house.play(scenario(step(Call("bash", {"command": "echo one"})), "first", "second", "third"))
    first = house.prompt("do it")
    session = first.session
    assert house.prompt("again", "-s", session).text == "second"
    (part,) = house.rows("SELECT id FROM part WHERE type = 'tool'")
    messages = house.rows("SELECT id FROM message ORDER BY seq")
    house.change("UPDATE part SET data = ? WHERE id = ?", data, part["id"])
    for message in (messages[0], messages[-1]):
        house.change("UPDATE message SET data = ? WHERE id = ?", data, message["id"])
    house.change("UPDATE session SET permission = '{'")

    again = house.prompt("go on", "-s", session)
    assert again.text == "third", again.err
    listed = house.run("sessions", "list", "--format", "json")
    assert [one["id"] for one in json.loads(listed.stdout)] == [session]
    assert session in listed.stderr
    assert "permission" in listed.stderr
    shown = house.run("sessions", "show", session)
    assert "first" in shown.stdout
    assert "third" in shown.stdout
    exported = json.loads(house.run("sessions", "export", session).stdout)
    assert len(exported["messages"]) == len(messages) + 2
    doctor = house.run("doctor").stdout
    for row in (part, messages[0], messages[-1]):
        assert row["id"] in doctor
    assert house.rows("SELECT data FROM part WHERE id = ?", part["id"])[0]["data"] == data


def test_a_run_in_a_session_whose_rules_are_damaged_asks_and_says_so(
    chat_house: Household,
) -> None:
    house = chat_house
    house.config["permission"] = {"bash": "allow"}
    call = step(Call("bash", {"command": "touch made"}))
    house.play(lambda _: reply("pong"))
    session = house.prompt("ping").session
    house.change("UPDATE session SET permission = '['")
    house.play(scenario(call, "it was refused"))
    done = house.run("run", "-s", session, "touch it")
    assert "permission rules cannot be read" in done.stderr
    assert not (house.project / "made").exists()


def test_damaged_rows_of_actors_leave_the_others_at_work_and_are_named(
    chat_house: Household,
) -> None:
    house = chat_house
    first = Cast([run("one"), run("two"), "Begun."], one=[report()], two=[report()])
    house.play(first)
    session = house.prompt("Begin.").session
    house.change("UPDATE actor SET mode = 'captain', retry = '{' WHERE actor_id = 'main'")
    house.change("UPDATE actor SET tools = '[' WHERE actor_id = 'general-1'")
    house.change("UPDATE turn SET budgets = '' WHERE actor_id = 'general-1'")
    again = [
        [act("send", to_actor_id=f"general-{n}", content=f"{name}: go on") for n, name in ONE_TWO],
        WAIT,
        WAIT,
        "Heard.",
    ]
    touch = Call("bash", {"command": "touch made-$$"})
    second = Cast(again, one=[touch, report("blocked")], two=[touch, report()])
    house.play(second)
    answer = house.prompt("Go on.", "-s", session)
    assert answer.text == "Heard.", answer.err
    assert second.heard["one"][0].tool_names == ()
    assert len(list(house.project.glob("made-*"))) == 1
    listed = house.run("actors", "list", "-s", session, "--all", "--format", "json")
    assert listed.returncode == 0, listed.stderr
    doctor = house.run("doctor").stdout
    assert f"actor main (mode) of {session}" in doctor
    assert f"actor general-1 (tools) of {session}" in doctor
    assert "(budgets)" in doctor
