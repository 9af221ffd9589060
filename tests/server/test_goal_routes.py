import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from court import GAP, IMPOSSIBLE, MET, Court, goal_events
from server_stage import Served, served, text_of

from roost.client.client import Client
from roost.core.errors import ConflictError, NotFoundError, UsageError
from scripted_model.scenario import Barrier, Call, Text

Check = Callable[[Served, Client], Awaitable[None]]


def on_server(folder: Path, court: Court, check: Check, **more: Any) -> None:
    async def play() -> None:
        async with served(folder, court, **more) as stage, Client(stage.client_place) as client:
            await check(stage, client)

    asyncio.run(play())


async def command(stage: Served, session_id: str, arguments: str, **more: Any) -> Any:
    body = {"command": "goal", "arguments": arguments, **more}
    answer = await stage.http.post(f"/session/{session_id}/command", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_the_command_gives_a_goal_that_is_the_prompt_and_works_until_it_is_met(
    tmp_path: Path,
) -> None:
    court = Court(["Done.", "Now the tests ran."], [GAP, MET])

    async def check(stage: Served, client: Client) -> None:
        async with stage.events() as events:
            session = await stage.session()
            answer = await command(stage, session, "the tests pass")
            assert text_of(answer) == "Now the tests ran."
            seen: list[dict[str, Any]] = []
            async with asyncio.timeout(10):
                async for event in events:
                    seen.append(event)
                    if event["type"] == "session.idle":
                        break
            assert goal_events(seen) == [("active", None), ("active", "gap"), ("met", "met")]
            executed = [e["properties"] for e in seen if e["type"] == "command.executed"]
            assert [one["name"] for one in executed] == ["goal"]
            asked, _, gap, _ = await stage.texts(session)
            assert asked.startswith("the tests pass")
            assert "is the goal of this session" in asked
            assert "no test was run" in gap
            assert "(1 of 12)" in gap
            assert stage.model.violations == []

    on_server(tmp_path, court, check)
    assert "the tests pass" in court.records()[0]
    assert "| Done." in court.records()[0]


def test_the_goal_is_shown_with_its_history_and_with_the_session(tmp_path: Path) -> None:
    court = Court(["Done.", "Done."], [GAP, MET])

    async def check(stage: Served, client: Client) -> None:
        session = await stage.session()
        assert (await client.goal(session)).goal is None
        given = await client.set_goal(session, "the tests pass")
        assert (await client.session(session)).goal is not None
        await stage.prompt(session, "go")
        view = await client.goal(session)
        assert view.goal is not None
        assert (view.goal.id, view.goal.state, view.goal.reentries) == (given.id, "met", 1)
        assert [one.result for one in view.verdicts] == ["gap", "met"]
        assert all(one.model == "test/scripted" and one.tokens for one in view.verdicts)
        listed = (await stage.http.get("/session")).json()
        assert listed[0]["goal"]["state"] == "met"
        assert listed[0]["goal"]["reason"] == "5 tests passed"
        assert await client.clear_goal(session)
        assert not await client.clear_goal(session)
        assert (await client.session(session)).goal is None
        view = await client.goal(session)
        assert view.goal is not None
        assert view.goal.state == "cleared"

    on_server(tmp_path, court, check)


def test_no_goal_no_judge(tmp_path: Path) -> None:
    court = Court(["Done.", "Done."], [])

    async def check(stage: Served, client: Client) -> None:
        session = await stage.session()
        await stage.prompt(session, "go")
        await client.set_goal(session, "the tests pass")
        await client.clear_goal(session)
        await stage.prompt(session, "go")
        assert court.heard["judge"] == []

    on_server(tmp_path, court, check)


@pytest.mark.parametrize("words", ["clear", "reset", "", " CLEAR "])
def test_the_command_clears_also_while_the_session_works(tmp_path: Path, words: str) -> None:
    court = Court([[Text("At work."), Barrier("work"), Text("Done.")]], [])

    async def check(stage: Served, client: Client) -> None:
        session = await stage.session()
        working = asyncio.create_task(command(stage, session, "the tests pass"))
        await asyncio.to_thread(stage.model.wait_for_barrier, "work")
        answer = await command(stage, session, words)
        assert text_of(answer) == "The goal is cleared: the tests pass"
        assert answer["parts"][0]["ignored"]
        stage.model.release("work")
        assert text_of(await working) == "At work.Done."
        assert court.heard["judge"] == []
        assert len(await stage.texts(session)) == 2
        assert text_of(await command(stage, session, words)) == "There is no goal to clear."
        assert (await client.session(session)).goal is None

    on_server(tmp_path, court, check)


def test_a_prompt_may_give_a_goal_of_its_own(tmp_path: Path) -> None:
    court = Court(["Done."], [MET])

    async def check(stage: Served, client: Client) -> None:
        session = await stage.session()
        await stage.prompt(session, "fix it", goal="the tests <b>pass</b>", messageID="msg_1")
        view = await client.goal(session)
        given = {"goal": "the tests <b>pass</b>", "messageID": "msg_1"}
        assert (await stage.prompt(session, "fix it", **given)).status_code == 200
        refused = await stage.prompt(session, "fix it", goal="another", messageID="msg_1")
        assert refused.status_code == 409
        assert await client.goal(session) == view
        assert view.goal is not None
        assert (view.goal.condition, view.goal.state) == ("the tests <b>pass</b>", "met")
        said = (await stage.texts(session))[0]
        assert said.startswith("fix it<system-reminder>\nThis session has a goal from now on: the")
        assert "&lt;b>" in said

    on_server(tmp_path, court, check)


def test_what_is_no_goal_is_refused_and_nothing_is_stored(tmp_path: Path) -> None:

    async def check(stage: Served, client: Client) -> None:
        session = await stage.session()
        for wrong in ("", "x" * 8_001):
            with pytest.raises(UsageError):
                await client.set_goal(session, wrong)
            refused = await stage.prompt(session, "go", goal=wrong)
            assert refused.status_code == 400
        assert await stage.texts(session) == []
        with pytest.raises(NotFoundError):
            await client.goal("ses_none")
        assert (await client.goal(session)).goal is None

    on_server(tmp_path, Court([], []), check)


def test_the_command_goes_on_with_a_goal_and_says_where_there_is_none(tmp_path: Path) -> None:
    court = Court(["I cannot.", "I can now."], [IMPOSSIBLE, MET])

    async def check(stage: Served, client: Client) -> None:
        session = await stage.session()
        with pytest.raises(NotFoundError):
            await client.command(session, "goal", "resume")
        await command(stage, session, "it is there")
        assert (await client.session(session)).goal["state"] == "impossible"
        await command(stage, session, "resume")
        assert "Go on with the goal of this session: it is there" in court.told()
        assert "there is no such file" in court.told()
        assert (await client.session(session)).goal["state"] == "met"
        with pytest.raises(ConflictError):
            await client.command(session, "goal", "resume")

    on_server(tmp_path, court, check)


def test_only_the_session_itself_can_have_a_goal(tmp_path: Path) -> None:
    given = {"description": "help", "prompt": "help", "subagent_type": "general"}
    run = Call("actor", {"operation": {"action": "run", **given}})
    court = Court([run, "Helped.", "Done."], [])

    async def check(stage: Served, client: Client) -> None:
        session = await stage.session()
        await stage.prompt(session, "go")
        body = {"parts": [{"type": "text", "text": "go"}], "goal": "x"}
        path = f"/session/{session}/message?agent_id=general-1"
        refused = await stage.http.post(path, json=body)
        assert refused.status_code == 400
        assert "general-1 cannot have a goal" in refused.text
        assert (await client.goal(session)).goal is None

    on_server(tmp_path, court, check)


def test_the_command_is_listed_for_clients_that_complete_it(tmp_path: Path) -> None:
    config = {"command": {"goal": {"template": "mine"}, "greet": {"template": "hi"}}}

    async def check(stage: Served, client: Client) -> None:
        listed = (await stage.http.get("/command")).json()
        commands = [one["name"] for one in listed if one.get("source") != "skill"]
        assert commands == ["goal", "btw", "init", "greet"]
        assert listed[0]["hints"] == ["$ARGUMENTS"]

    on_server(tmp_path, Court([], []), check, config=config)


@pytest.mark.parametrize("words", ["show", "status", " SHOW "])
def test_a_goal_is_shown_and_given_while_the_session_works(tmp_path: Path, words: str) -> None:
    court = Court([[Text("At work."), Barrier("work")], "Now it holds."], [GAP, MET])

    async def check(stage: Served, client: Client) -> None:
        session = await stage.session()
        assert text_of(await command(stage, session, words)) == "This session has no goal."
        working = asyncio.create_task(stage.prompt(session, "go"))
        await asyncio.to_thread(stage.model.wait_for_barrier, "work")
        path = f"/session/{session}/command?busy=refuse"
        given = {"command": "goal", "arguments": "the tests pass"}
        answer = (await stage.http.post(path, json=given)).json()
        assert text_of(answer) == "The turn at work will be judged by the goal: the tests pass"
        told = text_of(await command(stage, session, words))
        assert told == "The goal is active: the tests pass"
        assert len(await stage.texts(session)) == 2
        stage.model.release("work")
        assert text_of((await working).json()) == "Now it holds."
        told = text_of(await command(stage, session, words))
        assert told.startswith("The goal is met, sent on 1 of 12 times: the tests pass\n")
        assert (await client.goal(session)).goal is not None

    on_server(tmp_path, court, check)
