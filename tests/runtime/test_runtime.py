"""The runtime as the CLI and the server use it."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from runtime_stage import Desk, desk
from stage import texts

from roost.core.errors import BusyError, ConflictError, NotFoundError, StorageError, UsageError
from roost.core.ids import new_id
from roost.events.types import Event
from roost.inbox.models import Address
from roost.runtime.models import PromptInput, TextInput
from roost.sessions.models import MAIN
from scripted_model.scenario import Barrier, scenario, step


def at_desk(folder: Path, check: Callable[[Desk], Awaitable[None]], **more: Any) -> None:
    async def run() -> None:
        async with desk(folder, **more) as place:
            await check(place)

    asyncio.run(run())


def test_a_prompt_is_answered_and_the_turn_says_how_it_ended(tmp_path: Path) -> None:
    async def check(place: Desk) -> None:
        session = await place.session()
        result = await place.ask(session.id, "ping")
        assert (result.turn.outcome, result.turn.steps) == ("success", 1)
        assert result.message is not None
        assert texts([result.message]) == ["pong"]
        assert texts(await place.messages(session.id)) == ["ping", "pong"]
        assert (await place.runtime.wait_idle(session.id)).status == "idle"

    at_desk(tmp_path, check)


def test_the_same_prompt_twice_is_answered_once_and_its_news_told_once(tmp_path: Path) -> None:
    async def check(place: Desk) -> None:
        session = await place.session()
        given = PromptInput(parts=(TextInput("ping"),), message_id=new_id("message"))
        news = (Event("test.news", {}, session_id=session.id),)
        with place.runtime.bus.subscribe(lambda event: event.type == "test.news") as heard:
            first = await place.runtime.prompt(session.id, given, news=news)
            await place.runtime.wait_turn(session.id, first.message_id)
            again = await place.runtime.prompt(session.id, given, news=news)
            assert (first.new, again.new) == (True, False)
            assert len(heard.take()) == 1
        await place.runtime.wait_idle(session.id)
        assert texts(await place.messages(session.id)) == ["ping", "pong"]

    at_desk(tmp_path, check)


def test_a_busy_actor_refuses_who_wants_it_idle_and_queues_all_others(tmp_path: Path) -> None:
    async def check(place: Desk) -> None:
        session = await place.session()
        first = await place.prompt(session.id, "one")
        await place.reached("gate")
        given = PromptInput(parts=(TextInput("two"),))
        with pytest.raises(BusyError):
            await place.runtime.prompt(session.id, given, idle_only=True)
        second = await place.prompt(session.id, "two")
        third = await place.prompt(session.id, "three")
        page = await place.runtime.transcripts.page(session.id)
        assert page.queued == {second, third}
        assert texts(page.messages)[-2:] == ["two", "three"]
        assert texts([await place.runtime.transcripts.message(session.id, third)]) == ["three"]
        await place.runtime.withdraw(third)
        with pytest.raises(NotFoundError):
            await place.runtime.transcripts.message(session.id, third)
        with pytest.raises(NotFoundError):
            await place.runtime.wait_turn(session.id, third)
        place.model.release("gate")
        assert (await place.runtime.wait_turn(session.id, second)).turn.outcome == "success"
        with pytest.raises(ConflictError):
            await place.runtime.withdraw(first)

    at_desk(tmp_path, check, script=scenario(step(Barrier("gate"), "first"), "second"))


def test_pages_of_any_size_join_to_the_whole_queued_prompts_included(tmp_path: Path) -> None:
    async def check(place: Desk) -> None:
        session = await place.session()
        await place.ask(session.id, "one")
        await place.ask(session.id, "two")
        for number in range(3):
            await place.prompt(session.id, f"later {number}", no_reply=True)
        whole = await place.messages(session.id)
        assert len(whole) == 7
        for size in range(1, 9):
            joined: list[str] = []
            before = None
            while True:
                page = await place.runtime.transcripts.page(session.id, limit=size, before=before)
                joined = [message.info.id for message in page.messages] + joined
                before = page.before
                if before is None:
                    break
            assert joined == [message.info.id for message in whole], size
        other = await place.session()
        with pytest.raises(NotFoundError):
            await place.runtime.transcripts.page(other.id, before=whole[1].info.id)

    at_desk(tmp_path, check)


def test_an_abort_ends_the_turn_and_keeps_what_was_said(tmp_path: Path) -> None:
    async def check(place: Desk) -> None:
        session = await place.session()
        assert not await place.runtime.abort(session.id)
        message_id = await place.prompt(session.id, "go")
        await place.reached("gate")
        running = await place.runtime.actor(Address(session.id, MAIN))
        assert not await place.runtime.abort(session.id, turn_id="trn_other")
        assert await place.runtime.abort(session.id, turn_id=running.current_turn)
        result = await place.runtime.wait_turn(session.id, message_id)
        assert result.turn.outcome == "cancelled"
        assert texts(await place.messages(session.id)) == ["go", "half of it"]

    at_desk(tmp_path, check, script=scenario(step("half of it", Barrier("gate"))))


def test_a_session_is_deleted_while_it_works(tmp_path: Path) -> None:
    async def check(place: Desk) -> None:
        session = await place.session()
        await place.prompt(session.id, "go")
        await place.reached("gate")
        await place.runtime.delete_session(session.id)
        with pytest.raises(NotFoundError):
            await place.messages(session.id)

    at_desk(tmp_path, check, script=scenario(step(Barrier("gate"), "never")))


def test_a_prompt_that_could_not_be_answered_is_not_accepted(tmp_path: Path) -> None:
    async def check(place: Desk) -> None:
        session = await place.session()
        for wrong in (
            PromptInput(parts=()),
            PromptInput(parts=(TextInput(" "),)),
            PromptInput(parts=(TextInput("x"),), format={"type": "json_schema"}),
            PromptInput(parts=(TextInput("x"),), agent="general"),
        ):
            with pytest.raises(UsageError):
                await place.runtime.prompt(session.id, wrong)
        assert await place.runtime.queue(session.id) == []

    at_desk(tmp_path, check)


def test_news_of_a_folder_comes_with_a_commit_and_not_without_one(tmp_path: Path) -> None:
    async def check(place: Desk) -> None:
        runtime = place.runtime
        project = await runtime.projects.open(place.project)
        with runtime.bus.subscribe(lambda _: True) as heard:
            await runtime.forget_project(place.project)
            assert [event.type for event in heard.take()] == ["server.instance.disposed"]
            assert await runtime.projects.open(place.project) is not project
            runtime.database.close()
            with pytest.raises(StorageError):
                await runtime.forget_project(place.project)
            assert heard.take() == []

    at_desk(tmp_path, check)
