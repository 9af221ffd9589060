"""Messages to a team, from actors at work: each member once, all or none, within the limits."""

import asyncio
import json
from pathlib import Path
from typing import Any

from runtime_stage import Desk
from test_runtime import at_desk

from roost.actors import store as actors
from roost.actors import teams
from roost.actors.teams import Team
from roost.inbox.listing import listed
from roost.inbox.models import Address, InboxRow, NoteBody
from roost.sessions.models import MAIN, Session
from scripted_model.picture import Request
from scripted_model.scenario import Barrier, Call, Reply, Text, reply


def plays(request: Request) -> Reply:
    """`do {...}` calls the tool `team`, `wait` waits at a gate, all else is taken note of."""
    words = request.last_user_text.strip().splitlines()[-1]
    if request.messages[-1].results:
        return reply("done")
    if words.startswith("do "):
        return reply(Call("team", json.loads(words.removeprefix("do "))))
    if words == "wait":
        return reply((Barrier("gate"), Text("waited")))
    return reply("noted")


def do(**arguments: Any) -> str:
    return f"do {json.dumps(arguments)}"


async def in_team(place: Desk, *roles: str) -> list[Session]:
    """A session for each role, all in the team `backend`; the first has made it."""
    sessions = [await place.session() for _ in roles]
    for at, (session, role) in enumerate(zip(sessions, roles, strict=True)):
        action = "join" if at else "create"
        await place.ask(session.id, do(action=action, name="backend", role=role))
    return sessions


async def the_team(place: Desk) -> Team:
    (team,) = await place.runtime.database.read(lambda db: teams.listed(db, None))
    return team


async def mail(place: Desk, session: Session) -> list[InboxRow]:
    """What other actors said to the first one of a session."""
    rows = await place.runtime.database.read(lambda db: listed(db, session.id))
    return [row for row in rows if row.kind == "message"]


def test_a_message_reaches_each_other_member_once_and_wakes_who_sleeps(tmp_path: Path) -> None:
    async def check(place: Desk) -> None:
        lead, tests, docs = await in_team(place, "lead", "tests", "docs")
        assert [one.role for one in (await the_team(place)).members] == ["lead", "tests", "docs"]
        await place.prompt(docs.id, "wait")
        await place.reached("gate")
        with place.runtime.bus.subscribe(lambda event: event.type == "team.message") as heard:
            await place.ask(lead.id, do(action="send", name="backend", text="the API changed"))
            (told,) = heard.take()
        assert [one.busy for one in told.properties["receipts"]] == [False, True]
        place.model.release("gate")
        for member in (tests, docs):
            await place.runtime.wait_idle(member.id)
            (row,) = await mail(place, member)
            assert isinstance(row.body, NoteBody)
            assert (row.body.text, row.state, row.hops) == ("the API changed", "delivered", 1)
            assert row.body.subject == f"to the team backend; from {lead.id} (lead)"
        assert await mail(place, lead) == []
        assert (await place.runtime.actor(Address(tests.id, MAIN))).turns == 2

    at_desk(tmp_path, check, script=plays)


def test_a_message_to_a_role_reaches_that_role_alone(tmp_path: Path) -> None:
    async def check(place: Desk) -> None:
        lead, tests, docs = await in_team(place, "lead", "tests", "docs")
        order = do(action="send", name="backend", text="look", role="docs")
        await place.ask(lead.id, order)
        await place.runtime.wait_idle(docs.id)
        assert [len(await mail(place, one)) for one in (tests, docs)] == [0, 1]

    at_desk(tmp_path, check, script=plays)


def test_a_member_that_a_person_stopped_is_not_woken_and_the_sender_knows(tmp_path: Path) -> None:
    async def check(place: Desk) -> None:
        lead, tests = await in_team(place, "lead", "tests")
        await place.prompt(tests.id, "wait")
        await place.reached("gate")
        await place.runtime.abort(tests.id)
        await place.runtime.wait_idle(tests.id)
        await place.ask(lead.id, do(action="send", name="backend", text="look"))
        assert "was stopped by the user" in place.model.requests[-1].request.all_text
        assert (await place.runtime.actor(Address(tests.id, MAIN))).status == "idle"
        await place.ask(tests.id, "go on")
        assert [row.state for row in await mail(place, tests)] == ["delivered"]

    at_desk(tmp_path, check, script=plays)


def test_who_is_no_member_is_told_to_join_first(tmp_path: Path) -> None:
    async def check(place: Desk) -> None:
        await in_team(place, "lead", "tests")
        stranger = await place.session()
        await place.ask(stranger.id, do(action="send", name="backend", text="hello"))
        said = place.model.requests[-1].request.all_text
        assert "you are no member of the team backend" in said

    at_desk(tmp_path, check, script=plays)


def test_messages_without_a_person_among_them_come_to_an_end(tmp_path: Path) -> None:
    async def check(place: Desk) -> None:
        lead, tests = await in_team(place, "lead", "tests")
        answer = do(action="send", name="backend", text="DO")

        def echo(request: Request) -> Reply:
            if request.messages[-1].results:
                return reply("done")
            return reply(Call("team", json.loads(answer.removeprefix("do "))))

        place.model.use(echo)
        with place.runtime.bus.subscribe(lambda event: event.type == "team.message") as heard:
            await place.prompt(lead.id, "begin")
            while True:
                told = (await heard.batch())[-1]
                (reached,) = told.properties["receipts"]
                if reached.error:
                    break
        assert "messages went from actor to actor without a person" in reached.error
        for session in (lead, tests):
            await place.runtime.wait_idle(session.id)
        rows = [row for one in (lead, tests) for row in await mail(place, one)]
        assert max(row.hops for row in rows) == 3

    at_desk(tmp_path, check, script=plays, config={"actors": {"hops": 3}})


def test_a_deleted_session_is_in_no_team_any_more(tmp_path: Path) -> None:
    async def check(place: Desk) -> None:
        _, tests = await in_team(place, "lead", "tests")
        await place.runtime.delete_session(tests.id)
        assert [one.role for one in (await the_team(place)).members] == ["lead"]
        found = await place.runtime.database.read(
            lambda db: actors.find(db, Address(tests.id, MAIN))
        )
        assert found is None

    at_desk(tmp_path, check, script=plays)


def test_two_who_make_the_same_team_at_once_get_one(tmp_path: Path) -> None:
    async def check(place: Desk) -> None:
        first, second = await place.session(), await place.session()
        order = do(action="create", name="backend")
        await asyncio.gather(*(place.ask(one.id, order) for one in (first, second)))
        assert len((await the_team(place)).members) == 1
        said = [request.request.all_text for request in place.model.requests]
        assert any("there is a team backend in this project already" in text for text in said)

    at_desk(tmp_path, check, script=plays)
