"""Teams over HTTP: made, joined, spoken to by a person, left."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from server_stage import Served
from test_actor_routes import gated, mail, on_server

from roost.actors import teams
from roost.server.event_shapes import TeamMessage


async def team_of(stage: Served, **roles: str) -> tuple[str, dict[str, str]]:
    """A team with a session for each role."""
    made = await stage.http.post("/team", json={"name": "backend", "purpose": "The API"})
    assert made.status_code == 200, made.text
    team_id = made.json()["id"]
    sessions: dict[str, str] = {}
    for name, role in roles.items():
        sessions[name] = await stage.session(title=name)
        joined = await stage.http.post(
            f"/team/{team_id}/member", json={"sessionID": sessions[name], "role": role}
        )
        assert joined.status_code == 200, joined.text
    return team_id, sessions


def test_a_team_is_made_joined_listed_left_and_removed(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        http = stage.http
        assert (await http.get("/team")).json() == []
        team_id, sessions = await team_of(stage, one="tests", two="")
        (listed,) = (await http.get("/team")).json()
        assert listed == (await http.get(f"/team/{team_id}")).json()
        assert (listed["name"], listed["purpose"]) == ("backend", "The API")
        assert [(one["title"], one["role"], one["status"]) for one in listed["members"]] == [
            ("one", "tests", "idle"),
            ("two", "member", "idle"),
        ]
        path = f"/team/{team_id}/member/{sessions['one']}/main"
        left = await http.delete(path)
        assert [one["title"] for one in left.json()["members"]] == ["two"]
        assert (await http.delete(path)).status_code == 404
        assert (await http.delete(f"/session/{sessions['two']}")).json() is True
        assert (await http.get(f"/team/{team_id}")).json()["members"] == []
        assert (await http.delete(f"/team/{team_id}")).json() is True
        assert (await http.get(f"/team/{team_id}")).status_code == 404

    on_server(tmp_path, check)


def test_words_of_a_person_reach_every_member_or_those_of_a_role(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        team_id, sessions = await team_of(stage, one="tests", two="docs")
        path = f"/team/{team_id}/message"
        async with stage.events() as events:
            told = await stage.http.post(path, json={"text": "stop at five"})
            assert [one["role"] for one in told.json()["receipts"]] == ["tests", "docs"]
            assert all(one["inboxID"] for one in told.json()["receipts"])
            async for event in events:
                if event["type"] == "team.message":
                    msgspec.convert(event["properties"], TeamMessage)
                    assert event["properties"]["text"] == "stop at five"
                    assert event["properties"]["sender"] is None
                    break
        for session_id in sessions.values():
            await stage.runtime.wait_idle(session_id)
            (row,) = await mail(stage, session_id)
            assert (row["kind"], row["state"]) == ("prompt", "delivered")
            heard = await stage.texts(session_id)
            assert heard[0].startswith("stop at five")
            assert "to the team backend" in heard[0]
        to_docs = await stage.http.post(path, json={"text": "and you", "role": "docs"})
        assert [one["sessionID"] for one in to_docs.json()["receipts"]] == [sessions["two"]]
        assert len(await mail(stage, sessions["one"])) == 1
        await stage.runtime.wait_idle(sessions["two"])

    on_server(tmp_path, check, script=gated)


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/team", {"name": "backend"}, 409),
        ("POST", "/team", {"name": "  "}, 400),
        ("POST", "/team", {"name": "x" * 100}, 400),
        ("GET", "/team/team_none", None, 404),
        ("DELETE", "/team/team_none", None, 404),
        ("POST", "/team/TEAM/member", {"sessionID": "ses_none"}, 404),
        ("POST", "/team/TEAM/member", {"sessionID": "OTHER"}, 403),
        ("POST", "/team/TEAM/message", {"text": "hello"}, 400),
        ("POST", "/team/TEAM/message", {"text": "hello", "role": "docs"}, 400),
        ("DELETE", "/team/TEAM/member/ses_none/main", None, 404),
        ("GET", "/team/FOREIGN", None, 404),
    ],
)
def test_what_cannot_be_done_is_refused(
    tmp_path: Path, method: str, path: str, body: dict[str, Any] | None, status: int
) -> None:
    async def check(stage: Served) -> None:
        team_id, _ = await team_of(stage)
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        other = await stage.runtime.create_session(elsewhere)
        foreign = await stage.runtime.database.write(
            lambda tx: teams.create(tx, other.project_id, "foreign")
        )
        named = {"TEAM": team_id, "OTHER": other.id, "FOREIGN": foreign.id}
        place, given = path, dict(body or {})
        for word, identifier in named.items():
            place = place.replace(word, identifier)
            given = {key: identifier if value == word else value for key, value in given.items()}
        answer = await stage.http.request(method, place, json=given if body is not None else None)
        assert answer.status_code == status, answer.text
        assert answer.json()["data"]["message"]

    on_server(tmp_path, check)
