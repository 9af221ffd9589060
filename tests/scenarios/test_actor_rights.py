"""What a child may do: no more than those above it, and nobody waits for a person who is away."""

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest
from cast import WAIT, Cast, actor_parts, report, run, spawn
from household import Household
from server_stage import Served, served, text_of

from scripted_model.scenario import Call

pytestmark = pytest.mark.scenario
WRITES: dict[str, Call] = {
    "write": Call("write", {"filePath": "f.txt", "content": "x"}),
    "edit": Call("edit", {"filePath": "a.txt", "oldString": "a", "newString": "b"}),
    "append": Call("bash", {"command": "echo x >> f.txt"}),
    "sed": Call("bash", {"command": "sed -i s/a/b/ a.txt"}),
    "tee": Call("bash", {"command": "echo x | tee f.txt"}),
    "commit": Call("bash", {"command": "git commit --allow-empty -m x"}),
    "python": Call("bash", {"command": 'python3 -c \'open("f.txt", "w")\''}),
}


@pytest.mark.parametrize("way", WRITES)
@pytest.mark.parametrize("who", ["plan", "a child of plan"])
def test_who_only_plans_changes_nothing_by_itself_nor_by_a_child(
    chat_house: Household, way: str, who: str
) -> None:
    house = chat_house
    house.write("a.txt", "a\n")
    call = WRITES[way]
    if who == "plan":
        cast = Cast([call, "Refused."])
    else:
        cast = Cast([run("smith"), "Refused."], smith=[call, report("blocked")])
    house.play(cast)
    answer = house.prompt("Plan.", "--agent", "plan")
    assert answer.text == "Refused.", answer.err
    assert (house.project / "a.txt").read_text() == "a\n"
    assert not (house.project / "f.txt").exists()
    heard = cast.news("main" if who == "plan" else "smith")
    assert "denied" in heard or "plan" in heard or "allow" in heard or "Not run" in heard
    (row,) = house.rows(
        "SELECT data FROM part WHERE type = 'tool' AND data LIKE '%\"denied\":true%'"
    )
    assert '"status":"error"' in row["data"]


def test_a_child_of_plan_reads_what_it_likes(chat_house: Household) -> None:
    chat_house.write("a.txt", "what stands there\n")
    looks = [
        Call("read", {"filePath": "a.txt"}),
        Call("bash", {"command": "cat a.txt | wc -l"}),
    ]
    cast = Cast([run("scout"), "Seen."], scout=[looks, report()])
    chat_house.play(cast)
    chat_house.prompt("Plan.", "--agent", "plan")
    assert "what stands there" in cast.news("scout")
    assert "denied" not in cast.news("scout")


def test_what_is_denied_to_a_parent_is_denied_to_its_children(chat_house: Household) -> None:
    chat_house.config["agent"] = {
        "careful": {"mode": "primary", "permission": {"bash": "deny"}},
        "general": {"permission": {"bash": "allow"}},
    }
    cast = Cast(
        [run("smith"), "Heard."],
        smith=[Call("bash", {"command": "touch made"}), report("blocked")],
    )
    chat_house.play(cast)
    chat_house.prompt("Delegate.", "--agent", "careful")
    assert not (chat_house.project / "made").exists()
    assert "which holds for those it starts too" in cast.news("smith")


def test_a_rule_may_forbid_one_kind_of_child(chat_house: Household) -> None:
    chat_house.config["permission"] = {"actor": {"*": "allow", "explore": "deny"}}
    cast = Cast([run("x", "explore"), run("smith"), "Heard."], x=[], smith=[report()])
    chat_house.play(cast)
    answer = chat_house.prompt("Delegate.")
    refused, done = actor_parts(answer)
    assert refused["status"] == "error"
    assert done["status"] == "completed"
    (row,) = chat_house.rows("SELECT agent FROM actor WHERE mode = 'subagent'")
    assert row["agent"] == "general"


def test_a_rule_about_the_list_of_tasks_says_nothing_of_children(chat_house: Household) -> None:
    chat_house.config["permission"] = {"todo": "deny"}
    cast = Cast([run("smith"), "Heard."], smith=[report()])
    chat_house.play(cast)
    assert chat_house.prompt("Delegate.").text == "Heard."
    assert "actor" in cast.heard["main"][0].tool_names
    assert "task" not in cast.heard["main"][0].tool_names


def test_the_rule_of_opencode_about_subagents_is_one_about_children(chat_house: Household) -> None:
    chat_house.config["permission"] = {"task": "deny"}
    cast = Cast([Call("task", {"action": "list"}), "Listed."])
    chat_house.play(cast)
    assert chat_house.prompt("List.").text == "Listed."
    assert "actor" not in cast.heard["main"][0].tool_names
    assert "task" in cast.heard["main"][0].tool_names


def test_without_anybody_to_ask_a_child_is_refused_at_once_with_the_way_out(
    chat_house: Household,
) -> None:
    chat_house.config["permission"] = {"actor": "allow", "bash": "ask"}
    cast = Cast(
        [[spawn("smith"), WAIT], "Heard."],
        smith=[Call("bash", {"command": "touch made"}), report("blocked", "may not")],
    )
    chat_house.play(cast)
    done = chat_house.run("run", "--format", "json", "Delegate.")
    assert done.returncode == 0, done.stderr
    (row,) = chat_house.rows(
        "SELECT p.data FROM part p JOIN message m ON m.id = p.message_id"
        " WHERE m.actor_id = 'general-1' AND p.type = 'tool'"
    )
    state = json.loads(row["data"])["state"]
    assert state["status"] == "error"
    assert (state["time"]["end"] - state["time"]["start"]) < 1_000
    assert "permission" in cast.news("smith")
    assert not (chat_house.project / "made").exists()


def test_with_everything_allowed_a_child_is_asked_nothing(chat_house: Household) -> None:
    chat_house.config["permission"] = {"actor": "allow", "bash": "ask"}
    cast = Cast(
        [[spawn("smith"), WAIT], "Heard."],
        smith=[Call("bash", {"command": "touch made"}), report()],
    )
    chat_house.play(cast)
    assert chat_house.prompt("Delegate.").text == "Heard."
    assert (chat_house.project / "made").exists()


# With a person there


def test_requests_of_three_children_are_listed_and_answered_in_any_order(tmp_path: Path) -> None:
    names = ("one", "two", "three")
    touch: dict[str, list[Any]] = {
        name: [Call("bash", {"command": f"touch {name}.txt"}), report()] for name in names
    }
    cast = Cast([[run(name) for name in names], "All."], **touch)

    async def check(stage: Served) -> None:
        session_id = await stage.session()
        answer = asyncio.create_task(stage.prompt(session_id, "Delegate."))
        async with asyncio.timeout(20):
            while len(asked := (await stage.http.get("/permission")).json()) < 3:
                for one in asked:
                    if one["permission"] == "actor":
                        path = f"/permission/{one['id']}/reply"
                        await stage.http.post(path, json={"reply": "once"})
                await asyncio.sleep(0.02)
                if len([one for one in asked if one["permission"] == "bash"]) == 3:
                    break
        assert {one["sessionID"] for one in asked} == {session_id}
        began = time.monotonic()
        for number, one in enumerate(reversed(asked)):
            reply = "reject" if number == 1 else "once"
            body = {"reply": reply, **({"message": "not that one"} if number == 1 else {})}
            done = await stage.http.post(f"/permission/{one['id']}/reply", json=body)
            assert done.status_code == 200
        assert text_of((await answer).json()) == "All."
        assert time.monotonic() - began < 10
        assert len(list(stage.project.glob("*.txt"))) == 2
        assert (await stage.http.get("/permission")).json() == []

    async def play() -> None:
        async with served(tmp_path, cast, config={"permission": {"bash": "ask"}}) as stage:
            await check(stage)

    asyncio.run(play())
