"""The tool `actor` and the actors that it makes, as models and clients see them."""

import json
from typing import Any

import pytest
from cast import WAIT, Cast, act, actor_parts, begin, end, notices, report, run, spawn
from household import Household
from invariants import assert_sound

from scripted_model.scenario import Barrier, Call, Status, Text

pytestmark = pytest.mark.scenario
REFUSAL = json.dumps({"error": {"message": "no such thing", "type": "invalid_request_error"}})


def test_ids_count_by_agent_and_are_never_given_twice(house: Household) -> None:
    names = ("north", "east", "south", "west")
    seen: dict[str, Any] = {name: ["Seen."] for name in names}
    kinds = ("general", "explore", "general", "explore")
    step = [*map(spawn, names, kinds), WAIT]
    cast = Cast(
        [step, *[lambda r: "Done." if r.all_text.count("<notice") == 4 else WAIT] * 4], **seen
    )
    house.play(cast)
    answer = house.prompt("Delegate.")
    assert answer.text == "Done.", answer.err
    rows = house.rows("SELECT actor_id FROM actor WHERE mode = 'subagent'")
    ids = sorted(row["actor_id"] for row in rows)
    assert ids == ["explore-1", "explore-2", "general-1", "general-2"]
    house.play(Cast([run("fifth"), "Done."], fifth=[report()]))
    house.prompt("One more.", "--continue")
    assert house.rows("SELECT 1 FROM actor WHERE actor_id = 'general-3'") != []
    assert_sound(house)


def test_main_is_an_actor_like_any_other(chat_house: Household) -> None:
    chat_house.play(Cast([run("scout"), "Done."], scout=[report()]))
    chat_house.prompt("Delegate.")
    rows = chat_house.rows("SELECT * FROM actor ORDER BY depth")
    main, child = rows
    assert (main["actor_id"], main["mode"], main["status"]) == ("main", "main", "idle")
    assert (child["mode"], child["status"], child["lifecycle"]) == ("subagent", "idle", "ephemeral")
    assert (child["parent_actor_id"], child["root_actor_id"], child["depth"]) == ("main", "main", 1)
    turns = chat_house.rows("SELECT actor_id, number, outcome, phase FROM turn ORDER BY actor_id")
    assert [tuple(row) for row in turns] == [
        ("general-1", 1, "success", "ended"),
        ("main", 1, "success", "ended"),
    ]


def test_each_actor_has_its_own_slice_and_people_see_that_of_main(house: Household) -> None:
    look = [Text("Child words."), Call("bash", {"command": "echo from-the-child"})]
    cast = Cast([[Text("Main words."), run("scout")], "Done."], scout=[look, report()])
    house.play(cast)
    answer = house.prompt("Delegate.")
    assert "Child words." not in json.dumps(answer.lines)
    assert "Main words." not in cast.heard["scout"][1].all_text
    assert "from-the-child" not in cast.heard["main"][1].all_text
    owners = house.rows("SELECT actor_id, count(*) AS n FROM message GROUP BY actor_id")
    assert {row["actor_id"]: row["n"] for row in owners} == {"general-1": 3, "main": 3}
    assert_sound(house)


AGENTS: dict[str, Any] = {
    "mine": {"mode": "subagent", "description": "Looks at mine alone."},
    "both": {"mode": "all", "description": "For both uses."},
    "hidden": {"mode": "subagent", "description": "Not for models.", "hidden": True},
    "boss": {"mode": "primary", "description": "Talks to people."},
    "explore": {"disable": True},
}


def test_a_child_can_run_as_those_agents_that_are_meant_for_it(chat_house: Household) -> None:
    chat_house.config["agent"] = AGENTS
    cast = Cast(
        [[run("one", "mine"), run("x", "hidden"), run("x", "boss"), run("x", "explore")], "Done."],
        one=["Mine."],
        x=[],
    )
    chat_house.play(cast)
    answer = chat_house.prompt("Delegate.")
    assert answer.text == "Done.", answer.err
    (tool,) = [tool for tool in cast.heard["main"][0].tools if tool.name == "actor"]
    offered = tool.schema["properties"]["operation"]["anyOf"][0]["properties"]["subagent_type"]
    assert sorted(offered["enum"]) == ["both", "general", "mine"]
    assert "- mine: Looks at mine alone." in tool.description
    assert "Not for models." not in tool.description
    states = [one["status"] for one in actor_parts(answer)]
    assert sorted(states) == ["completed", "error", "error", "error"]
    refused = [one["error"] for one in actor_parts(answer) if one["status"] == "error"]
    assert all("mine" in one for one in refused)


@pytest.mark.parametrize("action", ["spawn", "run"])
def test_naming_an_actor_that_is_there_starts_no_new_one(
    chat_house: Household, action: str
) -> None:
    again = run("x", actor_id="general-1") if action == "run" else spawn("x", actor_id="general-1")
    cast = Cast([run("scout"), again, "Done."], scout=[report()], x=[])
    chat_house.play(cast)
    answer = chat_house.prompt("Delegate.")
    state = actor_parts(answer)[-1]
    assert state["status"] == "error"
    assert "send" in state["error"]
    assert len(chat_house.rows("SELECT 1 FROM actor")) == 2


_FINALIZING = "general-1 (general, of main): progressing, finalizing: its result is delivered\n"


def test_what_an_actor_does_is_shown_without_waiting(house: Household) -> None:
    cast = Cast(
        [
            spawn("scout", description="Count the doors"),
            Call("bash", {"command": "until [ -e begun ]; do sleep 0.05; done"}),
            act("status", actor_id="general-1"),
            [Text("Well."), WAIT],
            act("status", actor_id="general-1"),
            "Done.",
        ],
        scout=[
            Call("bash", {"command": "touch begun; sleep 1", "description": "Counts"}),
            report("partial", "half"),
        ],
    )
    house.play(cast)
    answer = house.prompt("Delegate.")
    assert answer.text == "Done.", answer.err
    during, after = (one["output"] for one in actor_parts(answer) if "began" in one["output"])
    assert during.startswith("general-1 (general, of main): progressing, bash")
    assert "Count the doors" in during
    assert "1 turn" in during
    assert after.startswith(("general-1 (general, of main): idle\n", _FINALIZING))
    assert "its last turn ended, reported status: partial; half" in after
    assert "2 steps" in after


@pytest.mark.parametrize("action", ["status", "cancel", "wait"])
def test_who_is_not_there_is_told_with_those_that_are(chat_house: Household, action: str) -> None:
    cast = Cast([run("scout"), act(action, actor_id="general-2"), "Done."], scout=[report()])
    chat_house.play(cast)
    state = actor_parts(chat_house.prompt("Delegate."))[-1]
    assert state["status"] == "error"
    assert "there is no actor general-2 of yours. Did you mean general-1?" in state["error"]


def test_actors_of_another_session_are_not_shown(chat_house: Household) -> None:
    chat_house.play(Cast([run("scout"), "Done."], scout=[report()]))
    chat_house.prompt("Delegate.")
    chat_house.play(Cast([[act("status", actor_id="general-1"), act("status")], "Done."]))
    one, everybody = sorted(
        actor_parts(chat_house.prompt("Look.")), key=lambda state: state["status"] == "completed"
    )
    assert "there is no actor general-1 of yours" in one["error"]
    assert everybody["output"] == "There are no other actors."


def test_an_older_success_is_never_shown_for_a_failure(chat_house: Household) -> None:
    more = act("send", to_actor_id="general-1", content="And the roof?")
    cast = Cast(
        [
            [spawn("scout"), WAIT],
            [more, act("wait", actor_id="general-1")],
            act("status", actor_id="general-1"),
            "Done.",
        ],
        scout=[report(summary="the door"), Status(400, {}, REFUSAL)],
    )
    chat_house.play(cast)
    answer = chat_house.prompt("Delegate.")
    assert answer.text == "Done.", answer.err
    assert "the door" not in cast.news("main", 2)
    assert "general-1 failed." in cast.news("main", 2)
    assert "It left no result." in cast.news("main", 2)
    assert "the door" not in cast.news("main", 3)
    first, second = notices(chat_house)
    assert (first["notice"], second["notice"]) == ("completed", "failed")
    assert "result" not in second


def test_a_child_works_where_its_parent_does_and_its_parent_sees_that_files_changed(
    chat_house: Household,
) -> None:
    chat_house.write("a.txt", "one\n")
    read = Call("read", {"filePath": "a.txt"})
    mine = Call("write", {"filePath": "a.txt", "content": "mine\n"})
    theirs = Call("write", {"filePath": "a.txt", "content": "theirs\n"})
    cast = Cast(
        [read, run("smith"), mine, "Done."],
        smith=[[Call("bash", {"command": "pwd"}), theirs], read, theirs, report()],
    )
    chat_house.play(cast)
    answer = chat_house.prompt("Delegate.")
    assert answer.text == "Done.", answer.err
    assert str(chat_house.project) in cast.news("smith", 1)
    refused = [part["state"]["error"] for part in answer.tools() if part["tool"] == "write"]
    assert "changed" in refused[0]
    assert (chat_house.project / "a.txt").read_text() == "theirs\n"


def test_a_background_child_is_the_title_of_its_call_and_runs_on_after_it(
    house: Household,
) -> None:
    cast = Cast(
        [spawn("scout", description="Count doors", command="/count"), WAIT, "Done."],
        scout=[[Barrier("slow"), Text(report())]],
    )
    house.play(cast)
    process = begin(house, "Delegate.")
    house.model.wait_for_barrier("slow")
    house.model.wait_until(lambda: len(cast.heard["main"]) == 2)
    (row,) = house.rows("SELECT status FROM actor WHERE actor_id = 'general-1'")
    assert row["status"] == "running"
    house.model.release("slow")
    answer = end(process)
    state = actor_parts(answer)[0]
    assert state["title"] == "Background General Task — Count doors"
    metadata = state["metadata"]
    assert metadata["sessionId"] == metadata["sessionID"] == answer.session
    assert (metadata["actorID"], metadata["command"]) == ("general-1", "/count")
    assert_sound(house)
