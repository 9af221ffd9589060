"""How many actors there may be, what they may use, and stops that reach all of them."""

import json
import re
import signal
import time
from typing import Any

import pytest
from cast import WAIT, Cast, act, actor_parts, begin, end, notices, report, run, spawn
from household import Household
from invariants import assert_nothing_open, assert_sound

from scripted_model.picture import Request
from scripted_model.scenario import Barrier, Call, Delay, Reply, Said, Stall, Status, Text, reply

pytestmark = pytest.mark.scenario


# A child starts nobody, by whatever path


def _tries(house: Household, call: Call, *, agent: str = "general", **more: Any) -> str:
    """What a child is told that makes `call`; nobody may be started by it."""
    cast = Cast([run("scout", agent, **more), "Heard."], scout=[call, report("blocked")], x=[])
    house.play(cast)
    answer = house.prompt("Delegate.")
    assert answer.text == "Heard.", answer.err
    actors = house.rows("SELECT actor_id FROM actor WHERE mode != 'main'")
    assert [row["actor_id"] for row in actors] == [f"{agent}-1"]
    return cast.news("scout")


PATHS: dict[str, Call] = {
    "spawn": spawn("x"),
    "run": run("x"),
    "without the wrapper": Call("actor", spawn("x").arguments["operation"]),  # type: ignore[index]
    "a string for an object": Call(
        "actor",
        {"operation": json.dumps(spawn("x").arguments["operation"])},  # type: ignore[index]
    ),
    "a command line": Call("actor", {"command": 'actor spawn general "x" "x: go"'}),
    "another name of the tool": Call("task", {"subagent_type": "general", "prompt": "x: go"}),
    "a session": Call("session", {"operation": {"action": "create", "task": "x: go"}}),
}


@pytest.mark.parametrize("path", PATHS)
def test_a_child_starts_nobody_whatever_it_calls(chat_house: Household, path: str) -> None:
    assert _tries(chat_house, PATHS[path])


def test_a_child_starts_nobody_by_a_command_line_where_that_is_the_form(
    chat_house: Household,
) -> None:
    chat_house.config["tool"] = {"invocation_style": "shell"}
    line = Call("actor", {"command": 'actor spawn general "x" "x: go"'})
    given = Call("actor", {"command": 'actor run general "scout" "scout: go"'})
    cast = Cast([given, "Heard."], scout=[line, report("blocked")], x=[])
    chat_house.play(cast)
    assert chat_house.prompt("Delegate.").text == "Heard."
    assert "starts, runs and stops no others" in cast.news("scout")
    assert len(chat_house.rows("SELECT 1 FROM actor")) == 2


@pytest.mark.parametrize(
    "agent",
    [
        {"mode": "subagent", "tools": {"actor": True}, "permission": {"actor": "allow"}},
        {"mode": "all", "tool_allowlist": ["actor", "bash"]},
        {"mode": "all"},
    ],
    ids=["that asks for the tool", "that lists the tool", "of any mode"],
)
def test_an_agent_of_the_configuration_starts_nobody_as_a_child(
    chat_house: Household, agent: dict[str, Any]
) -> None:
    chat_house.config["agent"] = {"mine": {"description": "Mine.", **agent}}
    assert _tries(chat_house, spawn("x"), agent="mine")


def test_every_actor_that_tries_to_multiply_is_refused(chat_house: Household) -> None:
    """The fan-out of users' bills: each actor starts five of itself in its first step."""

    def everybody(request: Request) -> Reply:
        if any(message.role == "assistant" for message in request.messages):
            return reply([Text(report())])
        return reply([spawn(f"w{number}") for number in range(5)])

    chat_house.play(everybody)
    answer = chat_house.prompt("Multiply.")
    assert answer.code == 0, answer.err
    assert len(chat_house.rows("SELECT 1 FROM actor")) == 6
    assert len(chat_house.model.requests) < 20
    assert_sound(chat_house)


# Caps


def test_no_generation_is_begun_below_the_limit_of_depth(chat_house: Household) -> None:
    chat_house.config["actors"] = {"depth": 0}
    cast = Cast([spawn("x"), "Refused."], x=[])
    chat_house.play(cast)
    assert chat_house.prompt("Delegate.").text == "Refused."
    assert "the limit of 0 generations of actors is reached" in cast.news("main")


def test_one_child_too_many_is_refused_with_the_reason_until_another_has_ended(
    chat_house: Household,
) -> None:
    chat_house.config["actors"] = {"children": 2}
    cast = Cast(
        [
            [spawn("one"), spawn("two"), spawn("x")],
            act("wait", actor_id="general-1"),
            [spawn("three"), WAIT],
            lambda request: "Done." if request.all_text.count("<notice") == 2 else WAIT,
            "Done.",
        ],
        one=[[Delay(0.4), Text(report())]],
        two=[[Delay(1.2), Text(report())]],
        three=[[Delay(1.2), Text(report())]],
        x=[],
    )
    chat_house.play(cast)
    answer = chat_house.prompt("Delegate.")
    assert answer.text == "Done.", answer.err
    (refused,) = [one for one in actor_parts(answer) if one["status"] == "error"]
    assert "2 of your actors are at work, and no more than 2 may be" in refused["error"]
    assert "Wait until one has ended, or cancel one." in refused["error"]
    ids = {row["actor_id"] for row in chat_house.rows("SELECT actor_id FROM actor")}
    assert ids == {"main", "general-1", "general-2", "general-3"}
    assert_sound(chat_house)


def test_above_the_limit_of_running_actors_they_wait_for_their_turn(
    chat_house: Household,
) -> None:
    chat_house.config["actors"] = {"running": 2}
    names = ("one", "two", "three", "four")
    lines: dict[str, list[Said]] = {name: [[Barrier(name), Text(report())]] for name in names}
    cast = Cast(
        [
            [*(spawn(name) for name in names), act("status")],
            lambda request: "Done." if request.all_text.count("<notice") == 4 else WAIT,
            *[lambda request: "Done." if request.all_text.count("<notice") == 4 else WAIT] * 4,
        ],
        **lines,
    )
    chat_house.play(cast)
    process = begin(chat_house, "Delegate.")
    chat_house.model.wait_for_barrier("one")
    chat_house.model.wait_for_barrier("two")
    running = "SELECT actor_id, status FROM actor WHERE mode = 'subagent' ORDER BY actor_id"
    chat_house.model.wait_until(lambda: len(chat_house.rows(running)) == 4)
    assert [row["status"] for row in chat_house.rows(running)] == [
        "running",
        "running",
        "pending",
        "pending",
    ]
    assert len(cast.heard["three"]) == len(cast.heard["four"]) == 0
    chat_house.model.release("one")
    chat_house.model.wait_for_barrier("three")
    chat_house.model.release("two")
    chat_house.model.wait_for_barrier("four")
    chat_house.model.release("three")
    chat_house.model.release("four")
    answer = end(process)
    assert (answer.code, answer.text) == (0, "Done."), answer.err
    assert "general-3 (general, of main): pending" in actor_parts(answer)[4]["output"]
    assert len(notices(chat_house)) == 4
    assert_sound(chat_house)


def test_one_that_waits_for_its_turn_can_be_stopped_without_a_call(chat_house: Household) -> None:
    chat_house.config["actors"] = {"running": 1}
    cast = Cast(
        [
            [spawn("one"), spawn("x"), act("cancel", actor_id="general-2"), WAIT],
            lambda request: "Done." if request.all_text.count("<notice") == 2 else WAIT,
            "Done.",
        ],
        one=[[Delay(1.0), Text(report())]],
        x=[],
    )
    chat_house.play(cast)
    answer = chat_house.prompt("Delegate.")
    assert answer.text == "Done.", answer.err
    told = {one["actorID"]: one["notice"] for one in notices(chat_house)}
    assert told == {"general-1": "completed", "general-2": "cancelled"}
    assert_sound(chat_house)


# Budgets of the tree


TREE = {
    "tokens": ({"tree_tokens": 12_000}, "12,000 tokens of all actors together"),
    "cost": ({"tree_cost": 0.02}, "0.02 US dollars of all actors together"),
}


@pytest.mark.parametrize("what", TREE)
def test_a_budget_of_the_tree_stops_all_of_it_with_a_plain_outcome(
    chat_house: Household, what: str
) -> None:
    limits, words = TREE[what]
    chat_house.config["limits"] |= limits

    def busy(request: Request) -> Reply:
        closing = "Use no more tools" in request.all_text
        if "w1: " in request.all_text or "w2: " in request.all_text:
            return reply([Text(report()) if closing else Call("bash", {"command": "true"})])
        if not any(message.role == "assistant" for message in request.messages):
            return reply([spawn("w1"), spawn("w2")])
        return reply([Text("I stop.") if closing else Call("bash", {"command": "sleep 0.2"})])

    chat_house.play(busy)
    answer = chat_house.prompt("Work on and on.")
    assert answer.code == 3, answer.err
    assert words in answer.result["error"]["data"]["message"]
    outcomes = chat_house.rows("SELECT actor_id, outcome, error FROM turn")
    children = [row for row in outcomes if row["actor_id"] != "main"]
    assert {row["outcome"] for row in children} <= {"failure", "cancelled"}  # with main's own end
    assert all(words in row["error"] for row in children if row["outcome"] == "failure")
    assert len(chat_house.model.requests) < 40
    total = answer.result["total"]
    assert total["actors"] in {2, 3}, "the second child may be stopped before it begins"
    chat_house.wait_until_nothing_lives()
    calls = len(chat_house.model.requests)
    time.sleep(0.3)
    assert len(chat_house.model.requests) == calls
    chat_house.play(lambda _: reply([Text("Rested.")]))
    again = chat_house.prompt("Go on.", "--continue")
    assert (again.code, again.text) == (0, "Rested."), again.err


def test_the_time_of_the_tree_is_limited_too(chat_house: Household) -> None:
    chat_house.config["limits"] |= {"tree_seconds": 1}

    def busy(request: Request) -> Reply:
        closing = "Use no more tools" in request.all_text
        if "w1: " in request.all_text:
            return reply([Text(report()) if closing else Call("bash", {"command": "sleep 0.3"})])
        if not any(message.role == "assistant" for message in request.messages):
            return reply([spawn("w1")])
        return reply([Text("I stop.") if closing else Call("bash", {"command": "sleep 0.3"})])

    chat_house.play(busy)
    answer = chat_house.prompt("Work on and on.")
    assert answer.code == 3, answer.err
    assert ": 1 second of all actors together" in answer.result["error"]["data"]["message"]


def test_the_limit_of_cost_of_a_run_holds_for_all_its_actors(chat_house: Household) -> None:
    def busy(request: Request) -> Reply:
        closing = "Use no more tools" in request.all_text
        if "w1: " in request.all_text:
            return reply([Text(report()) if closing else Call("bash", {"command": "true"})])
        if not any(message.role == "assistant" for message in request.messages):
            return reply([run("w1")])
        return reply([Text("I stop.")])

    chat_house.play(busy)
    answer = chat_house.prompt("Work on and on.", "--max-cost", "0.02")
    (child,) = chat_house.rows("SELECT * FROM turn WHERE actor_id = 'general-1'")
    assert child["outcome"] == "failure"
    assert "US dollars" in child["error"]
    assert answer.result["total"]["cost"] < 0.05


def test_a_model_without_a_price_is_refused_where_cost_is_limited(chat_house: Household) -> None:
    models = chat_house.config["provider"]["test"]["models"]
    models["gpt-scripted"] = {"limit": {"context": 100_000, "output": 4_000}}
    model = "test/gpt-scripted"
    cast = Cast(
        [run("x", model=model), "Refused.", run("scout", model=model), "Heard."],
        x=[],
        scout=[report()],
    )
    chat_house.play(cast)
    (state,) = actor_parts(chat_house.prompt("Delegate.", "--max-cost", "1"))
    assert "the price of test/gpt-scripted is not known" in state["error"]
    assert chat_house.rows("SELECT 1 FROM actor WHERE mode = 'subagent'") == []
    assert chat_house.prompt("Delegate.", "--continue").text == "Heard."


def test_what_a_folder_says_cannot_lift_the_limits_of_a_tree(chat_house: Household) -> None:
    chat_house.config["limits"] |= {"tree_tokens": 9_000}
    chat_house.write("roost.json", json.dumps({"limits": {"tree_tokens": 9_000_000}}))

    def busy(request: Request) -> Reply:
        closing = "Use no more tools" in request.all_text
        return reply([Text("I stop.") if closing else Call("bash", {"command": "true"})])

    chat_house.play(busy)
    answer = chat_house.prompt("Work on and on.")
    assert answer.code == 3, answer.err
    assert re.search(r"9,000 tokens", answer.result["error"]["data"]["message"])


# Stops


def _three_generations(house: Household) -> Cast:
    busy = Call("bash", {"command": "touch begun-$RANDOM; sleep 60 & sleep 60"})
    cast = Cast(
        [[spawn("one"), spawn("two"), spawn("three"), WAIT]],
        one=[busy],
        two=[[Text("Thinking "), Stall()]],
        three=[[Barrier("never"), Text(report())]],
    )
    house.play(cast)
    return cast


@pytest.mark.parametrize("cause", ["ctrl-c", "time limit", "terminate"])
def test_a_run_that_is_stopped_stops_all_its_actors_and_their_processes(
    chat_house: Household, cause: str
) -> None:
    house = chat_house
    cast = _three_generations(house)
    limit = ["--time-limit", "4"] if cause == "time limit" else []
    process = begin(house, "Delegate.", *limit)
    house.model.wait_until(lambda: bool(list(house.project.glob("begun-*"))))
    house.model.wait_until(lambda: all(cast.heard[name] for name in ("one", "two", "three")))
    if cause == "ctrl-c":
        process.send_signal(signal.SIGINT)
    elif cause == "terminate":
        process.send_signal(signal.SIGTERM)
    answer = end(process)
    assert answer.code == {"ctrl-c": 130, "time limit": 124, "terminate": 143}[cause]
    house.wait_until_nothing_lives(3)
    assert len(house.model.requests) == 4
    assert house.model.playing == 0
    outcomes = house.rows("SELECT actor_id, outcome, phase FROM turn")
    assert {row["outcome"] for row in outcomes} == {"cancelled"}
    assert {row["phase"] for row in outcomes} == {"ended"}
    assert [one["notice"] for one in notices(house)] == ["cancelled"] * 3
    assert house.rows("SELECT 1 FROM actor WHERE status != 'idle'") == []
    assert_nothing_open(house)
    calls = len(house.model.requests)
    assert_sound(house)  # one more answer: nobody was woken by the news but with that prompt
    assert len(house.model.requests) == calls + 1


@pytest.mark.parametrize("cause", ["ctrl-c", "time limit"])
def test_a_stop_after_mains_own_end_stops_what_it_left_at_work(
    chat_house: Household, cause: str
) -> None:
    house = chat_house
    cast = Cast([spawn("scout"), "It works."], scout=[[Text("Thinking "), Stall()]])
    house.play(cast)
    limit = ["--time-limit", "4"] if cause == "time limit" else []
    process = begin(house, "Delegate.", *limit)
    ended = "SELECT 1 FROM turn WHERE actor_id = 'main' AND outcome = 'success'"
    house.model.wait_until(lambda: bool(cast.heard["scout"] and house.rows(ended)))
    if cause == "ctrl-c":
        process.send_signal(signal.SIGINT)
    answer = end(process)
    assert answer.code == {"ctrl-c": 130, "time limit": 124}[cause]
    assert "other process" not in answer.err + str(answer.result)
    assert [one["notice"] for one in notices(house)] == ["cancelled"]
    assert house.rows("SELECT 1 FROM actor WHERE status != 'idle'") == []
    assert_sound(house)


def test_a_run_ends_only_when_all_its_actors_are_at_rest(chat_house: Household) -> None:
    cast = Cast(
        [spawn("scout"), "It works.", "It has reported."],
        scout=[[Barrier("slow"), Text(report())]],
    )
    chat_house.play(cast)
    process = begin(chat_house, "Delegate.")
    chat_house.model.wait_until(lambda: len(cast.heard["main"]) == 2)
    chat_house.model.wait_for_barrier("slow")
    time.sleep(1)
    assert process.poll() is None
    chat_house.model.release("slow")
    answer = end(process)
    assert (answer.code, answer.text) == (0, "It has reported."), answer.err


def test_a_run_whose_own_turn_fails_leaves_nobody_at_work(chat_house: Household) -> None:
    refusal = json.dumps({"error": {"message": "no", "type": "invalid_request_error"}})
    cast = Cast([spawn("scout"), Status(400, {}, refusal)], scout=[[Stall()]])
    chat_house.play(cast)
    answer = chat_house.prompt("Delegate.")
    assert (answer.code, answer.result["outcome"]) == (1, "failure")
    chat_house.wait_until_nothing_lives()
    assert [one["notice"] for one in notices(chat_house)] == ["cancelled"]
    assert len(cast.heard["main"]) == 2  # the news of the stop woke nobody
    assert_sound(chat_house)


def test_a_cancel_reaches_its_child_and_spares_the_others(house: Household) -> None:
    busy = Call("bash", {"command": "touch begun; sleep 60 & sleep 60"})

    cast = Cast(
        [
            [spawn("one"), spawn("two")],
            Call("bash", {"command": "until [ -e begun ]; do sleep 0.05; done"}),
            [act("cancel", actor_id="general-1", mode="forced"), WAIT],
            lambda request: "Done." if request.all_text.count("<notice") == 2 else WAIT,
            "Done.",
        ],
        one=[busy],
        two=[[Delay(2.5), Text(report())]],
    )
    house.play(cast)
    answer = house.prompt("Delegate.")
    assert answer.text == "Done.", answer.err
    told = {one["actorID"]: one["notice"] for one in notices(house)}
    assert told == {"general-1": "cancelled", "general-2": "completed"}
    assert "general-1 has stopped." in actor_parts(answer)[2]["output"]
    assert len(cast.heard["one"]) == 1
    assert_sound(house)


def test_a_graceful_cancel_lets_the_child_report_in_one_last_step(chat_house: Household) -> None:
    cast = Cast(
        [
            spawn("one"),
            Call("bash", {"command": "until [ -e begun ]; do sleep 0.05; done"}),
            [act("cancel", actor_id="general-1"), WAIT],
            "Done.",
        ],
        one=[Call("bash", {"command": "touch begun; sleep 0.5"}), "Half is done, the rest not."],
    )
    chat_house.play(cast)
    answer = chat_house.prompt("Delegate.")
    assert answer.text == "Done.", answer.err
    (notice,) = notices(chat_house)
    assert (notice["notice"], notice["result"]) == ("cancelled", "Half is done, the rest not.")
    assert "Partial result: Half is done, the rest not." in cast.heard["main"][-1].all_text
    assert "You were asked to stop. Use no more tools." in cast.heard["one"][-1].all_text


def test_a_cancel_of_one_that_has_ended_changes_nothing(chat_house: Household) -> None:
    cancel = act("cancel", actor_id="general-1")
    cast = Cast([[spawn("one"), WAIT], [cancel, cancel], "Done."], one=[report()])
    chat_house.play(cast)
    answer = chat_house.prompt("Delegate.")
    outputs = [one["output"] for one in actor_parts(answer)[2:]]
    assert all("general-1 was not at work; nothing is changed." in one for one in outputs)
    assert len(notices(chat_house)) == 1


def test_a_child_that_was_stopped_goes_on_when_its_parent_asks(chat_house: Household) -> None:
    cast = Cast(
        [
            spawn("one"),
            Call("bash", {"command": "until [ -e begun ]; do sleep 0.05; done"}),
            [act("cancel", actor_id="general-1", mode="forced"), WAIT],
            [act("send", to_actor_id="general-1", content="Go on after all."), WAIT],
            "Done.",
        ],
        one=[Call("bash", {"command": "touch begun; sleep 60"}), report(summary="after all")],
    )
    chat_house.play(cast)
    answer = chat_house.prompt("Delegate.")
    assert answer.text == "Done.", answer.err
    assert [one["notice"] for one in notices(chat_house)] == ["cancelled", "completed"]
    assert "after all" in cast.news("main")
    assert_sound(chat_house)
