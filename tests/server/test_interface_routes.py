"""Terminal interfaces driven from outside."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from server_stage import Served, on_server

ASKED: list[tuple[str, dict[str, Any] | None, str, dict[str, Any]]] = [
    ("append-prompt", {"text": "words"}, "tui.prompt.append", {"text": "words"}),
    ("open-help", None, "tui.command.execute", {"command": "help.show"}),
    ("open-sessions", None, "tui.command.execute", {"command": "session.list"}),
    ("open-themes", None, "tui.command.execute", {"command": "theme.switch"}),
    ("open-models", None, "tui.command.execute", {"command": "model.list"}),
    ("submit-prompt", None, "tui.command.execute", {"command": "prompt.submit"}),
    ("clear-prompt", None, "tui.command.execute", {"command": "prompt.clear"}),
    (
        "execute-command",
        {"command": "messages_first"},
        "tui.command.execute",
        {"command": "session.first"},
    ),
    (
        "execute-command",
        {"command": "session.compact"},
        "tui.command.execute",
        {"command": "session.compact"},
    ),
    (
        "show-toast",
        {"message": "Done", "variant": "success", "duration": 500},
        "tui.toast.show",
        {"message": "Done", "variant": "success", "duration": 500},
    ),
    (
        "publish",
        {"type": "tui.toast.show", "properties": {"message": "Hi", "variant": "info"}},
        "tui.toast.show",
        {"message": "Hi", "variant": "info"},
    ),
]


@pytest.mark.parametrize(("path", "body", "type_", "told"), ASKED, ids=lambda one: str(one)[:30])
def test_what_is_asked_of_an_interface_is_told_to_those_that_show_the_folder(
    tmp_path: Path, path: str, body: dict[str, Any] | None, type_: str, told: dict[str, Any]
) -> None:
    async def check(stage: Served) -> None:
        async with stage.events("/global/event", client=stage.plain) as events:
            assert (await stage.plain.post(f"/tui/{path}", json=body)).json() is True
            async with asyncio.timeout(20):
                async for event in events:
                    if event["payload"]["type"] == type_:
                        break
        assert event["payload"]["properties"] == told
        assert event["directory"] == str(stage.project)

    on_server(tmp_path, check)


def test_only_a_session_that_is_there_is_shown(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        session_id = await stage.session()
        path = "/tui/select-session"
        assert (await stage.http.post(path, json={"sessionID": session_id})).json() is True
        assert (await stage.http.post(path, json={"sessionID": "ses_none"})).status_code == 404
        asked = {"type": "tui.session.select", "properties": {"sessionID": "ses_none"}}
        assert (await stage.http.post("/tui/publish", json=asked)).status_code == 404

    on_server(tmp_path, check)
