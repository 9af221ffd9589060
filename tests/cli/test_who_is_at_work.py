"""One rule for stopping what works, waits or sleeps; and what is shown as being at work."""

import json
import os
import signal
import sqlite3
import time
from typing import Any

import pytest
from terminal_user import User, ended, read_until

from scripted_model.picture import Request
from scripted_model.scenario import Barrier, Call, Reply, Text, reply, scenario


@pytest.fixture
def session(user: User) -> str:
    """A session whose actor has answered and sleeps."""
    user.model.use(scenario(default="pong"))
    return str(user.run("run", "--format", "json", "--title", "Game", "ping").result["session"])


def left(user: User, session: str, text: str) -> str:
    """Words that wait for the actor, which nobody runs; gives their id."""
    done = user.call("inbox", "send", session, text, "--json")
    assert done.code == 0, done.err
    return str(json.loads(done.out)["id"])


def state_of(user: User, session: str) -> str:
    done = user.call("sessions", "list", "--format", "json")
    return next(one["state"] for one in json.loads(done.out) if one["id"] == session)


def at_work(user: User) -> list[str]:
    return [one["actorID"] for one in json.loads(user.call("actors", "--json").out)]


def went_on(user: User, session: str) -> dict[str, Any]:
    """The result of a prompt to the session."""
    return user.run("run", "-s", session, "--format", "json", "go on").result


@pytest.mark.parametrize("force", [(), ("--force",)])
def test_one_that_was_still_to_run_ends_at_once_and_spoils_nothing(
    user: User, session: str, force: tuple[str, ...]
) -> None:
    left(user, session, "never to be heard")
    assert state_of(user, session) == "waiting"
    began = time.monotonic()
    done = user.call("actors", "cancel", session, *force)
    assert (done.code, done.out) == (0, f"{session}/main has stopped\n")
    assert time.monotonic() - began < 5, "there is no process that could be waited for"
    assert (state_of(user, session), at_work(user)) == ("", [])
    assert "asleep: cancelled" in user.call("actors", "--all").out
    result = went_on(user, session)
    assert (result["outcome"], result["text"]) == ("success", "pong")


def test_a_stop_that_nobody_has_carried_out_spoils_nothing_of_the_next_prompt(
    user: User, session: str
) -> None:
    left(user, session, "never to be heard")
    (path,) = user.home.rglob("roost.db")
    with sqlite3.connect(path) as connection:  # as a killed `actors cancel` leaves it
        connection.execute("UPDATE actor SET cancel = 'graceful' WHERE status = 'pending'")
    connection.close()
    result = went_on(user, session)
    assert (result["outcome"], result["text"]) == ("success", "pong")
    kinds = [line.split()[-2] for line in user.call("inbox", "list", session).out.splitlines()]
    assert "queued" not in kinds


@pytest.mark.parametrize("name", ["{session}", "{session}/main", "main"])
def test_to_stop_one_that_sleeps_is_no_fault_however_it_is_named(
    user: User, session: str, name: str
) -> None:
    word = name.format(session=session)
    done = user.call("actors", "cancel", word)
    assert (done.code, done.out) == (0, f"{word} is not at work\n")
    assert json.loads(user.call("actors", "cancel", word, "--json").out) == []
    by_option = user.call("actors", "cancel", "main", "-s", session)
    assert (by_option.code, by_option.out) == (0, "main is not at work\n")


def test_what_was_taken_back_leaves_nobody_waiting(user: User, session: str) -> None:
    first, second = left(user, session, "one"), left(user, session, "two")
    assert user.call("inbox", "withdraw", first).code == 0
    assert (state_of(user, session), at_work(user)) == ("waiting", ["main"])
    assert user.call("inbox", "withdraw", second).code == 0
    assert (state_of(user, session), at_work(user)) == ("", [])


def plays(request: Request) -> Reply:
    """Main starts a child in the background and ends; the child waits."""
    if "go and see" not in request.all_text:
        return reply([Text("looking"), Barrier("child")])
    if request.messages[-1].results:
        return reply("It is under way.")
    operation = {
        "action": "spawn",
        "subagent_type": "explore",
        "description": "see",
        "prompt": "Look around.",
    }
    return reply(Call("actor", {"operation": operation}))


def test_one_that_sleeps_above_a_child_at_work_is_not_said_to_work(user: User) -> None:
    user.model.use(plays)
    user.environment["ROOST_SERVER_PASSWORD"] = "open sesame"
    server = user.start("serve")
    assert server.stdout is not None
    read_until(server.stdout, "\n")
    user.model.use(scenario(default="pong"))
    session = str(user.run("run", "--format", "json", "hello").result["session"])
    user.model.use(plays)
    left(user, session, "go and see")
    user.model.wait_for_barrier("child")

    def states() -> dict[str, str]:
        found = json.loads(user.call("actors", "--json").out)
        return {one["actorID"]: one["state"] for one in found}

    user.model.wait_until(lambda: states().get("main") == "asleep")
    assert states() == {"main": "asleep", "explore-1": "progressing"}
    assert "asleep: success" in user.call("actors").out
    assert state_of(user, session) == "running", "a process works in it"
    stopped = user.run("actors", "cancel", "explore-1", "--force", "--json")
    assert json.loads(stopped.out) == [
        {"sessionID": session, "actorID": "explore-1", "stopped": True}
    ]
    os.killpg(server.pid, signal.SIGTERM)
    ended(server)
