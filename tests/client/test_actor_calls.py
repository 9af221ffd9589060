"""Actors through the typed client: looked at, spoken to, stopped."""

import asyncio
from pathlib import Path

import pytest
from server_stage import Served
from test_typed_client import with_client

from roost.client.client import Client
from roost.core.errors import ConflictError, NotFoundError
from scripted_model.scenario import Barrier, scenario, step

GATED = scenario(step(Barrier("gate"), "first"), default="next")


def test_an_actor_is_looked_at_spoken_to_and_stopped(tmp_path: Path) -> None:
    async def check(stage: Served, client: Client) -> None:
        session = await client.create_session()
        assert await client.at_work() == []
        await client.tell_actor(session.id, "main", "begin")
        await asyncio.to_thread(stage.model.wait_for_barrier, "gate")
        (busy,) = await client.at_work()
        assert (busy.session_id, busy.actor_id, busy.liveness) == (
            session.id,
            "main",
            "progressing",
        )
        assert await client.stop_actor(session.id, "main", "forced", tree=True)
        await stage.runtime.wait_idle(session.id)
        assert await client.at_work() == []
        assert not await client.stop_actor(session.id, "main")
        assert (await client.actor(session.id, "main")).outcome == "cancelled"
        (turn,) = await client.actor_turns(session.id, "main")
        assert turn.outcome == "cancelled"
        assert [one.actor_id for one in await client.actor_views(session.id)] == ["main"]
        with pytest.raises(NotFoundError, match="nobody-1"):
            await client.actor(session.id, "nobody-1")

    with_client(tmp_path, check, GATED)


def test_mail_is_sent_listed_and_taken_back(tmp_path: Path) -> None:
    async def check(stage: Served, client: Client) -> None:
        session = await client.create_session()
        first = await client.send(session.id, "begin")
        await asyncio.to_thread(stage.model.wait_for_barrier, "gate")
        second = await client.send(session.id, "and this", "main")
        (queued,) = await client.inbox(session.id, "main", state="queued")
        assert queued["id"] == second["id"]
        await client.withdraw_mail(second["id"])
        with pytest.raises(ConflictError):
            await client.withdraw_mail(second["id"])
        everything = await client.inbox(session.id)
        assert [one["state"] for one in everything] == ["delivered", "rejected"]
        assert everything[0]["id"] == first["id"]
        assert await client.abort(session.id, tree=True)
        stage.model.release("gate")

    with_client(tmp_path, check, GATED)


def test_a_team_is_made_spoken_to_and_left(tmp_path: Path) -> None:
    async def check(stage: Served, client: Client) -> None:
        session = await client.create_session()
        team = await client.create_team("backend", "The API")
        with pytest.raises(ConflictError, match="backend"):
            await client.create_team("backend")
        joined = await client.add_member(team.id, session.id, "tests")
        assert [one.role for one in joined.members] == ["tests"]
        (reached,) = await client.tell_team(team.id, "begin")
        assert (reached.session_id, reached.error) == (session.id, "")
        await stage.runtime.wait_idle(session.id)
        assert (await client.team(team.id)).members == joined.members
        left = await client.remove_member(team.id, session.id, "main")
        assert left.members == ()
        assert await client.teams() == [left]
        await client.delete_team(team.id)
        assert await client.teams() == []

    with_client(tmp_path, check)
