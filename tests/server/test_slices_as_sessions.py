"""Actors as clients see them that know sessions alone: every slice is a session of its own."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from server_stage import Served, on_server, text_of

from roost.server.slices import parse_id, slice_id
from scripted_model.picture import Request
from scripted_model.scenario import Barrier, Call, Reply, Text, reply

ORDER = {
    "action": "run",
    "subagent_type": "general",
    "description": "Count things",
    "prompt": "CHILD: count",
}
ASKING = {"permission": {"bash": {"*": "allow", "touch *": "ask"}}}


def family(request: Request) -> Reply:
    """`main` lets a child count; the child asks for what is not allowed, then waits at a gate."""
    said = " ".join(message.text for message in request.messages if message.role == "user")
    if "CHILD" in said:
        if not request.results:
            return reply(Call("bash", {"command": "touch made", "description": "Make it"}))
        return reply((Text("It is "), Barrier("gate"), Text("42.")))
    if request.results:
        return reply("The child says 42.")
    return reply(Call("actor", {"operation": ORDER}))


async def until(events: AsyncIterator[dict[str, Any]], type_: str, **about: Any) -> dict[str, Any]:
    """The next event of a type with those properties."""
    async with asyncio.timeout(20):
        async for event in events:
            properties = event["properties"]
            if event["type"] == type_ and all(properties.get(k) == v for k, v in about.items()):
                return properties
    raise AssertionError(type_)


@pytest.mark.parametrize("actor_id", ["explore-1", "docs/writer-2", "a.b%-3", "写-1"])
def test_the_id_of_a_slice_names_its_session_and_its_actor(actor_id: str) -> None:
    identifier = slice_id("ses_0123", actor_id)
    assert identifier.startswith("ses_")
    assert "/" not in identifier
    assert parse_id(identifier) == ("ses_0123", actor_id)


def test_the_slice_of_the_one_that_fronts_the_session_is_the_session() -> None:
    assert slice_id("ses_0123", None) == "ses_0123"
    assert parse_id("ses_0123") == ("ses_0123", None)


def test_a_subagent_is_told_seen_asked_for_and_read_as_a_child_session(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        http = stage.plain
        main = await stage.session()
        child = slice_id(main, "general-1")
        async with stage.events(client=http) as events:
            given = {"parts": [{"type": "text", "text": "go"}]}
            answer = asyncio.create_task(http.post(f"/session/{main}/message", json=given))
            made = await until(events, "session.created", sessionID=child)
            assert made["info"]["parentID"] == main
            assert made["info"]["title"] == "Count things (@general subagent)"
            assert (await until(events, "session.status"))["sessionID"] == child

            asked = await until(events, "permission.asked")
            assert asked["sessionID"] == child
            (listed,) = (await http.get("/permission")).json()
            assert (listed["id"], listed["sessionID"]) == (asked["id"], child)
            statuses = (await http.get("/session/status")).json()
            assert {main, child} <= set(statuses)
            reply_path = f"/permission/{asked['id']}/reply"
            assert (await http.post(reply_path, json={"reply": "once"})).json() is True
            assert (await until(events, "permission.replied"))["sessionID"] == child

            delta = await until(events, "message.part.delta")
            assert (delta["sessionID"], delta["delta"]) == (child, "It is ")
            part = await _running_task(http, main)
            assert part["state"]["input"] == {
                "description": "Count things",
                "prompt": "CHILD: count",
                "subagent_type": "general",
            }
            assert part["state"]["metadata"]["sessionId"] == child
            stage.model.release("gate")
            await until(events, "session.idle", sessionID=child)
            await until(events, "session.idle", sessionID=main)
        assert text_of((await answer).json()) == "The child says 42."

        assert (await http.get(f"/session/{child}")).json()["id"] == child
        said = (await http.get(f"/session/{child}/message")).json()
        assert {message["info"]["sessionID"] for message in said} == {child}
        assert {part["sessionID"] for message in said for part in message["parts"]} == {child}
        assert text_of(said[-1]) == "It is 42."
        assert (await http.get(f"/session/{child}/todo")).json() == []
        assert [one["id"] for one in (await http.get(f"/session/{main}/children")).json()] == [
            child
        ]
        assert [one["id"] for one in (await http.get("/session")).json()] == [main, child]
        roots = (await http.get("/session?roots=true")).json()
        assert [one["id"] for one in roots] == [main]

    on_server(tmp_path, check, script=family, config=ASKING)


async def _running_task(http: Any, session_id: str) -> dict[str, Any]:
    messages = (await http.get(f"/session/{session_id}/message")).json()
    (part,) = [part for part in messages[-1]["parts"] if part["type"] == "tool"]
    assert (part["tool"], part["state"]["status"]) == ("task", "running")
    return part


def test_a_slice_is_spoken_to_and_stopped_by_its_id(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        http = stage.plain
        main = await stage.session()
        child = slice_id(main, "general-1")
        given = {"parts": [{"type": "text", "text": "go"}]}
        answer = asyncio.create_task(http.post(f"/session/{main}/message", json=given))
        async with asyncio.timeout(20):
            while not (await http.get("/permission")).json():
                await asyncio.sleep(0.02)
        assert (await http.post(f"/session/{child}/abort")).json() is True
        assert text_of((await answer).json()) == "The child says 42."
        later = {"parts": [{"type": "text", "text": "CHILD: once more"}]}
        assert (await http.post(f"/session/{child}/prompt_async", json=later)).status_code == 204
        await asyncio.to_thread(stage.model.wait_for_barrier, "gate")
        said = (await http.get(f"/session/{child}/message")).json()
        assert "CHILD: once more" in [text_of(message) for message in said]
        stage.model.release("gate")

    on_server(tmp_path, check, script=family, config=ASKING)


def test_a_slice_is_changed_by_nothing_that_is_for_whole_sessions(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        http = stage.plain
        main = await stage.session()
        for actor_id, status in (("main", 400), ("nobody-1", 404)):
            path = f"/session/{slice_id(main, actor_id)}"
            assert (await http.delete(path)).status_code == status
            assert (await http.patch(path, json={"title": "x"})).status_code == status
        assert (await http.get(f"/session/{main}")).json()["title"] != "x"

    on_server(tmp_path, check)


def test_clients_that_know_actors_see_them_in_their_session(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        main = await stage.session()
        async with stage.events() as events:
            answer = asyncio.create_task(stage.prompt(main, "go"))
            asked = await until(events, "permission.asked")
            assert (asked["sessionID"], asked["actorID"]) == (main, "general-1")
            await stage.http.post(f"/permission/{asked['id']}/reply", json={"reply": "once"})
            assert (await until(events, "message.part.delta"))["sessionID"] == main
            stage.model.release("gate")
            await until(events, "turn.ended", actorID="main")
        await answer
        said = (await stage.http.get(f"/session/{main}/message")).json()
        (part,) = [part for part in said[1]["parts"] if part["type"] == "tool"]
        assert part["tool"] == "actor"
        assert [one["id"] for one in (await stage.http.get("/session")).json()] == [main]

    on_server(tmp_path, check, script=family, config=ASKING)


def test_events_go_on_after_the_last_one_seen_in_either_view(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        main = await stage.session()
        async with stage.plain.stream("GET", "/event") as response:
            await stage.session()
            seen = [await _next_id(response.aiter_lines())]
        await stage.session()
        headers = {"Last-Event-ID": seen[0]}
        async with stage.events(client=stage.plain, **headers) as events:
            made = await until(events, "session.created")
            assert made["sessionID"] != main

    on_server(tmp_path, check)


async def _next_id(lines: AsyncIterator[str]) -> str:
    async with asyncio.timeout(20):
        async for line in lines:
            if line.startswith("id: "):
                return line.removeprefix("id: ")
    raise AssertionError("no event with an id")


def test_tools_carry_the_names_and_arguments_that_opencode_shows_them_by(tmp_path: Path) -> None:
    calls = (
        Call("task", {"action": "create", "summary": "First"}),
        Call("task", {"action": "list"}),
        Call("actor", {"operation": {"action": "status"}}),
        Call("bash", {"command": "true", "description": "Do nothing"}),
    )

    def play(request: Request) -> Reply:
        return reply("done") if request.results else reply(calls)

    async def check(stage: Served) -> None:
        session_id = await stage.session()
        await stage.prompt(session_id, "go")
        said = (await stage.plain.get(f"/session/{session_id}/message")).json()
        written, read, status, command = [
            part for part in said[1]["parts"] if part["type"] == "tool"
        ]
        todo = {"content": "T1 First", "status": "pending", "priority": "medium"}
        assert written["tool"] == "todowrite"
        assert written["state"]["input"]["todos"] == [todo]
        assert written["state"]["metadata"]["todos"] == [todo]
        assert read["tool"] == "todoread"
        assert status["tool"] == "actor"
        assert command["state"]["metadata"]["output"] == "(no output)"

    on_server(tmp_path, check, script=play)


def test_a_prompt_switches_tools_off_by_the_names_that_its_client_knows(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        for client, names in (
            (stage.plain, ("task", "todowrite")),
            (stage.http, ("actor", "task")),
        ):
            session_id = await stage.session()
            for off in names:
                given = {"parts": [{"type": "text", "text": "go"}], "tools": {off: False}}
                await client.post(f"/session/{session_id}/message", json=given)
                meant = (
                    {"task": "actor", "todowrite": "task"}[off] if client is stage.plain else off
                )
                offered = stage.model.requests[-1].request.tool_names
                assert {"actor", "task"} - set(offered) == {meant}
            said = (await client.get(f"/session/{session_id}/message")).json()
            prompts = [one["info"]["tools"] for one in said if one["info"]["role"] == "user"]
            assert prompts == [{off: False} for off in names]

    on_server(tmp_path, check)


WAITING = {"type": "notice", "message": "Waiting for mail"}


def waiter(request: Request) -> Reply:
    """`main` spawns a child and waits for its mail; the child works until a gate opens."""
    said = " ".join(message.text for message in request.messages if message.role == "user")
    if "CHILD" in said:
        return reply((Barrier("gate"), Text("**Status**: success\n\nDone.")))
    if not request.results:
        return reply(Call("actor", {"operation": {**ORDER, "action": "spawn"}}))
    if "actor_notification" not in said and "Done." not in said:
        return reply(Call("actor", {"operation": {"action": "wait"}}))
    return reply("All is done.")


def test_a_wait_for_mail_is_a_notice_and_busy_to_those_that_know_none(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        main = await stage.session()
        async with stage.events() as events, stage.events(client=stage.plain) as plain:
            answer = asyncio.create_task(stage.prompt(main, "go"))
            await until(events, "session.status", sessionID=main, status=WAITING)
            assert (await stage.http.get("/session/status")).json()[main] == WAITING
            assert (await stage.plain.get("/session/status")).json()[main] == {"type": "busy"}
            stage.model.release("gate")
            await until(events, "session.status", sessionID=main, status={"type": "busy"})
            seen = [one async for one in _statuses(plain, main)]
        assert text_of((await answer).json()) == "All is done."
        assert set(seen[:-1]) == {"busy"}
        assert seen[-1] == "idle"

    on_server(tmp_path, check, script=waiter)


async def _statuses(events: AsyncIterator[dict[str, Any]], session_id: str) -> AsyncIterator[str]:
    async with asyncio.timeout(20):
        async for event in events:
            about = event["properties"]
            if event["type"] == "session.status" and about["sessionID"] == session_id:
                yield about["status"]["type"]
                if about["status"]["type"] == "idle":
                    return
