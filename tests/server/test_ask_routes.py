"""Requests to the person over HTTP."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from server_stage import Served, served, text_of

from scripted_model.scenario import Call, scenario


def on_server(folder: Path, check: Callable[[Served], Awaitable[None]], script: Any) -> None:
    async def run() -> None:
        async with served(folder, script) as stage:
            await check(stage)

    asyncio.run(run())


async def waiting(stage: Served, path: str) -> dict[str, Any]:
    async with asyncio.timeout(10):
        while not (found := (await stage.http.get(path)).json()):
            await asyncio.sleep(0.02)
    assert len(found) == 1
    return found[0]


TOUCH = scenario(Call("bash", {"command": "touch made.txt", "description": "x"}), "done")
QUESTION = {
    "questions": [
        {
            "question": "Which colour?",
            "header": "Colour",
            "options": [
                {"label": "red", "description": "warm"},
                {"label": "blue", "description": ""},
            ],
        }
    ]
}


def test_a_permission_is_asked_listed_and_given(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        session_id = await stage.session()
        answer = asyncio.create_task(stage.prompt(session_id, "make it"))
        asked = await waiting(stage, "/permission")
        assert asked["sessionID"] == session_id
        assert asked["permission"] == "bash"
        assert asked["tool"]["callID"]
        path = f"/permission/{asked['id']}/reply"
        assert (await stage.http.post(path, json={"reply": "perhaps"})).status_code == 400
        assert (await stage.http.post(path, json={"reply": "once"})).json() is True
        assert text_of((await answer).json()) == "done"
        assert (stage.project / "made.txt").exists()
        assert (await stage.http.post(path, json={"reply": "once"})).status_code == 409
        assert (await stage.http.get("/permission")).json() == []
        unknown = await stage.http.post("/permission/per_x/reply", json={"reply": "once"})
        assert unknown.status_code == 404

    on_server(tmp_path, check, TOUCH)


def test_the_old_route_answers_too(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        session_id, other = await stage.session(), await stage.session()
        answer = asyncio.create_task(stage.prompt(session_id, "make it"))
        asked = await waiting(stage, "/permission")
        body = {"response": "once"}
        wrong = await stage.http.post(f"/session/{other}/permissions/{asked['id']}", json=body)
        assert wrong.status_code == 404
        path = f"/session/{session_id}/permissions/{asked['id']}"
        assert (await stage.http.post(path, json=body)).json() is True
        assert (await answer).status_code == 200
        assert (stage.project / "made.txt").exists()

    on_server(tmp_path, check, TOUCH)


def test_a_question_is_asked_and_answered(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        session_id = await stage.session()
        answer = asyncio.create_task(stage.prompt(session_id, "ask me"))
        asked = await waiting(stage, "/question")
        assert asked["questions"][0]["question"] == "Which colour?"
        assert asked["questions"][0]["options"][0]["label"] == "red"
        path = f"/question/{asked['id']}/reply"
        wrong = await stage.http.post(path, json={"answers": []})
        assert wrong.status_code == 400
        assert (await stage.http.post(path, json={"answers": [["red"]]})).json() is True
        assert text_of((await answer).json()) == "red it is"
        assert "red" in str(stage.model.requests[-1])

    on_server(tmp_path, check, scenario(Call("question", QUESTION), "red it is"))


def test_a_question_can_be_refused(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        answer = asyncio.create_task(stage.prompt(await stage.session(), "ask me"))
        asked = await waiting(stage, "/question")
        assert (await stage.http.post(f"/question/{asked['id']}/reject")).json() is True
        assert (await answer).status_code == 200
        assert (await stage.http.get("/question")).json() == []

    on_server(tmp_path, check, scenario(Call("question", QUESTION), "never"))
