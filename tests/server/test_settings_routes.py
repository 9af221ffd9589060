"""Settings and keys that clients change."""

import json
import stat
from pathlib import Path
from typing import Any

from server_stage import Served, on_server

GREET = {"command": {"greet": {"template": "Say hi."}}}


def user_folder(tmp_path: Path) -> Path:
    return tmp_path / "home" / "config"


def test_settings_of_the_user_are_merged_checked_and_in_force_at_once(tmp_path: Path) -> None:
    file = user_folder(tmp_path) / "roost.json"

    async def check(stage: Served) -> None:
        http = stage.http
        shown = (await http.patch("/global/config", json={"username": "kim", **GREET})).json()
        assert shown == {"username": "kim", **GREET}
        assert (await http.get("/config")).json()["username"] == "kim"
        shown = (await http.patch("/global/config", json={"username": None})).json()
        assert shown == GREET
        assert json.loads(file.read_text()) == GREET
        wrong = await http.patch("/global/config", json={"username": 5})
        assert wrong.status_code == 400
        assert wrong.json()["name"] == "ConfigError"
        assert json.loads(file.read_text()) == GREET

    on_server(tmp_path, check)


def test_a_mask_that_a_client_sends_back_changes_no_secret(tmp_path: Path) -> None:
    provider = {"mine": {"api": "http://127.0.0.1:9/v1", "options": {"apiKey": "secret-1"}}}

    async def check(stage: Served) -> None:
        http = stage.http
        await http.patch("/global/config", json={"provider": provider})
        shown = (await http.get("/global/config")).json()
        assert "secret-1" not in json.dumps(shown)
        await http.patch("/global/config", json=shown)
        kept = json.loads((user_folder(tmp_path) / "roost.json").read_text())
        assert kept["provider"] == provider

    on_server(tmp_path, check)


def test_a_file_with_comments_is_left_to_its_user(tmp_path: Path) -> None:
    text = '{\n  // mine\n  "username": "kim"\n}\n'
    user_folder(tmp_path).mkdir(parents=True)
    (user_folder(tmp_path) / "roost.jsonc").write_text(text)

    async def check(stage: Served) -> None:
        answer = await stage.http.patch("/global/config", json={"username": "lee"})
        assert answer.status_code == 409
        assert "comments" in answer.json()["data"]["message"]
        assert (user_folder(tmp_path) / "roost.jsonc").read_text() == text

    on_server(tmp_path, check)


def test_settings_of_a_folder_stay_trusted_when_a_client_changes_them(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        model = {"agent": {"reviewer": {"prompt": "Review.", "mode": "primary"}}}
        assert (await stage.http.patch("/config", json=model)).status_code == 200
        assert json.loads((stage.project / "roost.json").read_text()) == model
        names = {one["name"] for one in (await stage.http.get("/agent")).json()}
        assert "reviewer" in names

    on_server(tmp_path, check)


def test_settings_of_a_folder_that_is_not_trusted_are_not_changed(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    file = tmp_path / "project" / "roost.json"
    file.write_text('{"model": "else/where"}')

    async def check(stage: Served) -> None:
        answer = await stage.http.patch("/config", json=GREET)
        assert answer.status_code == 403
        assert "roost config trust" in answer.json()["data"]["hint"]
        assert file.read_text() == '{"model": "else/where"}'

    on_server(tmp_path, check)


def test_a_key_is_kept_for_its_user_alone_and_sets_its_provider_up(tmp_path: Path) -> None:
    file = user_folder(tmp_path) / "keys.json"

    async def check(stage: Served) -> None:
        http = stage.http
        assert "anthropic" not in await connected(stage)
        answer = await http.put("/auth/anthropic", json={"type": "api", "key": "sk-1"})
        assert answer.json() is True
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert "anthropic" in await connected(stage)
        assert "sk-1" not in (await http.get("/config")).text
        assert (await http.delete("/auth/anthropic")).json() is True
        assert "anthropic" not in await connected(stage)
        assert "sk-1" not in file.read_text()

    on_server(tmp_path, check)


async def connected(stage: Served) -> list[str]:
    found: dict[str, Any] = (await stage.http.get("/provider")).json()
    return found["connected"]


def test_a_key_given_through_the_second_api_is_the_same(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        path = "/api/integration/openai/connect/key"
        assert (await stage.http.post(path, json={"key": "sk-2"})).status_code == 204
        assert "openai" in await connected(stage)

    on_server(tmp_path, check)


def test_what_is_no_key_is_refused(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        http = stage.http
        for key in (" ", "{file:/etc/passwd}", "{env:HOME}"):
            answer = await http.put("/auth/openai", json={"type": "api", "key": key})
            assert answer.status_code == 400
        oauth = {"type": "oauth", "refresh": "r", "access": "a", "expires": 0}
        assert (await http.put("/auth/openai", json=oauth)).status_code == 400
        assert not (user_folder(tmp_path) / "keys.json").exists()

    on_server(tmp_path, check)
