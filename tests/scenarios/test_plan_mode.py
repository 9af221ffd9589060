"""Plan mode with the whole program: what is written, what is told, and how the work begins."""

import asyncio
import itertools
from pathlib import Path
from typing import Any

import pytest
from cast import Cast, report, run, spawn
from household import Household
from server_stage import Served, served, text_of

from scripted_model.picture import Request
from scripted_model.scenario import Call, Parallel, Said

pytestmark = pytest.mark.scenario
BEGUN, LEFT = "# You are planning", "You are no longer planning"


def plan_in(request: Request) -> str:
    """The plan file that the model was told."""
    words = request.all_text
    begin = words.index(".roost/plans/")
    return words[begin : words.index(".md", begin) + 3]


def written(request: Request) -> Said:
    return Call("write", {"filePath": plan_in(request), "content": "1. look\n"})


def statuses(house: Household) -> list[str]:
    rows = house.rows("SELECT data FROM part WHERE type = 'tool' ORDER BY id")
    return ["completed" if '"status":"completed"' in row["data"] else "error" for row in rows]


def test_the_plan_of_the_session_alone_is_written(chat_house: Household) -> None:
    house = chat_house
    house.write("src/a.py", "a\n")
    plans = house.project / ".roost/plans"
    plans.mkdir(parents=True)
    (plans / "link.md").symlink_to("../../src/a.py")
    wrong = ["link.md", "other.md", "../../src/a.py", "../agent/evil.md"]
    calls = [Call("write", {"filePath": f".roost/plans/{one}", "content": "x"}) for one in wrong]
    shell = Call("bash", {"command": "cd .roost/plans && echo x > more.md"})
    rest = [shell, Call("bash", {"command": "cat src/a.py", "workdir": ".roost"})]
    cast = Cast([Parallel((*calls, *rest)), written, "Planned."])
    house.play(cast)
    answer = house.prompt("Plan.", "--agent", "plan")
    assert answer.text == "Planned.", answer.err
    assert statuses(house) == ["error"] * 5 + ["completed"] * 2
    assert (house.project / "src/a.py").read_text() == "a\n"
    named = house.project / plan_in(cast.heard["main"][0])
    assert named.read_text() == "1. look\n"
    assert sorted(path.name for path in plans.iterdir()) == sorted([named.name, "link.md"])


def test_a_plan_file_that_is_a_link_leads_nowhere(chat_house: Household) -> None:
    house = chat_house
    house.write("a.py", "a\n")
    first = Cast(["Seen."])
    house.play(first)
    house.prompt("Plan.", "--agent", "plan")
    plan = house.project / plan_in(first.heard["main"][0])
    plan.parent.mkdir(parents=True)
    plan.symlink_to(house.project / "a.py")
    house.play(Cast([written, "Refused."]))
    house.prompt("Write it.", "--continue")
    assert statuses(house) == ["error"]
    assert (house.project / "a.py").read_text() == "a\n"


def test_each_switch_is_told_once_and_requests_go_on_byte_for_byte(
    chat_house: Household,
) -> None:
    house = chat_house
    cast = Cast(["Hello.", written, "Planned.", "More.", "Built.", "Again."])
    house.play(cast)
    house.prompt("Hello.")
    for words, agent in (("Plan.", "plan"), ("More.", "plan"), ("Go.", "build"), ("Plan.", "plan")):
        answer = house.prompt(words, "--continue", "--agent", agent)
        assert answer.code == 0, answer.err
    heard = cast.heard["main"]
    assert [one.all_text.count(BEGUN) for one in heard] == [0, 1, 1, 1, 1, 2]
    assert [one.all_text.count(LEFT) for one in heard] == [0, 0, 0, 0, 1, 1]
    assert f"The plan is in {plan_in(heard[1])}" in cast.news("main", 4)
    for before, after in itertools.pairwise(heard):
        assert after.messages[: len(before.messages)] == before.messages
        assert (after.system, after.tool_names) == (before.system, before.tool_names)


def test_who_is_below_a_planning_actor_knows_it_and_its_own_children_too(
    chat_house: Household,
) -> None:
    house = chat_house
    touch = Call("bash", {"command": "touch made"})
    cast = Cast(
        [run("smith"), "Refused."],
        smith=[touch, Call("write", {"filePath": "made", "content": "x"}), report("blocked")],
    )
    house.play(cast)
    house.prompt("Plan.", "--agent", "plan")
    assert not (house.project / "made").exists()
    assert "Whoever started you is planning" in cast.heard["smith"][0].all_text
    assert "Say in your report" in cast.news("smith", 1)


def test_a_child_that_is_at_work_when_the_plan_begins_is_held_to_it(
    chat_house: Household,
) -> None:
    """The child was started to work; its next call comes when the one above it plans."""
    house = chat_house
    hold = Call("bash", {"command": "until test -e go; do sleep 0.05; done"})
    touch = Call("bash", {"command": "touch made"})
    cast = Cast(
        [spawn("smith"), "Started.", "Planning.", "Heard.", "Heard."],
        smith=[hold, touch, report("blocked")],
    )
    house.play(cast)
    first = house.start("run", "--yes", "Work.")
    house.model.wait_until(lambda: len(cast.heard["smith"]) == 1)
    house.model.wait_until(lambda: len(cast.heard["main"]) == 2)
    second = house.start("run", "--yes", "--continue", "--agent", "plan", "Plan now.")
    house.model.wait_until(lambda: len(cast.heard["main"]) == 3)
    (house.project / "go").touch()
    for process in (first, second):
        process.communicate(timeout=40)
    assert not (house.project / "made").exists()
    assert "plan mode" in cast.news("smith", 2) or "agent plan" in cast.news("smith", 2)


def test_without_a_person_a_proposal_to_begin_ends_in_words(chat_house: Household) -> None:
    cast = Cast([Call("plan_exit", {}), written, Call("plan_exit", {}), "It is written."])
    chat_house.play(cast)
    answer = chat_house.prompt("Plan.", "--agent", "plan")
    assert answer.text == "It is written.", answer.err
    assert "There is no plan yet" in cast.news("main", 1)
    assert "Nobody is there to agree" in cast.news("main", 3)
    assert "--continue --agent build" in cast.news("main", 3)


def test_who_does_not_plan_has_nothing_to_leave(chat_house: Household) -> None:
    cast = Cast([Call("plan_exit", {}), "On it."])
    chat_house.play(cast)
    assert chat_house.prompt("Work.").text == "On it."
    assert "not in plan mode" in cast.news("main", 1)


# With a person there

ANSWERS: dict[str, tuple[list[list[str]], str]] = {
    "no": ([["No"]], "go on planning"),
    "words": ([["not before step 2 is smaller"]], "not before step 2 is smaller"),
}


async def asked(stage: Served) -> dict[str, Any]:
    async with asyncio.timeout(20):
        while not (found := (await stage.http.get("/question")).json()):
            await asyncio.sleep(0.02)
    return found[0]


def test_the_person_agrees_and_the_work_begins_in_the_same_turn(tmp_path: Path) -> None:
    touch = Call("write", {"filePath": "made.txt", "content": "x"})
    cast = Cast([written, Call("plan_exit", {}), touch, "Done."])

    async def play() -> None:
        config = {"permission": {"edit": "allow"}}
        async with served(tmp_path, cast, config=config) as stage:
            session_id = await stage.session()
            answer = asyncio.create_task(stage.prompt(session_id, "Plan.", agent="plan"))
            question = await asked(stage)
            assert [one["label"] for one in question["questions"][0]["options"]] == ["Yes", "No"]
            await stage.http.post(f"/question/{question['id']}/reply", json={"answers": [["Yes"]]})
            message = (await answer).json()
            assert text_of(message) == "Done."
            assert message["info"]["agent"] == "build"
            assert (stage.project / "made.txt").exists()
            told = cast.news("main", 2)
            assert LEFT in told
            assert "carry it out" in told
            again = (await stage.http.get(f"/session/{session_id}/message")).json()
            parts = [part for one in again for part in one["parts"] if part["type"] == "tool"]
            left = next(part for part in parts if part["tool"] == "plan_exit")
            assert left["state"]["status"] == "completed"

    asyncio.run(play())


@pytest.mark.parametrize("said", ANSWERS)
def test_whatever_else_the_person_says_planning_goes_on(tmp_path: Path, said: str) -> None:
    answers, heard = ANSWERS[said]
    touch = Call("write", {"filePath": "made.txt", "content": "x"})
    cast = Cast([written, Call("plan_exit", {}), touch, "Still planning."])

    async def play() -> None:
        async with served(tmp_path, cast) as stage:
            answer = asyncio.create_task(stage.prompt(await stage.session(), "Plan.", agent="plan"))
            question = await asked(stage)
            await stage.http.post(f"/question/{question['id']}/reply", json={"answers": answers})
            message = (await answer).json()
            assert text_of(message) == "Still planning."
            assert message["info"]["agent"] == "plan"
            assert heard in cast.news("main", 2)
            assert not (stage.project / "made.txt").exists()

    asyncio.run(play())


def test_a_session_that_a_planning_actor_directs_changes_nothing_either(
    chat_house: Household,
) -> None:
    house = chat_house
    house.config["agent"] = {"plan": {"tool_allowlist": ["read", "write", "bash", "session"]}}
    order = {"action": "create", "task": "red: do your part.", "title": "Red", "agent": "build"}
    touch = Call("bash", {"command": "touch made"})
    cast = Cast(
        [Call("session", {"operation": order}), "Directed.", "Heard.", "Heard."],
        red=[touch, Call("write", {"filePath": "made", "content": "x"}), "Refused."],
    )
    house.play(cast)
    house.prompt("Plan.", "--agent", "plan")
    assert len(cast.heard["red"]) == 3
    assert not (house.project / "made").exists()
    assert "Say in your report" in cast.news("red", 1)
    assert "Say in your report" in cast.news("red", 2)
