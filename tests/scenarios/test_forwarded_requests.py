"""What a directed session asks for reaches the one that directs it and the user: who answers first,
what only a person may answer, and what becomes of what nobody answers.
"""

import asyncio
import re
import signal
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any

import pytest
from cast import Cast, Line
from household import Household
from invariants import assert_rows_are_sound
from test_directed_sessions import create, named, session
from test_server_runs import Server, until

from roost.client.client import Client
from roost.core.errors import ConflictError
from roost.sessions.models import Message
from roost.sessions.parts import TextPart, ToolCompleted, ToolFailed, ToolPart
from scripted_model.picture import Request
from scripted_model.scenario import Barrier, Call

pytestmark = pytest.mark.scenario
WAIT = Call("actor", {"operation": {"action": "wait", "timeout_ms": 30_000}})
TOUCH = Call("bash", {"command": "touch made.txt"})
DELETE = Call("bash", {"command": "rm /opt/roost-no-such-file"})


@pytest.fixture
def house(chat_house: Household) -> Household:
    return chat_house


@pytest.fixture
def server(house: Household) -> Iterator[Server]:
    served = Server(house)
    served.start()
    yield served
    served.end()


def request_of(request: Request) -> str:
    """The id of the request for a permission that the model was told of last."""
    said = "\n".join(message.text for message in request.messages)
    return re.findall(r"Request: (per_\w+)", said)[-1]


def approve(request: Request) -> Call:
    return session("approve", request_id=request_of(request))


def directed(
    house: Household,
    server: Server,
    main: Sequence[Line],
    red: Sequence[Line],
    person: Callable[[Client], Awaitable[object]] | None = None,
) -> tuple[Cast, str, list[ToolPart]]:
    """An orchestrator in a server, with a child `red`: the cast, the last words of the former, and
    the calls of the latter. `person` acts meanwhile.
    """
    cast = Cast(main, red=red)
    house.play(cast)

    async def go() -> tuple[str, list[ToolPart]]:
        async with server.client() as client:
            head = await client.create_session(title="Directing", agent="orchestrator")
            running = asyncio.create_task(client.prompt(head.id, "Direct."))
            if person is not None:
                await person(client)
            answer = await asyncio.wait_for(running, 40)
            (child,) = named(house, "red")
            messages, _ = await client.messages(child)
            return _words(answer), _calls(messages)

    said, calls = asyncio.run(go())
    return cast, said, calls


def _words(message: Message) -> str:
    return "".join(part.text for part in message.parts if isinstance(part, TextPart))


def _calls(messages: list[Message]) -> list[ToolPart]:
    return [part for one in messages for part in one.parts if isinstance(part, ToolPart)]


async def asked(client: Client) -> dict[str, Any]:
    """The first request that is listed."""
    (found,) = await until(client.permissions)  # type: ignore[misc]
    return found


def news(house: Household) -> list[Any]:
    return house.rows("SELECT * FROM inbox WHERE kind = 'permission' ORDER BY seq")


def test_the_one_that_directs_agrees_and_the_child_goes_on(
    house: Household, server: Server
) -> None:
    cast, said, calls = directed(
        house,
        server,
        [[create("red"), WAIT], approve, WAIT, "Done."],
        [TOUCH, "Made."],
    )
    assert said == "Done."
    assert isinstance(calls[0].state, ToolCompleted)
    assert (house.project / "made.txt").exists()
    told = cast.news("main", 1)
    assert told.count("<permission from=") == 1
    assert "Permission: bash: touch made.txt" in told
    assert len(news(house)) == 1
    assert_rows_are_sound(house)


def test_a_person_answers_first_and_the_one_that_directs_is_late(
    house: Household, server: Server
) -> None:
    async def person(client: Client) -> None:
        ask = await asked(client)
        (child,) = named(house, "red")
        assert ask["sessionID"] == child
        await asyncio.to_thread(house.model.wait_for_barrier, "late")
        await client.reply_permission(ask["id"], "once")
        with pytest.raises(ConflictError):
            await client.reply_permission(ask["id"], "reject")
        house.model.release("late")

    _, said, calls = directed(
        house,
        server,
        [
            [create("red"), WAIT],
            lambda request: [Barrier("late"), approve(request)],
            lambda _: session("join", session_ids=named(house, "red")),
            "Done.",
        ],
        [TOUCH, "Made."],
        person,
    )
    (refused,) = [
        row["data"] for row in house.rows("SELECT data FROM part WHERE data LIKE '%already%'")
    ]
    assert "was answered already" in refused
    assert said == "Done."
    assert isinstance(calls[0].state, ToolCompleted)
    assert_rows_are_sound(house)


def test_a_grant_lets_later_requests_of_the_child_pass_at_once(
    house: Household, server: Server
) -> None:
    again = Call("bash", {"command": "touch again.txt"})
    _, said, calls = directed(
        house,
        server,
        [
            [create("red"), WAIT],
            lambda _: [session("grant-approval", session_id=named(house, "red")[0]), WAIT],
            "Done.",
        ],
        [TOUCH, again, "Made."],
    )
    assert said == "Done."
    assert all(isinstance(call.state, ToolCompleted) for call in calls)
    assert len(news(house)) == 1
    assert_rows_are_sound(house)


def test_what_needs_a_person_waits_for_one_whatever_the_model_does(
    house: Household, server: Server
) -> None:
    async def person(client: Client) -> None:
        ask = await asked(client)
        refused = await until(lambda: _tool_errors(client, house))
        assert "only a person" in str(refused)
        assert [one["id"] for one in await client.permissions()] == [ask["id"]]
        await client.reply_permission(ask["id"], "once")

    _, said, calls = directed(
        house,
        server,
        [
            [create("red"), session("grant-approval", session_id="*"), WAIT],
            lambda request: [approve(request), WAIT],
            "Done.",
        ],
        [DELETE, "Deleted."],
        person,
    )
    assert said == "Done."
    assert isinstance(calls[0].state, ToolCompleted)
    assert_rows_are_sound(house)


async def _tool_errors(client: Client, house: Household) -> list[str]:
    (head,) = house.rows("SELECT id FROM session WHERE parent_id IS NULL")
    messages, _ = await client.messages(head["id"])
    states = [call.state for call in _calls(messages)]
    return [state.error for state in states if isinstance(state, ToolFailed)]


def test_what_nobody_answers_is_refused_in_time_and_the_model_reads_why(
    house: Household,
) -> None:
    house.config["actors"] = {"ask_seconds": 1}
    server = Server(house)
    server.start()
    try:
        _, said, calls = directed(
            house, server, [[create("red"), WAIT], WAIT, "Done."], [TOUCH, "I could not."]
        )
    finally:
        server.end()
    assert said == "Done."
    state = calls[0].state
    assert isinstance(state, ToolFailed)
    assert "nobody answered within 1 s" in state.error
    assert "Go on without it" in state.error
    assert not (house.project / "made.txt").exists()


def test_without_anybody_it_is_refused_at_once(house: Household) -> None:
    cast = Cast(
        [create("red"), lambda _: session("join", session_ids=named(house, "red")), "Done."],
        red=[TOUCH, "I could not."],
    )
    house.play(cast)
    began = time.monotonic()
    done = house.run("run", "--format", "json", "--agent", "orchestrator", "--", "Direct.")
    assert done.returncode == 0, done.stderr
    assert time.monotonic() - began < 10
    assert "Nobody is there to agree" in cast.news("red")
    assert news(house) == []


def test_a_request_of_a_server_that_died_is_closed_and_asked_again(house: Household) -> None:
    server = Server(house)
    server.start()
    cast = Cast([[create("red"), WAIT], WAIT, "Done."], red=[TOUCH, TOUCH, "Made."])
    house.play(cast)

    async def first() -> str:
        async with server.client() as client:
            head = await client.create_session(title="Directing", agent="orchestrator")
            await client.prompt_async(head.id, "Direct.")
            return str((await asked(client))["id"])

    async def second(old: str) -> None:
        async with server.client() as client:
            ask = await until(lambda: _newer(client, old))
            with pytest.raises(ConflictError):
                await client.reply_permission(old, "once")
            await client.reply_permission(str(ask), "once")
            await until(lambda: _made(house))

    old = asyncio.run(first())
    server.signal(signal.SIGKILL)
    server.kill()
    server.start()
    try:
        asyncio.run(second(old))
    finally:
        server.end()
    rows = {row["id"]: row for row in house.rows("SELECT * FROM ask")}
    assert rows[old]["state"] == "withdrawn"
    assert all(row["deadline"] for row in rows.values())


async def _newer(client: Client, old: str) -> str | None:
    return next((one["id"] for one in await client.permissions() if one["id"] != old), None)


async def _made(house: Household) -> bool:
    return (house.project / "made.txt").exists()


def test_a_stopped_session_waits_for_no_answer(house: Household, server: Server) -> None:
    began = time.monotonic()
    _, said, calls = directed(
        house,
        server,
        [
            [create("red"), WAIT],
            lambda _: session("cancel", session_id=named(house, "red")[0]),
            "Stopped.",
            "Stopped.",
        ],
        [TOUCH, "I was stopped."],
    )
    assert said == "Stopped."
    assert time.monotonic() - began < 20
    assert isinstance(calls[0].state, ToolFailed)
    assert house.rows("SELECT id FROM ask WHERE state = 'open'") == []
    (red,) = named(house, "red")
    (turn,) = house.rows("SELECT outcome FROM turn WHERE session_id = ?", red)
    assert turn["outcome"] == "cancelled"
