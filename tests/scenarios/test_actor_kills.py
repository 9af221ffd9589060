"""A kill -9 while actors work, at every write of their lives: after a restart each result reaches
its parent once, children go on, and no process is left.
"""

import re
import signal
import time
from typing import Any

import pytest
from cast import WAIT, act, report, run, spawn
from household import Answer, Household
from invariants import assert_rows_are_sound, assert_sound

from scripted_model.picture import Request
from scripted_model.scenario import Call, Reply, Said, Text, reply

pytestmark = pytest.mark.scenario
RESUMES = 3
POINTS = [
    "spawn.before",
    "spawn.registered",
    "spawn.briefed",
    "spawn.before:2",
    "spawn.registered:2",
    "spawn.briefed:2",
    "spawn.briefed:3",
    "send.inserted:2",
    "claim.before:2",
    "claim.end:2",
    "claim.end:3",
    "drain.before:2",
    "drain.marked:2",
    "drain.committed:2",
    "step.begin:2",
    "tool.running",
    "tool.running:3",
    "tool.done",
    "tool.done:3",
    "apply.stored:2",
    "apply.committed:2",
    "settle.before",
    "settle.outcome",
    "settle.noticed",
    "settle.noticed:2",
    "settle.noticed:3",
    "settle.written",
    "settle.written:2",
    "settle.written:3",
    "finalize.before",
    "wait.begun",
    "wait.over",
    "consume.marked",
    "cancel.before",
    "cancel.written",
]
COMMITS = [f"commit.{side}:{nth}" for nth in range(8, 60, 6) for side in ("before", "after")]
"""Whatever a write is called, somebody may be killed on either side of it."""
JOURNAL = "test -e said || { touch said; echo 'Add a line on your sources.' >&2; exit 2; }"


def play(request: Request) -> Reply:
    """Main spawns a and b, sleeps until mail comes, runs c, starts d and stops it, and ends."""
    name = re.match(r"([a-d]): ", request.user_texts[0])
    steps = sum(message.role == "assistant" for message in request.messages)
    return reply(_child(name[1], request, steps) if name else _main(request, steps))


def _main(request: Request, steps: int) -> Said:
    last = re.findall(r"actor_id: (general-\d+)", request.all_text)
    line: dict[int, Said] = {
        0: [spawn("a"), spawn("b")],
        1: WAIT,
        2: run("c"),
        3: spawn("d"),
        4: act("cancel", actor_id=last[-1], mode="forced") if last else "ok",
    }
    return line.get(steps, "ok")


def _child(name: str, request: Request, steps: int) -> Said:
    if steps and "sources" in request.last_user_text:
        return "No sources."
    if "process that ran you stopped" in request.all_text or request.results:
        return report(text=f"This is what {name} found.")
    command = "sleep 60" if name == "d" else f"echo ran >> {name}.txt"
    return [Text("Let me see."), Call("bash", {"command": command})]


@pytest.fixture
def house(chat_house: Household) -> Household:
    chat_house.config["hook"] = {
        "journal": {"on": "actor.post_stop", "command": JOURNAL, "matcher": {"agent": ["general"]}}
    }
    chat_house.play(play)
    return chat_house


def killed(house: Household, point: str, *arguments: str) -> None:
    """A run that dies at `point`."""
    given = arguments or ("Delegate.",)
    done = house.run("run", "--yes", *given, ROOST_FAILPOINT=f"{point}=kill")
    assert done.returncode == -signal.SIGKILL, (done.stdout, done.stderr)


def assert_everybody_was_heard(house: Household, answer: Answer) -> None:
    """Every actor is at rest, and what each child found stands once in what main knows."""
    assert (answer.code, answer.text) == (0, "ok"), answer.err
    assert {row["status"] for row in house.rows("SELECT status FROM actor")} == {"idle"}
    assert house.rows("SELECT 1 FROM inbox WHERE state = 'queued' AND wake = 1") == []
    assert house.rows("SELECT 1 FROM inbox WHERE kind = 'notice' AND state != 'delivered'") == []
    assert all(row["resumed"] <= RESUMES for row in house.rows("SELECT resumed FROM actor"))
    for name in "abcd":
        ran = house.project / f"{name}.txt"
        assert not ran.exists() or ran.read_text() == "ran\n", "what ran is not run again"
        if found := _outcomes(house, name):
            in_the_end = found[-1]
            assert in_the_end == "success" or name in "cd", (name, found)
            heard = _known_to_main(house).count(f"This is what {name} found.")
            assert heard == 1 or (heard == 0 and "success" not in found), (name, found)


def _outcomes(house: Household, name: str) -> list[Any]:
    rows = house.rows(
        "SELECT t.outcome FROM turn t JOIN actor a"
        " ON a.session_id = t.session_id AND a.actor_id = t.actor_id"
        " WHERE a.description = ? ORDER BY t.number",
        f"The work of {name}",
    )
    return [row["outcome"] for row in rows]


def _known_to_main(house: Household) -> str:
    mine = [one.request for one in house.model.requests]
    return next(
        one.all_text for one in reversed(mine) if not re.match("[a-d]: ", one.user_texts[0])
    )


@pytest.mark.parametrize("point", POINTS + COMMITS)
def test_after_a_kill_anywhere_each_result_reaches_its_parent_once(
    house: Household, point: str
) -> None:
    killed(house, point)
    house.wait_until_nothing_lives()
    assert_rows_are_sound(house)
    assert_everybody_was_heard(house, house.prompt("go on", "--continue"))
    assert_sound(house)


@pytest.mark.parametrize("point", ["settle.outcome", "settle.noticed"])
def test_kills_in_a_row_double_nothing(house: Household, point: str) -> None:
    killed(house, point)
    killed(house, "recover.told", "--continue", "go on")
    killed(house, "recover.actor", "--continue", "go on")
    assert_everybody_was_heard(house, house.prompt("go on", "--continue"))
    assert_sound(house)


def test_a_kill_while_a_run_gives_up_waiting_loses_nothing(house: Household) -> None:
    def impatient(request: Request) -> Reply:
        if request.user_texts[0].startswith("c: "):
            return reply(_child("c", request, len(request.messages) - 1))
        begun = any(message.role == "assistant" for message in request.messages)
        return reply("ok" if begun else run("c", timeout_ms=200))

    def slow(request: Request) -> Reply:
        if request.user_texts[0].startswith("c: "):
            time.sleep(1)
        return impatient(request)

    house.play(slow)
    killed(house, "detach.written")
    house.play(impatient)
    assert_everybody_was_heard(house, house.prompt("go on", "--continue"))
    assert_sound(house)


def test_where_the_configuration_says_so_children_are_left_as_they_were(house: Household) -> None:
    house.config["actors"] = {"recovery": "fail"}
    killed(house, "settle.outcome")
    answer = house.prompt("go on", "--continue")
    assert (answer.code, answer.text) == (0, "ok"), answer.err
    rows = house.rows("SELECT outcome FROM turn WHERE outcome = 'interrupted'")
    assert rows
    assert house.rows("SELECT 1 FROM actor WHERE resumed > 0") == []
    assert "It was left as it is" in _known_to_main(house)
    assert_sound(house)


def test_a_child_whose_process_dies_again_and_again_is_left_in_the_end(house: Household) -> None:
    def dying(request: Request) -> Reply:
        if not request.user_texts[0].startswith("a: "):
            told = "It was left as it is" in request.all_text
            begun = any(message.role == "assistant" for message in request.messages)
            return reply("ok" if told else "I am waiting." if begun else spawn("a"))
        return reply([Text("Let me see."), Call("bash", {"command": "true"})])

    house.play(dying)
    killed(house, "tool.running:2")
    for _ in range(RESUMES):
        killed(house, "tool.running", "--continue", "go on")
    answer = house.prompt("go on", "--continue")
    assert answer.code == 0, answer.err
    assert answer.text.endswith("ok")
    assert _outcomes(house, "a") == ["interrupted"] * (RESUMES + 1)
    assert_sound(house)
