"""`roost serve` as a process: asks, stops, queues, and a kill in the middle."""

import asyncio
import re
import signal
import subprocess
from collections.abc import Awaitable, Callable, Iterator

import pytest
from household import Household
from invariants import assert_nothing_open, assert_rows_are_sound, assert_sound

from roost.client.client import Client
from roost.client.models import ServerPlace
from roost.runtime.models import TextInput
from roost.sessions.models import Message
from roost.sessions.parts import ToolCompleted, ToolFailed, ToolPart
from scripted_model.picture import Request
from scripted_model.scenario import Call, Reply, Scenario, Stall, Text, reply, scenario

PASSWORD = "a secret for tests"


class Server:
    """A running `roost serve` of a household."""

    def __init__(self, house: Household) -> None:
        self._house = house
        self._process: subprocess.Popen[str] | None = None
        self.url = ""

    def start(self) -> None:
        self._process = self._house.start("serve", ROOST_SERVER_PASSWORD=PASSWORD)
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        found = re.search(r"http://\S+", line)
        assert found, (line, self._process.stderr and self._process.stderr.read())
        self.url = found.group()

    def client(self) -> Client:
        return Client(ServerPlace(self.url, PASSWORD))

    def signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.communicate()

    def end(self) -> int:
        assert self._process is not None
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        self._process.communicate(timeout=10)
        return self._process.returncode


@pytest.fixture
def server(chat_house: Household) -> Iterator[Server]:
    served = Server(chat_house)
    served.start()
    yield served
    served.end()


def titles_beside(*steps: object) -> Scenario:
    """`steps` for requests with tools; requests for a title get one of their own."""
    from scripted_model.scenario import When, step

    title = step("A title", when=When(tools=False), times=100)
    return scenario(title, *steps, scope="server")  # type: ignore[arg-type]


def tool_of(message: Message) -> ToolPart:
    return next(part for part in message.parts if isinstance(part, ToolPart))


async def until(check: Callable[[], Awaitable[object]], seconds: float = 10) -> object:
    """The first truthy answer of `check`."""
    async with asyncio.timeout(seconds):
        while not (found := await check()):
            await asyncio.sleep(0.02)
        return found


def test_a_request_is_asked_for_and_every_answer_is_obeyed(
    chat_house: Household, server: Server
) -> None:
    chat_house.play(
        titles_beside(
            Call("bash", {"command": "touch once"}),
            Call("bash", {"command": "touch refused"}),
            Call("bash", {"command": "touch again"}),
            Call("bash", {"command": "touch more"}),
            "done",
        )
    )

    async def answer_all() -> None:
        async with server.client() as client:
            session = await client.create_session()
            task = asyncio.create_task(client.prompt(session.id, "Work."))
            for number, (reply_, words) in enumerate(
                [("once", None), ("reject", "do it otherwise"), ("always", None)]
            ):
                (ask,) = await until(client.permissions)  # type: ignore[misc]
                assert ask["permission"] == "bash", number
                await client.reply_permission(ask["id"], reply_, words)
            answer = await task
            assert [p.text for p in answer.parts if hasattr(p, "text")] == ["done"]
            messages, _ = await client.messages(session.id)
            states = [tool_of(message).state for message in messages[1:-1]]
            assert isinstance(states[0], ToolCompleted)
            assert isinstance(states[1], ToolFailed)
            assert "do it otherwise" in states[1].error
            assert isinstance(states[3], ToolCompleted)

    asyncio.run(answer_all())
    assert (chat_house.project / "once").exists()
    assert not (chat_house.project / "refused").exists()
    server.end()
    assert_sound(chat_house)


def test_a_plain_refusal_stops_the_turn(chat_house: Household, server: Server) -> None:
    chat_house.play(
        titles_beside([Call("bash", {"command": "touch a"}), Call("bash", {"command": "touch b"})])
    )

    async def refuse() -> None:
        async with server.client() as client:
            session = await client.create_session()
            task = asyncio.create_task(client.prompt(session.id, "Work."))
            (ask,) = await until(client.permissions)  # type: ignore[misc]
            await client.reply_permission(ask["id"], "reject")
            await task
            assert await client.permissions() == []
            (turn,) = await client.turns(session.id)
            assert turn.outcome == "cancelled"

    asyncio.run(refuse())
    assert len([r for r in chat_house.model.requests if r.request.tool_names]) == 1
    server.end()
    assert_sound(chat_house)


def test_a_question_is_answered_by_the_person(chat_house: Household, server: Server) -> None:
    options = [{"label": "red", "description": "warm"}, {"label": "blue", "description": "cold"}]
    asked = {"question": "Which colour?", "header": "Colour", "options": options}

    def play(request: Request) -> Reply:
        if not request.tool_names:
            return reply("A title")
        if request.results:
            return reply(f"You said: {'blue' if 'blue' in request.results[-1] else '?'}")
        return reply(Call("question", {"questions": [asked]}))

    chat_house.play(play)

    async def choose() -> None:
        async with server.client() as client:
            session = await client.create_session()
            task = asyncio.create_task(client.prompt(session.id, "Ask me."))
            (ask,) = await until(client.questions)  # type: ignore[misc]
            await client.reply_question(ask["id"], [["blue"]])
            answer = await task
            assert [p.text for p in answer.parts if hasattr(p, "text")] == ["You said: blue"]

    asyncio.run(choose())
    server.end()
    assert_sound(chat_house)


def test_an_abort_ends_the_tool_and_queued_prompts_start_the_next_turn(
    chat_house: Household, server: Server
) -> None:
    def play(request: Request) -> Reply:
        if not request.tool_names:
            return reply("A title")
        if "later" in request.last_user_text:
            return reply("answered later")
        return reply(Call("bash", {"command": "sleep 60 & ls > begun; sleep 60"}))

    chat_house.config["permission"] = {"bash": "allow"}
    server.end()
    server.start()
    chat_house.play(play)

    async def stop() -> None:
        async with server.client() as client:
            session = await client.create_session()
            await client.prompt_async(session.id, "Work.")
            await asyncio.to_thread(
                chat_house.model.wait_until, lambda: (chat_house.project / "begun").exists()
            )
            await client.prompt_async(session.id, "later, please")
            assert len(await client.queue(session.id)) == 1
            assert await client.abort(session.id)

            async def idle() -> bool:
                return session.id not in await client.statuses()

            await until(idle)
            messages, _ = await client.messages(session.id)
            assert [p.text for p in messages[-1].parts if hasattr(p, "text")] == ["answered later"]
            assert [turn.outcome for turn in await client.turns(session.id)] == [
                "cancelled",
                "success",
            ]

    asyncio.run(stop())
    server.end()
    assert_sound(chat_house)


def test_queued_prompts_can_be_changed_and_taken_back_and_survive_a_kill(
    chat_house: Household, server: Server
) -> None:
    chat_house.play(titles_beside([Text("thinking"), Stall()]))
    session_id = ""

    async def queue() -> None:
        nonlocal session_id
        async with server.client() as client:
            session = await client.create_session()
            session_id = session.id
            await client.prompt_async(session.id, "Work.")
            await asyncio.to_thread(chat_house.model.wait_for_requests, 1)
            first = await client.prompt_async(session.id, "to be changed")
            second = await client.prompt_async(session.id, "to be taken back")
            third = await client.prompt_async(session.id, "third")
            await client.edit_queued(session.id, first, (TextInput("changed"),))
            await client.withdraw(session.id, second)
            await asyncio.sleep(0.7)
            queued = await client.queue(session.id)
            assert [row["key"] for row in queued] == [first, third]

    asyncio.run(queue())
    server.kill()
    chat_house.play(titles_beside("here again"))
    server.start()

    async def resumed() -> None:
        async with server.client() as client:

            async def idle() -> bool:
                return session_id not in await client.statuses()

            await until(idle)
            messages, _ = await client.messages(session_id)
            texts = [p.text for m in messages for p in m.parts if hasattr(p, "text")]
            assert texts == ["Work.", "thinking", "changed", "third", "here again"]

    asyncio.run(resumed())
    server.end()
    assert_nothing_open(chat_house)
    assert_rows_are_sound(chat_house)
    assert_sound(chat_house)


def test_a_killed_server_leaves_nothing_running_and_the_next_one_says_so(
    chat_house: Household, server: Server
) -> None:
    chat_house.config["permission"] = {"bash": "allow"}
    server.end()
    server.start()
    chat_house.play(titles_beside(Call("bash", {"command": "ls > begun; sleep 60"})))
    session_id = ""

    async def begin() -> None:
        nonlocal session_id
        async with server.client() as client:
            session_id = (await client.create_session()).id
            await client.prompt_async(session_id, "Work.")
            await asyncio.to_thread(
                chat_house.model.wait_until, lambda: (chat_house.project / "begun").exists()
            )

    asyncio.run(begin())
    server.kill()
    chat_house.wait_until_nothing_lives(4)
    server.start()

    async def look() -> None:
        async with server.client() as client:

            async def closed() -> bool:
                messages, _ = await client.messages(session_id)
                return isinstance(tool_of(messages[-1]).state, ToolFailed)

            await until(closed)
            assert await client.statuses() == {}
            assert [turn.outcome for turn in await client.turns(session_id)] == ["interrupted"]

    asyncio.run(look())
    server.end()
    assert_sound(chat_house)


def test_a_faulty_row_of_one_session_does_not_stop_the_server(
    chat_house: Household, server: Server
) -> None:
    chat_house.play(titles_beside([Text("thinking "), Stall()]))
    session_id = ""

    async def begin() -> None:
        nonlocal session_id
        async with server.client() as client:
            session_id = (await client.create_session()).id
            await client.prompt_async(session_id, "Work.")
            await asyncio.to_thread(chat_house.model.wait_for_requests, 1)
            await asyncio.sleep(0.3)

    asyncio.run(begin())
    server.kill()
    chat_house.change("UPDATE part SET data = '{' WHERE type = 'text' AND data LIKE '%thinking%'")
    chat_house.change("UPDATE actor SET retry = '{' WHERE session_id = ?", session_id)
    chat_house.play(titles_beside("fine"))
    server.start()

    async def go_on() -> None:
        async with server.client() as client:
            other = await client.create_session()
            answer = await client.prompt(other.id, "Hello.")
            assert [p.text for p in answer.parts if hasattr(p, "text")] == ["fine"]
            assert (await client.health()).healthy

    asyncio.run(go_on())
    assert server.end() == 0


def test_a_server_that_was_stopped_for_long_does_not_declare_its_own_turn_dead(
    chat_house: Household, server: Server
) -> None:
    chat_house.config["permission"] = {"bash": "allow"}
    server.end()
    server.start()
    chat_house.play(titles_beside(Call("bash", {"command": "ls > begun; sleep 18"}), "survived"))

    async def go() -> None:
        async with server.client() as client:
            session = await client.create_session()
            await client.prompt_async(session.id, "Work.")
            await asyncio.to_thread(
                chat_house.model.wait_until, lambda: (chat_house.project / "begun").exists()
            )
            server.signal(signal.SIGSTOP)
            await asyncio.sleep(16)
            server.signal(signal.SIGCONT)

            async def ended() -> bool:
                return session.id not in await client.statuses()

            await until(ended, 20)
            assert [turn.outcome for turn in await client.turns(session.id)] == ["success"]

    asyncio.run(go())
    server.end()
    assert_sound(chat_house)
