"""What an error repeats of what was given is short, whoever gave it and whatever it names."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final

import pytest
from test_session_port import Head, directing

from roost.actors import store as actors
from roost.actors import teams, turn_store
from roost.core.errors import RoostError
from roost.inbox import conversation
from roost.inbox import store as inbox
from roost.inbox.models import Address
from roost.permissions import asks
from roost.runtime.actor_port import ActorPort
from roost.runtime.models import PromptInput, TextInput
from roost.sessions import store as sessions
from roost.sessions.models import ModelName
from roost.tasks import store as tasks
from roost.tools.actor_port import SpawnOrder

LONG: Final = "names/" + "aé\n" * 100_000
SHORT: Final = 1_500
"""Characters of an error with its hint."""
Asked = Callable[[Head, ActorPort], Awaitable[object]]


def prompted(**more: Any) -> Asked:
    async def ask(head: Head, _: ActorPort) -> None:
        given = PromptInput(parts=(TextInput("go"),), **more)
        await head.place.runtime.prompt(head.session_id, given)

    return ask


def spawned(**more: Any) -> Asked:
    given = {"agent": "general", "prompt": "x", "description": "x", "background": True, **more}
    return lambda _, port: port.spawn(SpawnOrder(**given))


def created(**more: Any) -> Asked:
    return lambda head, _: head.create(**more)


def read(look: Callable[[Any], object]) -> Asked:
    return lambda head, _: head.place.runtime.database.read(look)


ASKED: Final[dict[str, Asked]] = {
    "agent of a prompt": prompted(agent=LONG),
    "model of a prompt": prompted(model=ModelName.of(LONG)),
    "provider of a prompt": prompted(model=ModelName(LONG, "x")),
    "local model": prompted(model=ModelName("local", LONG)),
    "actor of a prompt": lambda head, _: head.place.runtime.named(head.session_id, LONG),
    "session": lambda head, _: head.place.runtime.session(LONG),
    "agent of a child": spawned(agent=LONG),
    "model of a child": spawned(model=LONG),
    "child": lambda _, port: port.status(LONG),
    "child to stop": lambda _, port: port.cancel(LONG, "forced"),
    "agent of a session": created(agent=LONG),
    "model of a session": created(model=LONG),
    "topic": created(topic="- " * 100_000),
    "folder": created(directory=LONG),
    "directed session": lambda head, _: head.port.status(LONG),
    "mode": lambda head, _: head.port.set_agent(LONG, "build"),
    "request": lambda head, _: head.port.approve(LONG),
    "answer": lambda head, _: head.place.runtime.reply_permission(LONG, "once"),
    "message": lambda head, _: head.place.runtime.withdraw(LONG),
    "stored actor": read(lambda db: actors.get(db, Address(LONG, LONG))),
    "stored session": read(lambda db: sessions.get(db, LONG)),
    "stored turn": read(lambda db: turn_store.get_turn(db, LONG)),
    "stored mail": read(lambda db: inbox.get(db, LONG)),
    "stored task": read(lambda db: tasks.get(db, LONG, LONG)),
    "stored ask": read(lambda db: asks.get(db, LONG)),
    "stored message": read(lambda db: conversation.find_message(db, LONG, LONG)),
    "team": read(lambda db: teams.named(db, "", LONG)),
}


@pytest.mark.parametrize("what", ASKED)
def test_a_name_of_any_length_is_refused_in_short(tmp_path: Path, what: str) -> None:
    async def play(head: Head) -> None:
        async with head.place.runtime.worlds.world_of(head.claim.address) as world:
            port = world.actors(head.caller)
            assert isinstance(port, ActorPort)
            with pytest.raises(RoostError) as caught:
                await ASKED[what](head, port)
        error = caught.value
        assert max(map(len, (str(error), error.message, error.hint))) < SHORT, error.message[:200]

    directing(tmp_path, play)


def test_who_is_not_there_to_be_written_to_is_told_in_short(tmp_path: Path) -> None:
    async def play(head: Head) -> None:
        async with head.place.runtime.worlds.world_of(head.claim.address) as world:
            port = world.actors(head.caller)
            for to, where in ((LONG, None), ("main", LONG)):
                sent = await port.send(to, "x", to_session_id=where, reply_to=None)
                assert sent.inbox_id is None
                assert len(sent.error) < SHORT

    directing(tmp_path, play)
