"""What a prompt can hold beside words: mentions of agents, files, resources, tasks for agents."""

import asyncio
import base64
from pathlib import Path
from typing import Any

import pytest
from server_stage import Served, on_server, text_of

from scripted_model.picture import Request
from scripted_model.scenario import Barrier, Call, Reply, Text, reply, scenario

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


async def say(stage: Served, session: str, *parts: dict[str, Any], **more: Any) -> Any:
    return await stage.http.post(f"/session/{session}/message", json={"parts": parts, **more})


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def file(url: str, **more: Any) -> dict[str, Any]:
    return {"type": "file", "mime": "text/plain", "url": url, **more}


def subtask(prompt: str, agent: str = "general", **more: Any) -> dict[str, Any]:
    return {
        "type": "subtask",
        "prompt": prompt,
        "description": "look around",
        "agent": agent,
        **more,
    }


def heard(stage: Served) -> str:
    return stage.model.requests[-1].request.last_user_text


def test_a_mentioned_agent_is_to_be_started_by_the_model(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        session = await stage.session()
        mention = {
            "type": "agent",
            "name": "explore",
            "source": {"value": "@explore", "start": 4, "end": 12},
        }
        answer = await say(stage, session, text("Ask @explore where it is."), mention)
        assert answer.status_code == 200
        assert "The user mentions the agent explore" in heard(stage)
        assert "the tool `actor`" in heard(stage).replace("\n", " ")
        messages = (await stage.http.get(f"/session/{session}/message")).json()
        shown = [part for part in messages[0]["parts"] if part["type"] == "agent"]
        assert [(one["name"], one["source"]["start"]) for one in shown] == [("explore", 4)]

    on_server(tmp_path, check)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("explor", "Did you mean explore?"),
        ("build", "'build' that can be started"),
        ("hidden", "'hidden' that can be started"),
        ("off", "'off' that can be started"),
    ],
)
@pytest.mark.parametrize("kind", ["agent", "subtask"])
def test_only_an_agent_that_the_person_may_start_can_be_meant(
    tmp_path: Path, kind: str, name: str, told: str
) -> None:
    agents = {
        "hidden": {"description": "x", "mode": "subagent", "hidden": True},
        "off": {"description": "x", "mode": "subagent", "disable": True},
    }

    async def check(stage: Served) -> None:
        session = await stage.session()
        part = subtask("look", name) if kind == "subtask" else {"type": "agent", "name": name}
        answer = await say(stage, session, text("Go."), part)
        assert answer.status_code == 400
        assert told in answer.text
        assert "explore" in answer.text
        assert stage.model.requests == []

    on_server(tmp_path, check, config={"agent": agents})


def test_lines_of_a_file_are_told_with_their_numbers(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        source = stage.project / "a b.py"
        source.write_text("one\ntwo\nthree\nfour\n")
        session = await stage.session()
        await say(stage, session, text("See"), file(f"{source.as_uri()}?start=2&end=3"))
        assert f"Lines 2 to 3 of {source}, which has 4:\ntwo\nthree" in heard(stage)
        assert "four" not in heard(stage)
        await say(stage, session, text("See"), file(f"{source.as_uri()}?start=3"))
        assert "Lines 3 to 4 of" in heard(stage)
        await say(stage, session, text("See"), file(source.as_uri()))
        assert f"Content of {source}:\none\ntwo" in heard(stage)

    on_server(tmp_path, check)


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("?start=9&end=12", "has 2 lines, and none is number 9"),
        ("?start=0", "counted from 1"),
        ("?start=3&end=2", "lines 3 to 2 are no lines"),
        ("?start=x", "?start=x names no lines"),
    ],
)
def test_lines_that_no_file_has_are_an_error(tmp_path: Path, query: str, told: str) -> None:
    async def check(stage: Served) -> None:
        source = stage.project / "a.py"
        source.write_text("one\ntwo\n")
        session = await stage.session()
        answer = await say(stage, session, text("See"), file(source.as_uri() + query))
        assert answer.status_code == 400
        assert told in answer.text

    on_server(tmp_path, check)


def test_folders_and_images_go_along_and_what_is_missing_is_an_error(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        folder = stage.project / "src"
        folder.mkdir()
        (folder / "main.py").write_text("x")
        image = stage.project / "dot.png"
        image.write_bytes(PIXEL)
        session = await stage.session()
        parts = [
            file(folder.as_uri(), mime="application/x-directory"),
            file(image.as_uri(), mime="image/png"),
        ]
        assert (await say(stage, session, text("See"), *parts)).status_code == 200
        assert f"Content of the folder {folder}:\nmain.py" in heard(stage)
        messages = (await stage.http.get(f"/session/{session}/message")).json()
        kept = [part["url"][:22] for part in messages[0]["parts"] if part["type"] == "file"]
        assert kept[1] == "data:image/png;base64,"
        for url, told in [
            ((stage.project / "gone.py").as_uri(), "there is no file"),
            ("https://example.com/x", "a data: or file: URL"),
        ]:
            answer = await say(stage, session, text("See"), file(url))
            assert answer.status_code == 400
            assert told in answer.text

    on_server(tmp_path, check)


def test_a_resource_of_an_mcp_server_is_told_to_be_out_of_reach_and_the_rest_is_heard(
    tmp_path: Path,
) -> None:
    source = {
        "type": "resource",
        "clientName": "tickets",
        "uri": "ticket://42",
        "text": {"value": "@42", "start": 0, "end": 3},
    }
    resource = file("ticket://42", source=source)

    async def check(stage: Served) -> None:
        session = await stage.session()
        answer = await say(stage, session, text("What is in @42?"), resource)
        assert answer.status_code == 200
        assert "What is in @42?" in heard(stage)
        assert "resource ticket://42 of the MCP server tickets" in heard(stage)
        assert "does not speak MCP yet" in heard(stage)
        alone = await say(stage, session, resource)
        assert alone.status_code == 400
        assert "does not speak MCP yet" in alone.text

    on_server(tmp_path, check)


def plays(request: Request) -> Reply:
    """Children say what they were told; the parent says what it read."""
    if request.results:
        return reply(f"I read: {request.results[-1]}")
    return reply(f"done: {request.last_user_text.splitlines()[0]}")


def test_a_task_for_an_agent_is_carried_out_before_the_model_is_asked(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        session = await stage.session()
        part = subtask("find the parser", "explore", command="find")
        answer = await say(stage, session, part)
        assert answer.status_code == 200, answer.text
        assert "done: find the parser" in text_of(answer.json())
        messages = (await stage.plain.get(f"/session/{session}/message")).json()
        asked, started, said = messages
        (kept,) = asked["parts"]
        del kept["id"], kept["sessionID"], kept["messageID"]
        assert kept == part
        (call,) = [one for one in started["parts"] if one["type"] == "tool"]
        assert (call["tool"], call["state"]["status"]) == ("task", "completed")
        assert call["state"]["input"] == {
            "description": "look around",
            "prompt": "find the parser",
            "subagent_type": "explore",
        }
        assert started["info"]["parentID"] == asked["info"]["id"] == said["info"]["parentID"]
        child, parent = (one.request for one in stage.model.requests)
        assert child.last_user_text.startswith("find the parser")
        assert "The user has the agent explore started" in parent.last_user_text
        assert stage.model.violations == []

    on_server(tmp_path, check, script=plays)


def test_tasks_need_no_permission_but_what_the_agents_do_needs_it(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        session = await stage.session()
        answer = await say(stage, session, text("Both."), subtask("one"), subtask("two"))
        assert answer.status_code == 200
        messages = (await stage.http.get(f"/session/{session}/message")).json()
        calls = [part for part in messages[1]["parts"] if part["type"] == "tool"]
        assert [one["state"]["status"] for one in calls] == ["completed", "completed"]
        assert (await stage.http.get("/permission")).json() == []

    on_server(tmp_path, check, script=plays, config={"permission": {"actor": "ask"}})


def test_a_task_that_fails_is_told_to_the_model(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        session = await stage.session()
        wrong = subtask("look", model={"providerID": "nobody", "modelID": "none"})
        answer = await say(stage, session, wrong)
        assert answer.status_code == 200, answer.text
        assert "nobody" in text_of(answer.json())

    on_server(tmp_path, check, script=plays)


def test_a_task_given_to_a_busy_session_is_carried_out_at_its_next_step(tmp_path: Path) -> None:
    script = scenario(
        [Text("At work."), Barrier("work"), Call("glob", {"pattern": "*"})],
        default="all done",
    )

    async def check(stage: Served) -> None:
        session = await stage.session()
        working = asyncio.create_task(say(stage, session, text("go")))
        await asyncio.to_thread(stage.model.wait_for_barrier, "work")
        left = await stage.http.post(
            f"/session/{session}/prompt_async", json={"parts": [subtask("the second thing")]}
        )
        assert left.status_code == 204
        stage.model.release("work")
        assert (await working).status_code == 200
        messages = (await stage.http.get(f"/session/{session}/message")).json()
        tools = [p for m in messages for p in m["parts"] if p["type"] == "tool"]
        assert [one["tool"] for one in tools] == ["glob", "actor"]
        assert tools[1]["state"]["status"] == "completed"

    on_server(tmp_path, check, script=script)


def test_a_task_without_words_is_an_error(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        session = await stage.session()
        answer = await say(stage, session, subtask("  "))
        assert answer.status_code == 400
        assert "a subtask needs a prompt" in answer.text

    on_server(tmp_path, check)


def test_a_stop_ends_the_actor_of_a_task_and_the_next_prompt_does_not_begin_it_anew(
    tmp_path: Path,
) -> None:
    def script(request: Request) -> Reply:
        if request.last_user_text.startswith("the long thing"):
            return reply([Text("At work."), Barrier("child"), Text("Done.")])
        return reply("Yes.")

    async def check(stage: Served) -> None:
        session = await stage.session()
        working = asyncio.create_task(say(stage, session, subtask("the long thing")))
        await asyncio.to_thread(stage.model.wait_for_barrier, "child")
        assert (await stage.http.post(f"/session/{session}/abort")).json() is True
        await working
        actors = (await stage.http.get(f"/session/{session}/actor")).json()
        assert [one["status"] for one in actors] == ["idle", "idle"]
        answer = await say(stage, session, text("And now?"))
        assert text_of(answer.json()) == "Yes."
        assert len((await stage.http.get(f"/session/{session}/actor")).json()) == 2

    on_server(tmp_path, check, script=script)
