"""Commands that a person runs by hand in a session."""

import asyncio
from pathlib import Path
from typing import Any

from server_stage import Served, on_server, text_of

from roost.core.ids import new_id
from scripted_model.picture import Request
from scripted_model.scenario import Barrier, Reply, reply, scenario, step

DENIED = {"permission": {"bash": "deny"}}


def reader(request: Request) -> Reply:
    """Says what results it was shown."""
    results = [block.text for message in request.messages for block in message.results]
    return reply(f"I read {results}.")


async def shell(stage: Served, session_id: str, command: str, **more: Any) -> Any:
    body = {"command": command, "agent": "build", **more}
    return await stage.plain.post(f"/session/{session_id}/shell", json=body)


def test_a_command_is_run_without_a_model_and_read_by_it_afterwards(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        session_id = await stage.session()
        message_id = new_id("message")
        answer = await shell(stage, session_id, "echo by-hand", messageID=message_id)
        said = answer.json()
        assert said["info"]["role"] == "assistant"
        (part,) = [part for part in said["parts"] if part["type"] == "tool"]
        assert (part["tool"], part["state"]["status"]) == ("bash", "completed")
        assert part["state"]["input"] == {"command": "echo by-hand"}
        assert part["state"]["metadata"]["output"] == "by-hand\n"
        assert stage.model.requests == []
        asked, ran = (await stage.plain.get(f"/session/{session_id}/message")).json()
        assert ran == said
        assert asked["info"]["id"] == message_id == said["info"]["parentID"]
        assert asked["parts"][0]["synthetic"] is True
        assert "format" not in asked["info"]
        assert text_of((await stage.prompt(session_id, "what was it?")).json()) == (
            "I read ['by-hand']."
        )
        assert stage.model.violations == []

    on_server(tmp_path, check, script=reader)


def test_nobody_is_asked_for_what_a_person_runs_but_some_things_are_refused(
    tmp_path: Path,
) -> None:
    async def check(stage: Served) -> None:
        session_id = await stage.session(permission=[])
        ran = (await shell(stage, session_id, "echo allowed")).json()
        assert _state(ran)["status"] == "completed"
        refused = (await shell(stage, session_id, "rm -rf /")).json()
        assert _state(refused)["status"] == "error"
        assert (await stage.http.get("/permission")).json() == []

    on_server(tmp_path, check, config=DENIED)


def _state(message: dict[str, Any]) -> dict[str, Any]:
    return next(part["state"] for part in message["parts"] if part["type"] == "tool")


def test_a_command_is_shown_while_it_runs_and_stopped_with_its_session(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        session_id = await stage.session()
        async with stage.events(client=stage.plain) as events:
            answer = asyncio.create_task(shell(stage, session_id, "echo begun; sleep 60"))
            async with asyncio.timeout(20):
                async for event in events:
                    part = event["properties"].get("part", {})
                    if part.get("state", {}).get("metadata", {}).get("output") == "begun\n":
                        break
        assert session_id in (await stage.plain.get("/session/status")).json()
        assert (await stage.plain.post(f"/session/{session_id}/abort")).json() is True
        stopped = (await answer).json()
        assert _state(stopped)["status"] == "error"
        assert stopped["info"]["error"]["name"] == "MessageAbortedError"
        assert (await stage.plain.get("/session/status")).json() == {}

    on_server(tmp_path, check)


def test_a_busy_session_runs_no_command_by_hand(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        session_id = await stage.session()
        answer = asyncio.create_task(stage.prompt(session_id, "wait"))
        await asyncio.to_thread(stage.model.wait_for_barrier, "gate")
        refused = await shell(stage, session_id, "echo no")
        assert (refused.status_code, refused.json()["name"]) == (409, "BusyError")
        stage.model.release("gate")
        assert text_of((await answer).json()) == "first"

    on_server(tmp_path, check, script=scenario(step(Barrier("gate"), "first")))


def test_a_prompt_that_comes_while_a_command_runs_is_answered_after_it(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        session_id = await stage.session()
        gate = stage.project / "gate"
        command = f"until [ -e {gate} ]; do sleep 0.05; done; echo open"
        ran = asyncio.create_task(shell(stage, session_id, command))
        async with asyncio.timeout(20):
            while session_id not in (await stage.plain.get("/session/status")).json():
                await asyncio.sleep(0.02)
        asked = asyncio.create_task(stage.prompt(session_id, "and now?"))
        async with asyncio.timeout(20):
            while "and now?" not in await stage.texts(session_id):
                await asyncio.sleep(0.02)
        gate.touch()
        assert text_of((await asked).json()) == "I read ['open']."
        assert _state((await ran).json())["metadata"]["output"] == "open\n"

    on_server(tmp_path, check, script=reader)
