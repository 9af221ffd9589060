"""A turn that works and gets nowhere: when it is stopped, what is told, and when it must not be."""

import json
import signal
from typing import Any

import pytest
from household import Answer, Household
from invariants import assert_rows_are_sound

from scripted_model.picture import Request
from scripted_model.scenario import ALWAYS, Call, Reply, reply, scenario, step

pytestmark = pytest.mark.scenario
TEST = "sh test.sh"


def bash(command: str) -> Call:
    return Call("bash", {"command": command})


def edit(old: str, new: str) -> Call:
    return Call("edit", {"filePath": "code.py", "oldString": old, "newString": new})


def write(name: str, text: str) -> Call:
    return Call("write", {"filePath": name, "content": text})


def play(house: Household, *lines: Any) -> Answer:
    """Play the lines, a step each, and an answer behind them."""
    house.play(scenario(*lines, step("Done.", times=ALWAYS)))
    return house.prompt("make the test pass")


def failing(house: Household) -> None:
    house.write("test.sh", "echo 'AssertionError: 1 != 2'; exit 1\n")


def no_progress(times: int) -> list[Call]:
    """Another edit and the same test, so that no two rounds are alike."""
    return [one for at in range(times) for one in (write(f"n{at}.py", f"x = {at}\n"), bash(TEST))]


def error_of(answer: Answer) -> dict[str, Any]:
    assert answer.code == 1, (answer.err, answer.lines[-3:])
    error = answer.result["error"]
    assert error["name"] == "StuckError"
    return error["data"]


def test_a_test_that_fails_the_same_way_whatever_is_edited_pauses_the_turn(
    house: Household,
) -> None:
    failing(house)
    answer = play(house, *no_progress(9))
    data = error_of(answer)
    assert (data["reason"], data["needsPerson"], data["evidence"]["count"]) == (
        *("bash_retry", True),
        6,
    )
    assert data["evidence"]["command"] == TEST
    assert data["evidence"]["error"] == "AssertionError: 1 != 2"
    assert len(answer.tools()) == 12
    (row,) = house.rows("SELECT outcome, error FROM turn")
    assert row["outcome"] == "failure"
    assert json.loads(row["error"])["data"] == data
    assert [choice["id"] for choice in data["choices"]][:: len(data["choices"]) - 1] == [
        "another_way",
        "go_on",
    ]
    house.play(scenario(bash(TEST), "It was the other file."))
    again = house.prompt(data["choices"][0]["prompt"], "--continue")
    assert (again.code, again.text) == (0, "It was the other file."), again.err
    assert_rows_are_sound(house)


def test_an_edit_that_goes_back_and_forth_pauses_the_turn(chat_house: Household) -> None:
    house = chat_house
    house.write("code.py", "def f():\n    return 1\n")
    there, back = edit("return 1", "return 2"), edit("return 2", "return 1")
    looks = [bash(f"echo look {at}") for at in range(9)]
    lines = [
        Call("read", {"filePath": "code.py"}),
        *[one for at in range(6) for one in ((there, back)[at % 2], looks[at])],
    ]
    data = error_of(play(house, *lines))
    assert (data["reason"], data["evidence"]["count"]) == ("edit_repeat", 3)
    assert data["evidence"]["path"].endswith("code.py")
    assert "return 2" in data["evidence"]["error"]


def test_steps_that_bring_nothing_new_pause_the_turn(chat_house: Household) -> None:
    house = chat_house
    for name in "abcdefg":
        house.write(name, f"{name}\n")
    order = "abcdefg" + "gfaecbdafdgceb"
    lines = [Call("read", {"filePath": name}) for name in order]
    data = error_of(play(house, *lines))
    assert (data["reason"], data["evidence"]["count"]) == ("action_streak", 10)


def test_people_read_what_was_tried_and_what_they_can_do(chat_house: Household) -> None:
    house = chat_house
    failing(house)
    programs = house.folder / "bin"
    programs.mkdir()
    for name in ("claude", "gemini"):
        (programs / name).write_text("#!/bin/sh\ntouch ran\n")
        (programs / name).chmod(0o755)
    house.environment["PATH"] = f"{programs}:/usr/bin:/bin"
    house.play(scenario(*no_progress(6), step("Done.", times=ALWAYS)))
    run = house.run("run", "--yes", "make the test's output right")
    assert run.returncode == 1
    assert "waits for a person: `sh test.sh` failed 6 times" in run.stderr
    assert "AssertionError: 1 != 2" in run.stderr
    hand_over = [line for line in run.stderr.splitlines() if "Hand over to" in line]
    assert len(hand_over) == 2
    start = f"cd {house.project} && claude "
    assert f"{start}'The task: \"make the test" in hand_over[0]
    assert not (house.project / "ran").exists()


@pytest.mark.parametrize("mode", ["off", "continue"])
def test_the_configuration_says_what_becomes_of_it(chat_house: Household, mode: str) -> None:
    house = chat_house
    failing(house)
    house.config["try_best"] = mode
    answer = play(house, *no_progress(26))
    assert (answer.code, answer.text, len(answer.tools())) == (0, "Done.", 52), answer.err
    (row,) = house.rows("SELECT budgets FROM turn")
    used = json.loads(row["budgets"])["used"].get("try_best", 0)
    reminders = house.rows("SELECT body FROM inbox WHERE kind = 'system' ORDER BY seq")
    said = [json.loads(row["body"])["text"] for row in reminders]
    if mode == "off":
        assert (used, said) == (0, [])
    else:
        assert (used, len(said)) == (3, 3)
        assert all("You are getting nowhere: `sh test.sh` failed 6 times" in one for one in said)


def test_what_was_reminded_of_survives_a_kill(chat_house: Household) -> None:
    house = chat_house
    failing(house)
    house.config["try_best"] = "continue"

    def counting(request: Request) -> Reply:
        at = sum(message.role == "assistant" for message in request.messages)
        lines = no_progress(30)
        return reply(lines[at] if at < len(lines) else "Done.")

    house.play(counting)
    killed = house.run("run", "--yes", "go", ROOST_FAILPOINT="inject.sent:2=kill")
    assert killed.returncode == -signal.SIGKILL
    (row,) = house.rows("SELECT budgets FROM turn")
    assert json.loads(row["budgets"])["used"]["try_best"] == 1


HONEST: dict[str, list[Any]] = {
    "a test that fails in another way each time": [
        one
        for at in range(12)
        for one in (write("n", f"{at}\n"), bash("cat n; echo FAILED test_$(cat n); exit 1"))
    ],
    "a test of which fewer fail each time": [
        one
        for at in range(12)
        for one in (write("n", f"{12 - at}\n"), bash("echo $(cat n) failed; exit 1"))
    ],
    "one edit in many places": [
        Call(
            "write", {"filePath": "code.py", "content": "\n".join(f"x{a} = f()" for a in range(9))}
        ),
        *[edit(f"x{at} = f()", f"x{at} = g()") for at in range(9)],
    ],
    "an edit that is taken back once": [
        write("code.py", "a = 1\n"),
        edit("a = 1", "a = 2"),
        bash("echo measured 1"),
        edit("a = 2", "a = 1"),
        bash("echo measured 2"),
        edit("a = 1", "a = 2"),
    ],
    "files that are read once more before the end": [
        *[write(name, f"{name}\n") for name in "abcdefgh"],
        *[Call("read", {"filePath": name}) for name in "abcdefgh"],
        *[Call("read", {"filePath": name}) for name in "abcdefgh"],
    ],
    "the same test that passes after each edit": [
        one for at in range(14) for one in (write(f"n{at}", f"{at}\n"), bash("echo 5 passed"))
    ],
    "searches that find nothing": [
        Call("grep", {"pattern": f"no_such_thing_{at}"}) for at in range(16)
    ],
}


@pytest.mark.parametrize("work", HONEST)
def test_honest_work_is_left_alone(chat_house: Household, work: str) -> None:
    answer = play(chat_house, *HONEST[work])
    assert (answer.code, answer.text) == (0, "Done."), answer.result["error"]
    assert len(answer.tools()) == len(HONEST[work])
