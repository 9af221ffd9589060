"""Which tools a child has: none that who started it has not got, unless that one directs others."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from cast import WAIT, Cast, Line, act, report, run
from household import Household
from server_stage import Served, served, text_of

from scripted_model.scenario import Call

pytestmark = pytest.mark.scenario
WRITE = Call("write", {"filePath": "made.txt", "content": "x"})
TOUCH = Call("bash", {"command": "touch made.txt"})
READER = {"reader": {"mode": "primary", "tool_allowlist": ["read", "grep", "actor"]}}


@pytest.mark.parametrize("call", [WRITE, TOUCH], ids=["write", "bash"])
def test_a_child_has_no_tool_that_the_list_of_its_parent_leaves_out(
    chat_house: Household, call: Call
) -> None:
    chat_house.config["agent"] = READER
    cast = Cast([run("smith"), "Refused."], smith=[call, report("blocked")])
    chat_house.play(cast)
    assert chat_house.prompt("Delegate.", "--agent", "reader").text == "Refused."
    assert not (chat_house.project / "made.txt").exists()
    shown = set(cast.heard["smith"][0].tool_names)
    assert {"read", "grep"} <= shown
    assert shown.isdisjoint({"write", "edit", "bash", "webfetch", "task"})
    assert f"There is no tool '{call.name}'" in cast.news("smith")


@pytest.mark.parametrize("context", ["none", "full"])
def test_a_child_that_was_started_before_is_bound_by_the_list_of_who_wakes_it(
    chat_house: Household, context: str
) -> None:
    """Else who may not write could have it written by a child of an earlier prompt. A fork goes on
    to be shown the tools that it was always shown.
    """
    chat_house.config["agent"] = READER
    first = Cast([run("smith", context=context), "Started."], smith=[report()])
    chat_house.play(first)
    begun = chat_house.prompt("Start.")
    send = act("send", to_actor_id="general-1", content="smith: write it")
    second = Cast([[send, WAIT], "Asked."], smith=[WRITE, report()])
    chat_house.play(second)
    assert chat_house.prompt("Ask.", "--agent", "reader", "-s", begun.session).text == "Asked."
    assert not (chat_house.project / "made.txt").exists()
    refused = {
        "none": "There is no tool 'write'",
        "full": "Not run: reader, which started you, does not use the tool write; nor may you.",
    }
    assert refused[context] in second.news("smith")


def test_those_that_a_director_starts_work_with_tools_of_their_own(chat_house: Household) -> None:
    cast = Cast([run("smith"), "Done."], smith=[WRITE, report()])
    chat_house.play(cast)
    assert chat_house.prompt("Delegate.", "--agent", "orchestrator").text == "Done."
    assert (chat_house.project / "made.txt").exists()


def _switched_off(folder: Path, cast: Cast, agent: str = "build") -> Path:
    """Where the project is, after a prompt that switches `bash` and `write` off."""

    async def play() -> Path:
        async with served(folder, cast, config={"permission": {"*": "allow"}}) as stage:
            answer = await _prompt(stage, agent)
            assert text_of(answer) == "Refused.", answer
            return stage.project

    return asyncio.run(play())


async def _prompt(stage: Served, agent: str) -> dict[str, Any]:
    session_id = await stage.session()
    body = {
        "agent": agent,
        "parts": [{"type": "text", "text": "Delegate."}],
        "tools": {"bash": False, "write": False},
    }
    done = await stage.http.post(f"/session/{session_id}/message", json=body)
    assert done.status_code == 200, done.text
    return done.json()


def test_a_tool_that_a_prompt_switches_off_is_off_for_the_children_too(tmp_path: Path) -> None:
    lines: list[Line] = [[WRITE, TOUCH], report("blocked")]
    cast = Cast([run("smith"), "Refused."], smith=lines)
    project = _switched_off(tmp_path, cast)
    assert not (project / "made.txt").exists()
    assert {"bash", "write"}.isdisjoint(cast.heard["smith"][0].tool_names)
    assert "read" in cast.heard["smith"][0].tool_names
    assert "There is no tool 'bash'" in cast.news("smith")


def test_a_session_that_was_started_without_a_tool_cannot_lend_it(tmp_path: Path) -> None:
    order = {"action": "create", "task": "head: go on", "title": "Part"}
    create = Call("session", {"operation": order})
    cast = Cast(
        [[create, WAIT], "Refused."],
        head=[run("smith"), report("blocked")],
        smith=[TOUCH, report("blocked")],
    )
    project = _switched_off(tmp_path, cast, "orchestrator")
    assert not (project / "made.txt").exists()
    assert "There is no tool 'bash'" in cast.news("smith")
