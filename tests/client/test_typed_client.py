"""The client against a real server: what it can ask for, and what it raises."""

import asyncio
import traceback
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from server_stage import Served, served

from roost.client.client import Client
from roost.client.models import RateError, ServerPlace, UnreachableError
from roost.core.errors import (
    BusyError,
    ConflictError,
    DeniedError,
    NotFoundError,
    UsageError,
)
from roost.core.ids import new_id
from roost.runtime.models import PromptInput, TextInput
from roost.sessions.models import AssistantInfo, Message
from roost.sessions.parts import TextPart
from scripted_model.scenario import Barrier, Call, Delay, scenario, step

GATED = scenario(step(Barrier("gate"), "first"), default="next")
Check = Callable[[Served, Client], Awaitable[None]]


def with_client(folder: Path, check: Check, script: Any = None, **settings: Any) -> None:
    async def run() -> None:
        async with (
            served(folder, script, **settings) as stage,
            Client(stage.client_place) as client,
        ):
            await check(stage, client)

    asyncio.run(run())


def words(message: Message) -> str:
    return "".join(part.text for part in message.parts if isinstance(part, TextPart))


def test_a_session_is_prompted_and_read(tmp_path: Path) -> None:
    async def check(stage: Served, client: Client) -> None:
        assert (await client.health()).healthy
        session = await client.create_session(title="First")
        answer = await client.prompt(session.id, "ping")
        assert isinstance(answer.info, AssistantInfo)
        assert words(answer) == "pong"
        messages, cursor = await client.messages(session.id)
        assert [words(message) for message in messages] == ["ping", "pong"]
        assert cursor is None
        newest, cursor = await client.messages(session.id, limit=1)
        older, _ = await client.messages(session.id, limit=1, before=cursor)
        assert [words(message) for message in older + newest] == ["ping", "pong"]
        assert [one.id for one in await client.sessions(search="fir")] == [session.id]
        renamed = await client.rename(session.id, "Second", revision=session.revision)
        assert renamed.title == "Second"
        with pytest.raises(ConflictError):
            await client.rename(session.id, "Third", revision=session.revision)
        assert [actor.actor_id for actor in await client.actors(session.id)] == ["main"]
        assert [turn.outcome for turn in await client.turns(session.id)] == ["success"]
        assert await client.todos(session.id) == []
        assert await client.statuses() == {}
        await client.delete_session(session.id)
        with pytest.raises(NotFoundError, match=session.id):
            await client.session(session.id)

    with_client(tmp_path, check)


def test_a_part_of_an_unknown_type_hides_nothing(tmp_path: Path) -> None:
    async def check(stage: Served, client: Client) -> None:
        session = await client.create_session()
        answer = await client.prompt(session.id, "ping")
        raw = {
            "id": new_id("part"),
            "sessionID": session.id,
            "messageID": answer.info.id,
            "type": "hologram",
            "depth": 3,
        }
        await stage.runtime.database.write(
            lambda tx: tx.run(
                "INSERT INTO part (id, message_id, session_id, seq, type, data)"
                " VALUES (?,?,?,99,'hologram',?)",
                (raw["id"], answer.info.id, session.id, msgspec.json.encode(raw).decode()),
            )
        )
        messages, _ = await client.messages(session.id)
        assert words(messages[1]) == "pong"
        assert messages[1].parts[-1].id == raw["id"]
        shown = (await stage.http.get(f"/session/{session.id}/message")).json()
        assert shown[1]["parts"][-1] == raw

    with_client(tmp_path, check)


def test_what_the_server_refuses_is_raised_as_what_it_is(tmp_path: Path) -> None:
    async def check(stage: Served, client: Client) -> None:
        with pytest.raises(NotFoundError):
            await client.session("ses_none")
        with pytest.raises(UsageError, match="empty"):
            await client.prompt((await client.create_session()).id, "  ")
        wrong = ServerPlace(stage.place.url, "wrong")
        async with Client(wrong) as stranger:
            with pytest.raises(DeniedError):
                await stranger.sessions()
        elsewhere = ServerPlace(stage.place.url, stage.place.token, directory="/etc")
        async with Client(elsewhere) as stranger:
            with pytest.raises(DeniedError, match="/etc"):
                await stranger.sessions()

    with_client(tmp_path, check)


@pytest.mark.parametrize(
    ("place", "where", "start"),
    [
        (ServerPlace("http://127.0.0.1:1", "x"), "http://127.0.0.1:1", "roost serve --port 1"),
        (
            ServerPlace("http://localhost", "x", Path("/nowhere/a b.sock")),
            "unix:/nowhere/a b.sock",
            "roost serve --unix '/nowhere/a b.sock'",
        ),
    ],
)
def test_where_no_server_is_the_error_names_the_address_and_how_to_start_one(
    place: ServerPlace, where: str, start: str
) -> None:
    async def ask() -> None:
        async with Client(place) as client:
            await client.create_session()

    with pytest.raises(UnreachableError) as caught:
        asyncio.run(ask())
    assert f"there is no server at {where} " in caught.value.message
    assert f"Start it with: ROOST_SERVER_PASSWORD=... {start}" in str(caught.value)
    # The frames of the HTTP library would bury that.
    shown = "".join(traceback.format_exception(caught.value))
    assert "httpx2" not in shown
    assert "During handling" not in shown


def test_a_busy_actor_is_steered_and_its_queue_edited(tmp_path: Path) -> None:
    async def check(stage: Served, client: Client) -> None:
        session = await client.create_session()
        waiting = asyncio.create_task(client.prompt(session.id, "one"))
        await asyncio.to_thread(stage.model.wait_for_barrier, "gate")
        with pytest.raises(BusyError):
            await client.prompt(session.id, "two")
        first = await client.prompt_async(session.id, "two")
        second = await client.prompt_async(session.id, "three")
        queue = await client.queue(session.id)
        assert [row["body"]["messageID"] for row in queue] == [first, second]
        await client.edit_queued(session.id, queue[0]["id"], (TextInput(text="TWO"),))
        await client.withdraw(session.id, queue[1]["id"])
        stage.model.release("gate")
        assert words(await waiting) == "next"
        messages, _ = await client.messages(session.id)
        assert [words(message) for message in messages] == ["one", "first", "TWO", "next"]
        with pytest.raises(ConflictError):
            await client.withdraw(session.id, queue[0]["id"])

    with_client(tmp_path, check, GATED)


def test_too_many_prompts_are_told_when_to_come_back(tmp_path: Path) -> None:
    async def check(stage: Served, client: Client) -> None:
        session = await client.create_session()
        await client.prompt_async(session.id, "one")
        with pytest.raises(RateError) as caught:
            await client.prompt_async(session.id, "two")
        assert 1 <= caught.value.retry_after <= 60

    with_client(tmp_path, check, prompts_per_minute=1)


def test_an_answer_that_takes_long_arrives_behind_its_blanks(tmp_path: Path) -> None:
    async def check(stage: Served, client: Client) -> None:
        session = await client.create_session()
        assert words(await client.prompt(session.id, "ping")) == "slow"

    with_client(tmp_path, check, scenario(step(Delay(0.4), "slow")), heartbeat=0.1)


def test_an_abort_ends_the_wait(tmp_path: Path) -> None:
    async def check(stage: Served, client: Client) -> None:
        session = await client.create_session()
        waiting = asyncio.create_task(client.prompt(session.id, "one"))
        await asyncio.to_thread(stage.model.wait_for_barrier, "gate")
        assert await client.abort(session.id, turn_id="trn_other") is False
        assert await client.abort(session.id) is True
        info = (await waiting).info
        assert isinstance(info, AssistantInfo)
        assert info.error is not None
        assert info.error.name == "MessageAbortedError"

    with_client(tmp_path, check, GATED)


def test_leaving_can_take_the_turn_along(tmp_path: Path) -> None:
    async def check(stage: Served, client: Client) -> None:
        session = await client.create_session()
        waiting = asyncio.create_task(client.prompt(session.id, "one", cancel_when_gone=True))
        await asyncio.to_thread(stage.model.wait_for_barrier, "gate")
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        async with asyncio.timeout(10):
            while await client.statuses():
                await asyncio.sleep(0.02)
        assert [turn.outcome for turn in await client.turns(session.id)] == ["cancelled"]

    with_client(tmp_path, check, GATED)


def test_a_permission_is_given(tmp_path: Path) -> None:
    script = scenario(Call("bash", {"command": "touch made", "description": "x"}), "done")

    async def check(stage: Served, client: Client) -> None:
        session = await client.create_session()
        waiting = asyncio.create_task(client.prompt(session.id, "make it"))
        async with asyncio.timeout(10):
            while not (asked := await client.permissions()):
                await asyncio.sleep(0.02)
        await client.reply_permission(asked[0]["id"], "once")
        assert words(await waiting) == "done"
        with pytest.raises(ConflictError):
            await client.reply_permission(asked[0]["id"], "once")
        assert await client.questions() == []

    with_client(tmp_path, check, script)


def test_a_command_is_run(tmp_path: Path) -> None:
    async def check(stage: Served, client: Client) -> None:
        session = await client.create_session()
        assert words(await client.command(session.id, "greet", "world")) == "pong"
        with pytest.raises(UsageError, match="nope"):
            await client.command(session.id, "nope")

    with_client(tmp_path, check)


def test_the_same_prompt_sent_again_is_one(tmp_path: Path) -> None:
    async def check(stage: Served, client: Client) -> None:
        session = await client.create_session()
        given = PromptInput(parts=(TextInput(text="ping"),), message_id=new_id("message"))
        first = await client.prompt(session.id, given)
        assert (await client.prompt(session.id, given)).info.id == first.info.id
        assert len(stage.model.requests) == 1

    with_client(tmp_path, check)


def test_a_client_on_a_unix_socket_is_the_same(tmp_path: Path) -> None:
    path = tmp_path / "roost.sock"

    async def run() -> None:
        async with served(tmp_path, socket=path) as stage:
            place = ServerPlace(stage.place.url, stage.place.token, path, str(stage.project))
            async with Client(place) as client:
                session = await client.create_session()
                assert words(await client.prompt(session.id, "ping")) == "pong"

    asyncio.run(run())
