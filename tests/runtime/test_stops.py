"""A person's stop on actors that the model has started itself."""

import asyncio
from pathlib import Path
from typing import Any

from runtime_stage import Desk
from stage import texts
from test_runtime import at_desk

from roost.actors import store as actors
from roost.actors import turn_store
from roost.actors.models import Actor, Outcome
from roost.inbox.models import Address
from roost.sessions.models import MAIN
from scripted_model.picture import Request
from scripted_model.scenario import Barrier, Call, Reply, Text, reply


def start(action: str, name: str) -> Call:
    """A call that starts the child `name`, which waits at the gate of its name."""
    given = {
        "action": action,
        "subagent_type": "explore",
        "description": name,
        "prompt": f"child {name}",
    }
    return Call("actor", {"operation": given})


def plays(request: Request) -> Reply:
    """Main starts one child in the background and waits for another; each waits at its gate."""
    said = "\n".join(request.user_texts)
    for name in ("behind", "waited"):
        if f"child {name}" in said:
            return reply((Barrier(name), Text(f"{name} is done")))
    if "go on" in said:
        return reply("went on")
    if not request.messages[-1].results:
        return reply(start("spawn", "behind"))
    return reply(start("run", "waited"))


async def child(place: Desk, session_id: str, description: str) -> Actor:
    found = await place.runtime.database.read(lambda db: actors.of_session(db, session_id))
    return next(actor for actor in found if actor.description == description)


async def outcomes(place: Desk, address: Address) -> list[Outcome | None]:
    turns = await place.runtime.database.read(lambda db: turn_store.turns_of(db, address))
    return [turn.outcome for turn in turns]


async def begun(place: Desk) -> str:
    """A session whose main actor has both children at work."""
    session = await place.session()
    await place.prompt(session.id, "begin")
    for name in ("behind", "waited"):
        await place.reached(name)
    return session.id


def stopped(folder: Path, check: Any) -> None:
    async def run(place: Desk) -> None:
        await check(place, await begun(place))

    at_desk(folder, run, script=plays)


def test_a_stop_ends_the_child_that_is_waited_for_and_spares_the_one_in_the_background(
    tmp_path: Path,
) -> None:
    async def check(place: Desk, session_id: str) -> None:
        runtime = place.runtime
        waited = await child(place, session_id, "waited")
        behind = await child(place, session_id, "behind")
        assert await runtime.abort(session_id)
        for actor_id in (MAIN, waited.actor_id):
            await runtime.wait_idle(session_id, actor_id)
        assert await outcomes(place, waited.address) == ["cancelled"]
        assert (await runtime.actor(behind.address)).status == "running"
        place.model.release("behind")
        await runtime.wait_idle(session_id, behind.actor_id)
        main = await runtime.actor(Address(session_id, MAIN))
        assert (main.status, main.turns) == ("idle", 1), "its news wakes nobody"
        assert len(await runtime.queue(session_id)) == 2, "one notice for each child"
        result = await place.ask(session_id, "go on")
        assert result.turn.outcome == "success"
        heard = "\n".join(texts(await place.messages(session_id)))
        assert "behind is done" in heard
        assert heard.count("was cancelled.") == 1
        assert await runtime.queue(session_id) == []

    stopped(tmp_path, check)


def test_a_stop_of_the_tree_ends_both_children(tmp_path: Path) -> None:
    async def check(place: Desk, session_id: str) -> None:
        assert await place.runtime.abort(session_id, tree=True)
        for name in ("waited", "behind"):
            one = await child(place, session_id, name)
            await place.runtime.wait_idle(session_id, one.actor_id)
            assert await outcomes(place, one.address) == ["cancelled"]

    stopped(tmp_path, check)


def test_a_deleted_session_takes_its_children_at_work_along(tmp_path: Path) -> None:
    async def check(place: Desk, session_id: str) -> None:
        await place.runtime.delete_session(session_id)
        left = await place.runtime.database.read(lambda db: actors.of_session(db, session_id))
        assert left == []
        while place.runtime.scheduler.is_running(Address(session_id, MAIN)):
            await asyncio.sleep(0)

    stopped(tmp_path, check)
