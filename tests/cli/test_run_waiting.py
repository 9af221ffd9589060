"""A prompt to a session that a server runs, while somebody there waits for a person."""

import asyncio
import signal
from collections.abc import Iterator
from typing import Any, Final

import pytest
from terminal_user import User, ended, read_until

from roost.client.client import Client
from roost.client.models import ServerPlace
from scripted_model.scenario import Call, scenario
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
