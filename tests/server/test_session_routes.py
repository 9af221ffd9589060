"""Sessions over HTTP, in OpenCode's shapes."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from server_stage import Served, served

from scripted_model.scenario import Barrier, scenario, step


def on_server(folder: Path, check: Callable[[Served], Awaitable[None]], **more: Any) -> None:
    async def run() -> None:
        async with served(folder, **more) as stage:
            await check(stage)

    asyncio.run(run())


def test_a_session_is_made_read_changed_and_deleted(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        http = stage.http
        made = (await http.post("/session", json={"title": "First", "agent": "build"})).json()
        assert made["title"] == "First"
        assert made["directory"] == str(stage.project)
        assert made["id"].startswith("ses_")
        path = f"/session/{made['id']}"
        assert (await http.get(path)).json() == made
        renamed = (await http.patch(path, json={"title": "Second"})).json()
        assert renamed["title"] == "Second"
        archived = (await http.patch(path, json={"time": {"archived": 5}})).json()
        assert archived["time"]["archived"] == 5
        back = (await http.patch(path, json={"time": {"archived": 0}})).json()
        assert "archived" not in back["time"]
        rule = {"permission": "bash", "pattern": "*", "action": "deny"}
        ruled = (await http.patch(path, json={"permission": [rule]})).json()
        assert ruled["permission"] == [rule]
        assert (await http.delete(path)).json() is True
        gone = await http.get(path)
        assert gone.status_code == 404
        assert gone.json()["name"] == "NotFoundError"
        assert made["id"] in gone.json()["data"]["message"]

    on_server(tmp_path, check)


def test_a_session_can_be_made_without_a_body(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        assert (await stage.http.post("/session")).status_code == 200

    on_server(tmp_path, check)


def test_two_renames_from_the_same_revision_conflict(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        path = f"/session/{await stage.session()}"
        revision = (await stage.http.get(path)).json().get("revision", 0)
        first = {"title": "A", "expectedRevision": revision}
        assert (await stage.http.patch(path, json=first)).status_code == 200
        second = await stage.http.patch(path, json={"title": "B", "expectedRevision": revision})
        assert second.status_code == 409
        assert (await stage.http.get(path)).json()["title"] == "A"

    on_server(tmp_path, check)


def test_the_list_is_filtered_and_newest_first(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        first = await stage.session(title="apple")
        second = await stage.session(title="pear")
        child = await stage.session(title="apple core", parentID=second)

        async def listed(**query: Any) -> list[str]:
            return [one["id"] for one in (await stage.http.get("/session", params=query)).json()]

        assert await listed() == [child, second, first]
        assert await listed(roots="true") == [second, first]
        assert await listed(search="APPLE") == [child, first]
        assert await listed(limit=1) == [child]
        assert await listed(start=9_000_000_000_000) == []
        assert await listed(scope="project") == [child, second, first]
        children = await stage.http.get(f"/session/{second}/children")
        assert [one["id"] for one in children.json()] == [child]

    on_server(tmp_path, check)


@pytest.mark.parametrize(
    "query",
    [{"limit": "many"}, {"limit": 0}, {"start": -1}, {"start": 2**70}, {"roots": "perhaps"}],
)
def test_a_query_of_the_wrong_type_is_a_400(tmp_path: Path, query: dict[str, Any]) -> None:
    async def check(stage: Served) -> None:
        assert (await stage.http.get("/session", params=query)).status_code == 400

    on_server(tmp_path, check)


def test_the_status_lists_who_is_busy_and_abort_ends_it(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        session_id = await stage.session()
        assert (await stage.http.get("/session/status")).json() == {}
        waiting = asyncio.create_task(stage.prompt(session_id, "ping"))
        await asyncio.to_thread(stage.model.wait_for_barrier, "gate")
        assert (await stage.http.get("/session/status")).json() == {session_id: {"type": "busy"}}
        turn = (await stage.http.get(f"/session/{session_id}/turns")).json()[0]["id"]
        wrong = await stage.http.post(
            f"/session/{session_id}/abort", params={"turn_id": "trn_other"}
        )
        assert wrong.json() is False
        assert (await stage.http.get("/session/status")).json() != {}
        right = await stage.http.post(f"/session/{session_id}/abort", params={"turn_id": turn})
        assert right.json() is True
        answer = (await waiting).json()
        assert answer["info"]["error"]["name"] == "MessageAbortedError"
        assert (await stage.http.get("/session/status")).json() == {}
        again = await stage.http.post(f"/session/{session_id}/abort", params={"turn_id": turn})
        assert again.json() is False
        assert (await stage.http.post(f"/session/{session_id}/abort")).json() is True

    on_server(tmp_path, check, script=scenario(step(Barrier("gate"), "never")))


def test_unknown_routes_and_methods_are_told_in_json(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        for path in ("/", "/nowhere", "/session/", "/experimental/nothing", "/session/a/b/c"):
            answer = await stage.http.get(path)
            assert answer.status_code == 404
            assert answer.headers["content-type"] == "application/json"
            assert answer.json()["name"] == "NotFoundError"
        wrong = await stage.http.put("/session")
        assert wrong.status_code == 405
        assert wrong.headers["allow"] == "GET, POST"
        assert (await stage.http.head("/session")).status_code == 200
        assert (await stage.http.head("/event")).status_code == 405

    on_server(tmp_path, check)
