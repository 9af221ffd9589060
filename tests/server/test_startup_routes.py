"""What OpenCode's terminal interfaces ask for when they start, and what is not offered."""

import asyncio
import re
from pathlib import Path
from typing import Any

from server_stage import Served, on_server

from roost.server.routes.absent import ROUTES

OLD_STARTUP = (
    "/path",
    "/project/current",
    "/config/providers",
    "/provider",
    "/experimental/console",
    "/agent",
    "/config",
    "/session?start=0&path=",
    "/command",
    "/lsp",
    "/mcp",
    "/experimental/resource",
    "/formatter",
    "/session/status",
    "/provider/auth",
    "/vcs",
    "/experimental/workspace",
    "/experimental/workspace/status",
)
NEW_STARTUP = (
    "/experimental/capabilities",
    "/api/location",
    "/api/agent",
    "/api/integration",
    "/api/model",
    "/api/provider",
    "/api/reference",
    "/api/command",
    "/api/skill",
)


def answered(answer: Any) -> Any:
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/json"
    return answer.json()


def test_every_route_that_a_terminal_interface_reads_at_its_start_answers(
    tmp_path: Path,
) -> None:
    async def check(stage: Served) -> None:
        for path in (*OLD_STARTUP, *NEW_STARTUP):
            answered(await stage.http.get(path, params={"directory": str(stage.project)}))
        identity = answered(await stage.http.get("/project/current"))["id"]
        folders = answered(await stage.http.get(f"/project/{identity}/directories"))
        assert folders == [{"directory": str(stage.project)}]
        assert (await stage.http.get("/project/other/directories")).status_code == 404

    on_server(tmp_path, check)


def test_answers_of_the_second_api_name_the_place_they_are_about(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        place = {"location[directory]": str(stage.project)}
        location = answered(await stage.http.get("/api/location", params=place))
        assert location["directory"] == str(stage.project)
        for path in ("/api/agent", "/api/model", "/api/skill"):
            assert answered(await stage.http.get(path, params=place))["location"] == location
        (model,) = answered(await stage.http.get("/api/model", params=place))["data"]
        assert (model["providerID"], model["id"]) == ("test", "scripted")
        assert model["limit"] == {"context": 200_000, "output": 8_000}
        outside = {"location[directory]": "/etc"}
        assert (await stage.http.get("/api/agent", params=outside)).status_code == 403

    on_server(tmp_path, check)


def test_the_catalogue_that_every_client_loads_is_small(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        answer = await stage.http.get("/provider")
        found = answered(answer)
        assert found["connected"] == ["test"]
        assert {one["id"] for one in found["all"]} > {"test", "anthropic", "openai"}
        assert [one["id"] for one in found["all"] if one["models"]] == ["test"]
        assert len(answer.content) < 10_000

    on_server(tmp_path, check)


def test_what_roost_does_not_do_is_refused_by_name_with_a_reason(tmp_path: Path) -> None:
    refused = [one for one in ROUTES if one.name.startswith("no_")]
    assert len(refused) > 20

    async def check(stage: Served) -> None:
        session_id = await stage.session()
        for one in refused:
            path = re.sub(r"\{sessionID\}", session_id, one.path)
            answer = await stage.http.request(one.method, re.sub(r"\{\w+\}", "some", path))
            assert answer.status_code == 501, one.path
            problem = answer.json()
            assert problem["name"] == "NotOfferedError"
            assert problem["data"]["message"]


def test_a_conversation_is_shortened_for_an_interface(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        session_id = await stage.session()
        await stage.prompt(session_id, "Build a parser. " * 200)
        async with stage.events() as events:
            body = {"providerID": "test", "modelID": "scripted"}
            assert answered(await stage.http.post(f"/session/{session_id}/summarize", json=body))
            async with asyncio.timeout(20):
                told = await anext(e async for e in events if e["type"] == "session.compacted")
        assert told["properties"]["sessionID"] == session_id
        messages = answered(await stage.http.get(f"/session/{session_id}/message"))
        kinds = [part["type"] for message in messages for part in message["parts"]]
        assert "compaction" in kinds

    on_server(tmp_path, check)


def test_a_server_does_not_upgrade_itself(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        assert answered(await stage.http.post("/global/upgrade"))["success"] is False

    on_server(tmp_path, check)


def test_a_folder_is_made_a_repository_once(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        assert "vcs" not in answered(await stage.http.get("/project/current"))
        assert answered(await stage.http.post("/project/git/init"))["vcs"] == "git"
        assert (stage.project / ".git").is_dir()
        assert answered(await stage.http.post("/project/git/init"))["vcs"] == "git"

    on_server(tmp_path, check)


def test_all_folders_read_their_configuration_again(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        assert answered(await stage.http.get("/agent"))
        (stage.project / ".roost").mkdir()
        page = "---\ndescription: greets\n---\nSay hello."
        (stage.project / ".roost" / "commands").mkdir()
        (stage.project / ".roost" / "commands" / "hail.md").write_text(page)
        assert answered(await stage.http.post("/global/dispose")) is True
        names = {one["name"] for one in answered(await stage.http.get("/command"))}
        assert "hail" in names

    on_server(tmp_path, check)
