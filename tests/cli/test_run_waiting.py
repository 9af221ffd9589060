"""A prompt to a session that a server runs: what is seen of its work, and of who waits there."""

import asyncio
import signal
from collections.abc import Iterator
from typing import Any, Final

import pytest
from terminal_user import User, ended, read_until

from roost.client.client import Client
from roost.client.models import ServerPlace
from scripted_model.picture import Request
from scripted_model.scenario import Barrier, Call, Reply, Text, reply, scenario
from scripted_model.server import ScriptedModel

PASSWORD: Final = "secret"
SECONDS: Final = 20
MAKE: Final = Call("bash", {"command": "touch made.txt"})
ASK: Final = Call("question", {"questions": [{"question": "Which colour?", "options": []}]})


@pytest.fixture
def place(user: User) -> Iterator[ServerPlace]:
    process = user.start("serve", env={"ROOST_SERVER_PASSWORD": PASSWORD})
    assert process.stdout is not None
    yield ServerPlace(read_until(process.stdout, "\n").strip().rpartition(" ")[2], PASSWORD)
    process.send_signal(signal.SIGTERM)
    assert ended(process).code == 0


async def waiting(client: Client) -> list[dict[str, Any]]:
    """What waits for a person, once something does."""
    async with asyncio.timeout(SECONDS):
        while not (found := await client.permissions() + await client.questions()):
            await asyncio.sleep(0.05)
        return found


async def begin(place: ServerPlace) -> tuple[str, str]:
    """A session of the server in which somebody waits, and the id of the request."""
    async with Client(place) as client:
        session = await client.create_session()
        await client.prompt_async(session.id, "do it")
        (request,) = await waiting(client)
        return session.id, request["id"]


def test_a_run_says_that_a_person_is_waited_for_and_how_to_answer(
    user: User, model: ScriptedModel, place: ServerPlace
) -> None:
    model.use(scenario(MAKE, "It is made."))
    session, request = asyncio.run(begin(place))
    process = user.start("run", "-s", session, "and tell me")
    assert process.stderr is not None
    shown = read_until(process.stderr, "(or deny)")
    assert "? main waits for permission: running `touch made.txt`\n" in shown
    told = shown.partition("  in another terminal: roost ")[2].partition(" (or deny)")[0]
    assert told == f"requests allow {request}"
    answered = user.run(*told.split())
    assert answered.code == 0, answered.err
    done = ended(process)
    assert done.code == 0, done.err
    assert "waits for permission" not in done.err
    assert done.out == "It is made.\n"
    assert (user.folder / "made.txt").exists()


def test_json_lines_hold_the_request_and_a_question_is_told_in_its_words(
    user: User, model: ScriptedModel, place: ServerPlace
) -> None:
    model.use(scenario(ASK, "Blue it is."))
    session, request = asyncio.run(begin(place))
    process = user.start("run", "--format", "json", "-s", session, "go on")
    assert process.stderr is not None
    shown = read_until(process.stderr, '"..."')
    assert "? main asks: Which colour?\n" in shown
    assert f"roost requests answer {request} " in shown
    assert user.run("requests", "answer", request, "blue").code == 0
    done = ended(process)
    assert done.code == 0, done.err
    (line,) = (one for one in done.lines if one["type"] == "request")
    assert (line["kind"], line["actor"]) == ("question", "main")
    assert line["request"]["questions"][0]["question"] == "Which colour?"
    assert done.result["text"] == "Blue it is."


SPAWN: Final = Call(
    "actor",
    {
        "operation": {
            "action": "spawn",
            "subagent_type": "explore",
            "description": "Look",
            "prompt": "Look around.",
        }
    },
)


def delegating(request: Request) -> Reply:
    """One that is asked to sends an explorer, ends its turn, and is woken by its report."""
    if "Background actor" in request.all_text:
        return reply("It is in a.py.")
    if request.last_user_text == "Look around.":
        return reply([Barrier("report"), Text("Status: success\nSummary: found <it>")])
    if any("actor_id: explore-1" in one for one in request.results):
        return reply("I sent one.")
    if "send one" in request.all_text:
        return reply([SPAWN])
    return reply([Text("Busy."), Barrier("work"), Call("glob", {"pattern": "*"})])


def test_what_a_woken_actor_says_elsewhere_belongs_to_the_answer(
    user: User, model: ScriptedModel, place: ServerPlace
) -> None:
    model.use(delegating)
    session = asyncio.run(begin_work(place))
    model.wait_for_barrier("work")
    process = user.start("run", "-s", session, "send one")
    assert process.stdout is not None
    asyncio.run(queued(place, session))
    model.release("work")
    model.wait_for_barrier("report")
    shown = read_until(process.stdout, "I sent one.")
    model.release("report")
    done = ended(process)
    assert done.code == 0, done.err
    assert shown + done.out == "I sent one.\n\nIt is in a.py.\n"
    assert done.err.count("✉ explore-1 completed.  found <it>\n") == 1


async def begin_work(place: ServerPlace) -> str:
    """A session of the server that is at work."""
    async with Client(place) as client:
        session = await client.create_session()
        await client.prompt_async(session.id, "begin")
        return session.id


async def queued(place: ServerPlace, session: str) -> None:
    """Wait until somebody has said something to the session that it has not heard yet."""
    async with Client(place) as client, asyncio.timeout(SECONDS):
        while not await client.queue(session):
            await asyncio.sleep(0.05)
