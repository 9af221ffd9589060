"""Goals from the command line, in every dialect, through kills and stops."""

import json
import signal
from collections import Counter
from typing import Any

import pytest
from cast import end
from court import GAP, IMPOSSIBLE, MET, Court
from household import Household
from invariants import assert_rows_are_sound, assert_sound

from scripted_model.picture import Request
from scripted_model.scenario import Barrier, Call, Reply, Status, Text, reply

pytestmark = pytest.mark.scenario


def goal_row(house: Household) -> dict[str, Any]:
    return dict(house.rows("SELECT * FROM goal ORDER BY number DESC LIMIT 1")[0])


def verdicts(house: Household) -> list[str]:
    rows = house.rows("SELECT result FROM goal_verdict ORDER BY created, number")
    return [row["result"] for row in rows]


def test_a_run_goes_on_until_its_goal_is_met(house: Household) -> None:
    court = Court([Call("bash", {"command": "echo 5 passed"}), "Done.", "Done again."], [GAP, MET])
    house.play(court)
    answer = house.prompt("fix it", "--goal", "the tests pass")
    assert (answer.code, answer.text) == (0, "Done again."), answer.err
    told = [line for line in answer.lines if line["type"] == "goal"]
    results = [line["verdict"] and line["verdict"]["result"] for line in told]
    assert results == [None, "gap", "met"]
    result = answer.result
    assert (result["outcome"], result["goal"]["state"]) == ("success", "met")
    steps = sum(line["part"]["cost"] for line in answer.lines if line["type"] == "step_finish")
    judged = sum(line["verdict"]["cost"] for line in told if line["verdict"])
    assert judged > 0
    assert result["cost"] == pytest.approx(steps + judged)
    assert result["total"]["cost"] == pytest.approx(steps + judged)
    assert (result["total"]["steps"], result["usage"]["steps"]) == (3, 3)
    assert "$ echo 5 passed\nexit code 0:\n| 5 passed" in court.records()[0]
    assert_sound(house)


def test_people_read_how_the_goal_stands_beside_the_answer(chat_house: Household) -> None:
    chat_house.play(Court(["Done.", "Done again."], [GAP, MET]))
    done = chat_house.run("run", "--goal", "the tests pass", "fix it")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "Done.\n\nDone again.\n"
    assert [line for line in done.stderr.splitlines() if line.startswith("goal")] == [
        "goal: the tests pass",
        "goal: not met yet (1 of 12) - no test was run",
        "goal: met - 5 tests passed",
    ]


ENDS: dict[str, tuple[list[Any], dict[str, Any], list[str], int, str]] = {
    "met": ([MET], {}, [], 0, "met"),
    "impossible": ([IMPOSSIBLE], {}, [], 1, "impossible"),
    "no verdict": ([Status(400)], {}, [], 1, "paused"),
    "used up": ([GAP], {"goal": {"reentries": 1}}, [], 3, "paused"),
    "no money": ([], {}, ["--max-cost", "0.001"], 3, "paused"),
    "no steps": ([GAP], {}, ["--max-steps", "1"], 3, "active"),
}


@pytest.mark.parametrize("how", ENDS)
def test_the_exit_code_says_what_became_of_the_goal(chat_house: Household, how: str) -> None:
    judge, config, options, code, state = ENDS[how]
    chat_house.config |= config
    court = Court(["Done."], judge, endless=bool(judge))
    chat_house.play(court)
    answer = chat_house.prompt("fix it", "--goal", "the tests pass", *options)
    assert (answer.code, answer.result["exit"]) == (code, code), answer.err
    assert answer.result["goal"]["state"] == state == goal_row(chat_house)["state"]
    assert answer.result["outcome"] == ("success" if code == 0 else "failure")
    assert (answer.result["error"] is None) == (code == 0)
    assert chat_house.model.violations == []


@pytest.mark.parametrize("way", ["/goal the tests pass", "  /goal\nthe tests pass\n"])
def test_a_prompt_may_be_the_command(chat_house: Household, way: str) -> None:
    court = Court(["Done."], [MET])
    chat_house.play(court)
    answer = chat_house.prompt(way)
    assert answer.code == 0, answer.err
    assert answer.result["goal"]["condition"] == "the tests pass"
    assert court.told(0).startswith("the tests pass\n\n<system-reminder>")


def test_a_goal_alone_is_the_prompt_too(chat_house: Household) -> None:
    court = Court(["Done."], [MET])
    chat_house.play(court)
    done = chat_house.run("run", "--goal", "the tests pass")
    assert done.returncode == 0, done.stderr
    assert court.told(0).startswith("the tests pass\n")


WRONG = {
    "two goals": ["--goal", "one", "/goal two"],
    "an empty one": ["--goal", " ", "go"],
    "too long": ["--goal", "x" * 9_000, "go"],
    "nothing to clear": ["/goal clear"],
    "nothing to go on with": ["/goal resume"],
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_cannot_be_meant_is_refused_and_leaves_nothing(
    chat_house: Household, wrong: str
) -> None:
    chat_house.play(Court([], []))
    done = chat_house.run("run", *WRONG[wrong])
    assert done.returncode == 2, (done.stdout, done.stderr)
    assert done.stderr.startswith("error: ")
    assert chat_house.model.requests == []
    if chat_house.rows_exist():
        assert chat_house.rows("SELECT id FROM session") == []


def test_the_command_shows_sets_clears_and_goes_on(chat_house: Household) -> None:
    house = chat_house
    court = Court(["Done."] * 4, [GAP, GAP, IMPOSSIBLE, MET])
    house.config["goal"] = {"reentries": 1}
    house.play(court)
    assert house.prompt("go", "--goal", "the tests pass").code == 3
    shown = house.run("goal")
    assert shown.stdout.startswith("the tests pass\npaused - not reached after 1 time of"), shown
    assert shown.stdout.count("gap: no test was run  test/scripted, ") == 2
    assert house.run("goal", "resume").returncode == 1
    assert "Go on with the goal of this session: the tests pass" in court.told()
    resumed = house.run("goal", "resume", "--format", "json")
    assert resumed.returncode == 0, resumed.stderr
    assert json.loads(resumed.stdout.splitlines()[-1])["goal"]["state"] == "met"
    again = house.run("goal", "resume")
    assert (again.returncode, "is met" in again.stderr) == (1, True)
    session = house.rows("SELECT id FROM session")[0]["id"]
    assert house.run("goal", "set", "-s", session, "it", "is", "documented").returncode == 0
    view = json.loads(house.run("goal", "show", "--json").stdout)
    assert (view["goal"]["condition"], view["goal"]["state"]) == ("it is documented", "active")
    assert view["verdicts"] == []
    assert house.run("run", "-c", "/goal clear").stdout == "cleared: it is documented\n"
    assert house.run("goal", "clear").stdout == "This session has no goal.\n"
    assert house.run("goal").stdout == "it is documented\ncleared\n"
    assert house.run("goal", "set", " ").returncode == 2
    assert len(house.rows("SELECT id FROM goal")) == 3
    assert house.model.violations == []


# Kills


def persistent(request: Request) -> Reply:
    """The agent is always done; the judge misses something once, as long as it is told of that."""
    if request.tool_names:
        return reply("Done.")
    missed = "no test was run" in request.last_user_text.partition("## Evidence")[0]
    return reply(MET if missed else GAP)


KILLS = [
    "goal.replaced",
    "step.stored",
    "step.stored:2",
    "goal.asking",
    "goal.judged",
    "goal.judged:2",
    "goal.verdict",
    "goal.verdict:2",
    "goal.ruled",
    "goal.ruled:2",
    "inject.sent",
    "apply.committed",
    "apply.committed:2",
    "settle.before",
    "settle.written",
]


@pytest.mark.parametrize("point", KILLS)
def test_a_kill_loses_no_verdict_doubles_none_and_keeps_the_goal(
    chat_house: Household, point: str
) -> None:
    house = chat_house
    house.play(persistent)
    killed = house.run("run", "--goal", "the tests pass", "Do it.", ROOST_FAILPOINT=f"{point}=kill")
    assert killed.returncode == -signal.SIGKILL, (killed.stdout, killed.stderr)
    goals = house.rows("SELECT * FROM goal")
    over = point == "apply.committed:2"
    if point == "goal.replaced":
        assert goals == []
    else:
        (goal,) = goals
        assert goal["state"] == ("met" if over else "active")
        assert goal["reentries"] == Counter(verdicts(house))["gap"]
    more = ["--continue"] if goals else ["--goal", "the tests pass"]
    answer = house.prompt("go on", *more)
    assert (answer.code, answer.text) == (0, "Done."), answer.err
    assert goal_row(house)["state"] == "met"
    assert verdicts(house) == ["gap", "met"]
    mail = house.rows("SELECT key, state FROM inbox WHERE key LIKE 'goal:%'")
    ids = house.rows("SELECT id FROM goal_verdict WHERE result = 'gap'")
    assert [row["key"] for row in mail] == [f"goal:{row['id']}" for row in ids]
    assert {row["state"] for row in mail} == {"delivered"}
    said = house.rows("SELECT data FROM message WHERE role = 'assistant' ORDER BY seq")
    assert all(json.loads(row["data"]).get("error") is None for row in said[:-1] if over)
    assert_rows_are_sound(house)
    assert_sound(house, ping=False)


def test_an_answer_that_was_being_judged_survives_the_kill_as_it_was(chat_house: Household) -> None:
    house = chat_house
    house.play(persistent)
    house.run("run", "--goal", "x", "Do it.", ROOST_FAILPOINT="goal.asking=kill")
    (row,) = house.rows("SELECT data, is_open FROM message WHERE role = 'assistant'")
    info = json.loads(row["data"])
    assert (row["is_open"], info["finish"], info.get("error")) == (0, "stop", None)
    assert house.rows("SELECT steps FROM turn")[0]["steps"] == 1


# Stops, and other processes


def judging() -> list[Any]:
    return [Text('{"verdict": "met", '), Barrier("judge"), Text('"reason": "x"}')]


def test_an_interrupt_while_it_is_judged_keeps_answer_and_goal(house: Household) -> None:
    house.play(Court(["Done.", "Done again."], [judging(), MET]))
    process = house.start("run", "--format", "json", "--goal", "the tests pass", "go")
    house.model.wait_for_barrier("judge")
    process.send_signal(signal.SIGINT)
    answer = end(process)
    assert (answer.code, answer.text) == (130, "Done."), answer.err
    assert (goal_row(house)["state"], verdicts(house)) == ("active", [])
    house.model.release("judge")
    again = house.prompt("go on", "--continue")
    assert (again.code, again.result["goal"]["state"]) == (0, "met")
    assert_sound(house)


def test_a_prompt_from_another_process_goes_before_the_judge_and_reads_its_verdict(
    chat_house: Household,
) -> None:
    house = chat_house
    house.play(Court(["Done.", "And documented."], [judging(), MET]))
    first = house.start("run", "--format", "json", "--goal", "the tests pass", "go")
    house.model.wait_for_barrier("judge")
    second = house.run("run", "--continue", "and document it")
    assert second.returncode == 0, second.stderr
    assert "And documented." in second.stdout
    assert "goal: met - 5 tests passed" in second.stderr
    answer = end(first)
    assert (answer.code, answer.text) == (0, "And documented."), answer.err
    assert Counter(verdicts(house)) == {"dropped": 1, "met": 1}
    assert_sound(house, ping=False)


def test_a_format_and_a_goal_go_together(house: Household) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    house.write("schema.json", json.dumps(schema))
    house.play(Court([Call("structured_output", {"n": n}) for n in (1, 2)], [GAP, MET]))
    done = house.run("run", "--goal", "n is even", "--schema", "schema.json", "count")
    assert (done.returncode, done.stdout) == (0, '{"n":2}\n'), done.stderr
    assert_sound(house, ping=False)
