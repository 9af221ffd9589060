"""Which turns run, one after the other, and what is kept between them."""

import asyncio
import shutil
from pathlib import Path
from typing import NoReturn

import pytest
from runtime_stage import Desk, desk
from stage import note, texts
from test_runtime import at_desk

from roost.actors import turn_store
from roost.actors.send import send
from roost.core.errors import RoostError, StorageError
from roost.events.types import Delta
from roost.inbox.models import Address
from roost.runtime.worlds import IDLE_SHELLS
from roost.sessions.models import MAIN
from scripted_model.scenario import Barrier, Call, scenario, step


def test_waking_an_actor_that_nothing_waits_for_starts_no_turn(tmp_path: Path) -> None:
    async def check(place: Desk) -> None:
        session = await place.session()
        address = Address(session.id, MAIN)
        place.runtime.scheduler.wake(address)
        while place.runtime.scheduler.is_running(address):
            await asyncio.sleep(0)
        assert (await place.runtime.actor(address)).turns == 0
        assert len(place.model.requests) == 0

    at_desk(tmp_path, check)


def test_mail_that_was_left_by_others_is_heard_when_the_session_is_used(tmp_path: Path) -> None:
    async def check(place: Desk) -> None:
        session = await place.session()
        address = Address(session.id, MAIN)
        await place.runtime.database.write(lambda tx: send(tx, note(address, "look here")))
        assert (await place.runtime.actor(address)).status == "pending"
        await place.runtime.resume_session(session.id)
        assert (await place.runtime.wait_idle(session.id)).turns == 1
        assert "look here" in texts(await place.messages(session.id))[0]

    at_desk(tmp_path, check)


def test_a_prompt_that_comes_during_a_turn_is_heard_in_it(tmp_path: Path) -> None:
    async def check(place: Desk) -> None:
        session = await place.session()
        first = await place.prompt(session.id, "one")
        await place.reached("gate")
        second = await place.prompt(session.id, "two")
        place.model.release("gate")
        turns = [(await place.runtime.wait_turn(session.id, one)).turn for one in (first, second)]
        assert turns[0].id == turns[1].id
        assert turns[0].steps == 2

    at_desk(tmp_path, check, script=scenario(step(Barrier("gate"), "first"), "second"))


def test_a_turn_whose_world_cannot_be_made_fails_with_its_mail(tmp_path: Path) -> None:
    async def check(place: Desk) -> None:
        session = await place.session()

        def broken(_: Address) -> NoReturn:
            raise RoostError("the world is not there", hint="Make it.")

        place.runtime.worlds.world_of = broken
        result = await place.ask(session.id, "ping")
        assert result.turn.outcome == "failure"
        assert result.turn.error is not None
        assert result.turn.error.message == "the world is not there. Make it."
        assert await place.runtime.queue(session.id) == []

    at_desk(tmp_path, check)


def test_a_turn_that_the_database_refuses_is_tried_again_and_told(tmp_path: Path) -> None:
    async def check(place: Desk) -> None:
        session = await place.session()
        sound = place.runtime.worlds.terms_of
        troubles = [StorageError("the disk is full")]

        async def faulty(session_id: str) -> object:
            if troubles:
                raise troubles.pop()
            return await sound(session_id)

        place.runtime.worlds.terms_of = faulty
        with place.runtime.bus.subscribe(lambda event: event.type == "session.error") as heard:
            result = await place.ask(session.id, "ping")
            (told,) = heard.take()
        assert result.turn.outcome == "success"
        assert told.properties["error"].message == "the disk is full"

    at_desk(tmp_path, check)


def test_what_runs_is_interrupted_when_the_runtime_closes_and_goes_on_by_mail_only(
    tmp_path: Path,
) -> None:
    async def first() -> str:
        async with desk(tmp_path, scenario(step("half", Barrier("gate")))) as place:
            session = await place.session()
            with place.runtime.bus.subscribe(lambda event: isinstance(event, Delta)) as words:
                await place.prompt(session.id, "go")
                await words.batch()
            return session.id

    async def second(session_id: str) -> None:
        async with desk(tmp_path) as place:
            await place.runtime.resume_session(session_id)
            where = Address(session_id, MAIN)
            (turn,) = await place.runtime.database.read(lambda db: turn_store.turns_of(db, where))
            assert turn.outcome == "interrupted"
            assert texts(await place.messages(session_id)) == ["go", "half"]
            await place.ask(session_id, "and on")
            assert texts(await place.messages(session_id))[2:] == ["and on", "pong"]

    asyncio.run(second(asyncio.run(first())))


@pytest.mark.parametrize("waits", ["a model", "a tool"])
def test_a_runtime_whose_database_is_gone_still_closes(tmp_path: Path, waits: str) -> None:
    call = Call("bash", {"command": "touch began; sleep 20"})
    script = scenario(Barrier("gate") if waits == "a model" else call, "done")

    async def play() -> None:
        async with asyncio.timeout(15), desk(tmp_path, script) as place:
            session = await place.session()
            await place.prompt(session.id, "begin")
            if waits == "a model":
                await place.reached("gate")
            else:
                while not (place.project / "began").exists():
                    await asyncio.sleep(0.01)
            shutil.rmtree(place.runtime.paths.data)

    asyncio.run(play())


def test_shells_of_folders_in_which_nobody_works_are_closed(tmp_path: Path) -> None:
    async def check(place: Desk) -> None:
        worlds = place.runtime.worlds
        shells = set()
        for number in range(IDLE_SHELLS + 3):
            folder = tmp_path / f"project-{number}"
            folder.mkdir()
            session = await place.session(folder)
            async with worlds.world_of(Address(session.id, MAIN)) as world:
                shells.add(world.place.shell)
                again = worlds.world_of(Address(session.id, MAIN))
                async with again as other:
                    assert other.place.shell is world.place.shell
                    assert other.place.ledger is world.place.ledger
        assert len(shells) == IDLE_SHELLS + 3
        assert worlds.shells == IDLE_SHELLS

    at_desk(tmp_path, check)


def test_a_folder_whose_configuration_was_read_again_has_a_new_shell(tmp_path: Path) -> None:
    async def check(place: Desk) -> None:
        session = await place.session()
        address = Address(session.id, MAIN)
        async with place.runtime.worlds.world_of(address) as world:
            await place.runtime.forget_project(place.project)
            async with place.runtime.worlds.world_of(address) as after:
                assert after.place.shell is not world.place.shell
                assert after.place.ledger is world.place.ledger

    at_desk(tmp_path, check)


def test_a_process_that_runs_no_actors_leaves_a_prompt_to_others(tmp_path: Path) -> None:
    async def left() -> tuple[str, str]:
        async with desk(tmp_path, runs_actors=False) as place:
            session = await place.session()
            message_id = await place.prompt(session.id, "ping")
            await place.runtime.resume_session(session.id)
            actor = await place.runtime.actor(Address(session.id, MAIN))
            assert (actor.status, actor.turns) == ("pending", 0)
            return session.id, message_id

    async def taken_up(session_id: str, message_id: str) -> None:
        async with desk(tmp_path) as place:
            await place.runtime.resume_session(session_id)
            assert (await place.runtime.wait_turn(session_id, message_id)).turn.steps == 1

    asyncio.run(taken_up(*asyncio.run(left())))
