"""The process that runs actors is killed while they are in the middle of something that lasts."""

import asyncio
import re
import signal
import time

import pytest
from cast import WAIT, run, spawn
from household import Household
from invariants import assert_rows_are_sound, assert_sound
from test_directed_sessions import create, named, session
from test_server_runs import Server

from scripted_model.picture import Request
from scripted_model.scenario import Call, Reply, Said, Text, reply

pytestmark = pytest.mark.scenario
NAMES = "abcde"


def is_child(request: Request) -> bool:
    return re.match(r"[a-e]: ", request.user_texts[0]) is not None


def working(request: Request) -> Reply:
    """A child that works for long and, when its process died meanwhile, reports."""
    name = request.user_texts[0][0]
    if "process that ran you stopped" in request.all_text:
        return reply(f"This is what {name} found.")
    return reply([Text("Let me see."), Call("bash", {"command": f"touch {name}; sleep 60"})])


def until(check: str, house: Household) -> None:
    """Return once the query `check` gives rows."""
    deadline = time.monotonic() + 30
    while not house.rows(check):
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.05)


def heard(house: Household) -> str:
    mine = [one.request for one in house.model.requests if not is_child(one.request)]
    return mine[-1].all_text


def test_the_next_server_goes_on_with_five_children_of_one_that_was_killed(
    chat_house: Household,
) -> None:
    house = chat_house

    def play(request: Request) -> Reply:
        if is_child(request):
            return working(request)
        if any(message.role == "assistant" for message in request.messages):
            return reply("ok")
        return reply([spawn(name) for name in NAMES] if request.tools else "A title")

    house.play(play)
    house.config["permission"] = "allow"
    first = Server(house)
    first.start()

    async def prompt() -> None:
        async with first.client() as client:
            session = await client.create_session()
            await client.prompt_async(session.id, "Delegate.")

    asyncio.run(prompt())
    house.model.wait_until(lambda: all((house.project / name).exists() for name in NAMES))
    until("SELECT 1 FROM actor WHERE actor_id = 'main' AND status = 'idle' AND turns = 1", house)
    first.kill()
    house.wait_until_nothing_lives()

    second = Server(house)
    second.start()
    done = "SELECT 1 FROM (SELECT count(*) AS n FROM turn WHERE outcome = 'success') WHERE n >= 7"
    until(done, house)
    until("SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM actor WHERE status != 'idle')", house)
    assert second.end() == 0
    assert [heard(house).count(f"This is what {name} found.") for name in NAMES] == [1] * 5
    kinds = house.rows("SELECT actor_id, outcome FROM turn WHERE actor_id != 'main' ORDER BY 1, 2")
    assert [row["outcome"] for row in kinds] == ["interrupted", "success"] * 5
    assert_sound(house)


@pytest.mark.parametrize("times", [1, 2])
def test_a_kill_while_main_waits_for_a_child_leaves_no_process_and_no_open_call(
    chat_house: Household, times: int
) -> None:
    house = chat_house

    def play(request: Request) -> Reply:
        if is_child(request):
            return working(request)
        said = sum(message.role == "assistant" for message in request.messages)
        return reply(run(NAMES[said]) if said < times else "ok")

    house.play(play)
    for name, options in zip(NAMES[:times], [(), ("--continue",)], strict=False):
        process = house.start("run", "--yes", *options, "Work.")
        house.model.wait_until((house.project / name).exists)
        process.kill()
        process.communicate()
        house.wait_until_nothing_lives()
    answer = house.prompt("go on", "--continue")
    assert (answer.code, answer.text) == (0, "ok"), answer.err
    notices = house.rows("SELECT state, sender_actor FROM inbox WHERE kind = 'notice'")
    assert {row["state"] for row in notices} == {"delivered"}
    assert len({row["sender_actor"] for row in notices}) == times
    assert "It was left as it is" in heard(house), "nobody waits for it any more"
    assert_sound(house)


def test_the_tools_of_a_slow_owner_end_once_another_process_has_taken_its_actor_over(
    chat_house: Household,
) -> None:
    house = chat_house

    def play(request: Request) -> Reply:
        if "Work." in request.last_user_text and not request.results:
            return reply([Text("Let me see."), Call("bash", {"command": "touch a; sleep 300"})])
        return reply("ok")

    house.play(play)
    old = house.start("run", "--yes", "Work.")
    house.model.wait_until((house.project / "a").exists)
    old.send_signal(signal.SIGSTOP)
    try:
        house.change("UPDATE actor SET lease_until = 0")
        answer = house.prompt("go on", "--continue")
        assert (answer.code, answer.text) == (0, "ok"), answer.err
    finally:
        old.send_signal(signal.SIGCONT)
    old.communicate(timeout=30)
    turns = house.rows("SELECT outcome, fence FROM turn ORDER BY number")
    assert [row["outcome"] for row in turns] == ["interrupted", "success"]
    assert turns[0]["fence"] < turns[1]["fence"]
    assert_sound(house)


@pytest.mark.parametrize("point", ["forward.asked", "forward.told", "forward.granted"])
def test_a_request_that_a_kill_cut_off_is_asked_anew_and_nothing_waits_for_ever(
    chat_house: Household, point: str
) -> None:
    house = chat_house

    def play(request: Request) -> Reply:
        if "Direct." in request.user_texts[0]:
            return reply(_director(house, request))
        if not request.tools:
            return reply("A title")
        made = (house.project / "made.txt").exists()
        return reply("Made." if made else Call("bash", {"command": "touch made.txt"}))

    house.play(play)
    house.environment["ROOST_FAILPOINT"] = f"{point}=kill"
    first = Server(house)
    first.start()

    async def prompt() -> None:
        async with first.client() as client:
            head = await client.create_session(agent="orchestrator", title="Directing")
            await client.prompt_async(head.id, "Direct.")

    asyncio.run(prompt())
    house.wait_until_nothing_lives(30)
    first.kill()
    del house.environment["ROOST_FAILPOINT"]
    second = Server(house)
    second.start()
    house.model.wait_until((house.project / "made.txt").exists)
    until("SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM actor WHERE status != 'idle')", house)
    assert second.end() == 0
    assert house.rows("SELECT 1 FROM ask WHERE state = 'open'") == []
    assert_rows_are_sound(house)
    assert "Made." in heard(house)


def _director(house: Household, request: Request) -> Said:
    """Starts a session, and agrees to all that it asks for."""
    answered = sum(message.role == "assistant" for message in request.messages)
    if not answered:
        return [create("red"), WAIT]
    if "Request: per_" in request.last_user_text and request.messages[-1].role == "user":
        return session("grant-approval", session_id=named(house, "red")[0])
    return "ok"
