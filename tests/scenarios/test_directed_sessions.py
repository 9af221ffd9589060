"""A session directs others: they work apart, report once, and ask the one that directs them."""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from cast import Cast, Line, begin, notices
from household import Household
from invariants import assert_sound

from scripted_model.scenario import Barrier, Call, Delay, Text

pytestmark = pytest.mark.scenario
ORCHESTRATE = ("--agent", "orchestrator")


def session(action: str, **more: Any) -> Call:
    """One call of the tool `session`."""
    return Call("session", {"operation": {"action": action, **more}})


def create(name: str, **more: Any) -> Call:
    return session("create", task=f"{name}: do your part.", title=f"Part {name}", **more)


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=n", "-c", "user.email=e")
    command = ["git", "-C", str(folder), *identity, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def repository(chat_house: Household) -> Household:
    git(chat_house.project, "init", "-q", "-b", "main")
    chat_house.write("a.txt", "one\n")
    git(chat_house.project, "add", "-A")
    git(chat_house.project, "commit", "-qm", "first")
    return chat_house


def peers_of(house: Household) -> dict[str, str]:
    """The ids of the directed sessions by title."""
    rows = house.rows("SELECT id, title FROM session WHERE parent_id IS NOT NULL")
    return {row["title"]: row["id"] for row in rows}


def named(house: Household, *names: str) -> list[str]:
    known = peers_of(house)
    return [known[f"Part {name}"] for name in names]


def parts(answer: Any) -> list[dict[str, Any]]:
    """The states of the calls of `session`, in order."""
    return [part["state"] for part in answer.tools() if part["tool"] == "session"]


def play(house: Household, main: Sequence[Line], **children: Sequence[Line]) -> Cast:
    cast = Cast(main, **children)
    house.play(cast)
    return cast


def test_two_isolated_sessions_work_apart_and_join_tells_what_came_of_both(
    repository: Household,
) -> None:
    house = repository
    commit = "git -c user.name=n -c user.email=e commit -qam work && pwd"
    cast = play(
        house,
        [
            [create("red", isolate=True), create("blue", isolate=True)],
            lambda _: session("join", session_ids=[*named(house, "red", "blue"), "ses_nobody"]),
            "Both are done.",
        ],
        red=[
            Call("write", {"filePath": "red.txt", "content": "r"}),
            [Delay(1.0), Text("Red is written.")],
        ],
        blue=[
            [
                Call("edit", {"filePath": "a.txt", "oldString": "one", "newString": "two"}),
                Call("bash", {"command": commit}),
            ],
            [Delay(1.0), Text("Blue is committed.")],
        ],
    )
    answer = house.prompt("Direct.", *ORCHESTRATE)
    assert (answer.code, answer.text) == (0, "Both are done."), answer.err
    joined = parts(answer)[2]["output"]
    assert "All of them are at rest." in joined
    assert "Red is written." in joined
    assert "Blue is committed." in joined
    assert "No sessions of yours: ses_nobody." in joined
    # Each result is told once: by the answer of `join` and not by a notice as well.
    assert [(one["state"], one["heard_as"]) for one in notices(house)] == [
        ("delivered", "assistant")
    ] * 2
    assert "notice" not in cast.news("main")
    trees = house.home / "data" / "worktrees"
    (project,) = trees.iterdir()
    assert (project / "part-red" / "red.txt").read_text() == "r"
    assert (project / "part-blue" / "a.txt").read_text() == "two\n"
    assert not (house.project / "red.txt").exists()
    assert (house.project / "a.txt").read_text() == "one\n"
    ids = house.rows("SELECT DISTINCT project_id FROM session")
    assert len(ids) == 1
    assert_sound(house)


def test_a_notice_wakes_the_one_that_directs_and_comes_once(repository: Household) -> None:
    house = repository
    wait = Call("actor", {"operation": {"action": "wait", "timeout_ms": 20_000}})
    cast = play(house, [[create("red"), wait], "Heard."], red=["Red is done."])
    answer = house.prompt("Direct.", *ORCHESTRATE)
    assert (answer.code, answer.text) == (0, "Heard."), answer.err
    assert cast.news("main").count("<notice") == 1
    assert "Red is done." in cast.news("main")
    (notice,) = notices(house)
    assert notice["actorID"] == notice["sessionID"] == named(house, "red")[0]


def test_a_directed_session_is_prompted_read_and_shown_like_any_other(
    repository: Household,
) -> None:
    house = repository
    play(
        house,
        [create("red"), lambda _: session("join", session_ids=named(house, "red")), "Done."],
        red=["First.", "Second."],
    )
    house.prompt("Direct.", *ORCHESTRATE)
    (red,) = named(house, "red")
    house.play(Cast(["Second."]))
    answer = house.prompt("And now?", "-s", red)
    assert (answer.code, answer.text) == (0, "Second."), answer.err
    assert answer.result["actor"] == red
    shown = house.run("sessions", "show", red).stdout
    assert "do your part" in shown
    assert "Second." in shown
    infos = [json.loads(row["data"]) for row in house.rows("SELECT data FROM message")]
    mine = [info for info in infos if info["sessionID"] == red]
    assert len(mine) == 4
    assert not any("agentID" in info for info in mine)
    # Its head hears of the turn with its next one; it is not woken by what was said to others.
    told = house.rows("SELECT state, wake FROM inbox WHERE kind = 'notice' ORDER BY seq")
    assert [(row["state"], row["wake"]) for row in told] == [("delivered", 1), ("queued", 0)]
    assert_sound(house)


def test_a_second_task_of_a_topic_goes_to_the_session_that_has_it(repository: Household) -> None:
    house = repository
    play(
        house,
        [
            create("red", topic="The Parser!"),
            lambda _: session("join", session_ids=named(house, "red")),
            session("create", task="red: once more.", topic="the  parser"),
            lambda _: session("join", session_ids=named(house, "red")),
            "Done.",
        ],
        red=["First.", "Second."],
    )
    answer = house.prompt("Direct.", *ORCHESTRATE)
    assert (answer.code, answer.text) == (0, "Done."), answer.err
    states = parts(answer)
    assert states[2]["metadata"]["new"] is False
    assert "Second." in states[3]["output"]
    assert len(peers_of(house)) == 1
    assert house.rows("SELECT topic FROM peer")[0]["topic"] == "the-parser"


def test_two_orders_of_one_topic_in_one_step_make_one_session(repository: Household) -> None:
    house = repository
    order = {"topic": "same", "isolate": True}
    play(
        house,
        [
            [create("red", **order), create("red", **order)],
            lambda _: session("join", session_ids=list(peers_of(house).values())),
            "Done.",
        ],
        red=["First.", "Second."],
    )
    answer = house.prompt("Direct.", *ORCHESTRATE)
    assert answer.code == 0, answer.err
    assert len(peers_of(house)) == 1
    (project,) = (house.home / "data" / "worktrees").iterdir()
    assert [tree.name for tree in project.iterdir()] == ["part-red"]
    assert git(house.project, "branch", "--list", "roost/*").split() == ["+", "roost/part-red"]


def test_a_question_is_answered_by_a_copy_that_only_reads_and_leaves_nothing(
    repository: Household,
) -> None:
    house = repository
    forbidden = Call("bash", {"command": "touch x"})
    cast = play(
        house,
        [
            create("red"),
            lambda _: session("join", session_ids=named(house, "red")),
            lambda _: session("ask", session_id=named(house, "red")[0], question="copy: why?"),
            "Done.",
        ],
        red=["I chose tabs."],
        copy=[[forbidden, Call("read", {"filePath": "a.txt"})], "Because of <style>."],
    )
    answer = house.prompt("Direct.", *ORCHESTRATE)
    assert (answer.code, answer.text) == (0, "Done."), answer.err
    said = parts(answer)[2]["output"]
    assert said == "<answer>\nBecause of &lt;style&gt;.\n</answer>"
    assert not (house.project / "x").exists()
    # The copy continues the request of the one it is a copy of.
    first, copied = cast.heard["red"][-1], cast.heard["copy"][0]
    assert copied.system == first.system
    assert [message.text for message in copied.messages[:1]] == [
        message.text for message in first.messages[:1]
    ]
    (red,) = named(house, "red")
    assert [
        row["actor_id"]
        for row in house.rows("SELECT actor_id FROM actor WHERE session_id = ?", red)
    ] == [red]
    assert len(house.rows("SELECT id FROM message WHERE session_id = ?", red)) == 2
    assert (
        house.rows("SELECT id FROM inbox WHERE receiver_session = ? AND kind = 'notice'", red) == []
    )
    assert_sound(house)


def test_a_stopped_session_keeps_the_tree_that_holds_something_and_loses_the_other(
    repository: Household,
) -> None:
    house = repository
    play(
        house,
        [
            [create("red", isolate=True), create("blue", isolate=True)],
            lambda _: session("join", session_ids=named(house, "red", "blue")),
            session("dashboard"),
            lambda _: [
                session("cancel", session_id=named(house, "red")[0]),
                session("cancel", session_id=named(house, "blue")[0]),
            ],
            lambda _: session("send", session_id=named(house, "blue")[0], task="More."),
            "Done.",
        ],
        red=[Call("write", {"filePath": "red.txt", "content": "r"}), "Red."],
        blue=["Blue."],
    )
    answer = house.prompt("Direct.", *ORCHESTRATE)
    assert (answer.code, answer.text) == (0, "Done."), answer.err
    states = parts(answer)
    board = states[3]["output"]
    assert board.startswith("0 progressing, 0 stalled, 0 waiting, 2 idle, 0 failed, 0 cancelled")
    assert "branch roost/part-red, 0 commits ahead of main" in board
    assert "it holds 1 untracked file" in board
    (project,) = (house.home / "data" / "worktrees").iterdir()
    red = project / "part-red"
    assert (
        f"Its working tree stays at {red} (branch roost/part-red): 1 untracked file."
        in (states[4]["output"])
    )
    assert "is removed" in states[5]["output"]
    assert [tree.name for tree in project.iterdir()] == ["part-red"]
    assert "the folder of" in states[6]["output"]
    assert git(house.project, "branch", "--list", "roost/*").split() == ["+", "roost/part-red"]


def test_isolation_that_cannot_be_had_is_an_error_and_leaves_nothing(
    chat_house: Household,
) -> None:
    house = chat_house
    play(house, [create("red", isolate=True), "Then not."])
    answer = house.prompt("Direct.", *ORCHESTRATE)
    (state,) = parts(answer)
    assert state["status"] == "error"
    assert "in no git repository" in state["error"]
    assert peers_of(house) == {}


def test_another_mode_holds_from_the_next_turn_on_and_rewrites_nothing(
    repository: Household,
) -> None:
    house = repository
    play(
        house,
        [
            create("red"),
            lambda _: session("join", session_ids=named(house, "red")),
            lambda _: session("setmode", session_id=named(house, "red")[0], agent="plan"),
            lambda _: session("send", session_id=named(house, "red")[0], task="red: plan it."),
            lambda _: session("join", session_ids=named(house, "red")),
            "Done.",
        ],
        red=["First.", Text("Planned.")],
    )
    answer = house.prompt("Direct.", *ORCHESTRATE)
    assert (answer.code, answer.text) == (0, "Done."), answer.err
    (red,) = named(house, "red")
    rows = house.rows("SELECT data FROM message WHERE session_id = ? ORDER BY seq", red)
    agents = [json.loads(row["data"])["agent"] for row in rows]
    assert agents == ["build"] * 2 + ["plan"] * 3, "the prompt, what is said of the mode, an answer"


def test_sessions_below_one_that_died_go_on_when_it_is_opened_again(repository: Household) -> None:
    house = repository
    wait = Call("actor", {"operation": {"action": "wait", "timeout_ms": 30_000}})
    play(
        house,
        [[create("red"), wait], wait, "All done.", "All done."],
        red=[[Barrier("stay"), Text("Never said.")], "Red went on."],
    )
    process = begin(house, "Direct.", *ORCHESTRATE)
    house.model.wait_for_barrier("stay")
    process.kill()
    process.communicate()
    (head,) = house.rows("SELECT id FROM session WHERE parent_id IS NULL")
    answer = house.prompt("Go on.", "-s", head["id"])
    assert (answer.code, answer.text) == (0, "All done."), answer.err
    (red,) = named(house, "red")
    turns = house.rows("SELECT outcome FROM turn WHERE session_id = ? ORDER BY number", red)
    assert [row["outcome"] for row in turns] == ["interrupted", "success"]
    told = [(one["notice"], one["state"]) for one in notices(house)]
    assert told == [("interrupted", "delivered"), ("completed", "delivered")]


def test_only_agents_that_list_the_tool_have_it(repository: Household) -> None:
    house = repository
    cast = play(house, [create("red"), "It is not there."])
    answer = house.prompt("Direct.")
    assert "session" not in [tool.name for tool in cast.heard["main"][0].tools]
    (part,) = answer.tools()
    assert "There is no tool 'session'" in part["state"]["error"]
