"""Undo in whole runs: several actors, the real server and the real command on one session."""

import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest
from cast import WAIT, Cast, act, report, run, spawn
from household import Household
from invariants import assert_rows_are_sound, assert_sound

from scripted_model.picture import Request
from scripted_model.scenario import Barrier, Call, Reply, Text, reply

pytestmark = pytest.mark.scenario
PASSWORD = "a secret for tests"


def bash(command: str) -> Call:
    return Call("bash", {"command": command})


def write(path: str, content: str) -> Call:
    return Call("write", {"filePath": path, "content": f"{content}\n"})


def files(house: Household) -> dict[str, str]:
    return {
        str(path.relative_to(house.project)): path.read_text()
        for path in sorted(house.project.rglob("*"))
        if path.is_file()
    }


def ran(house: Household, *arguments: str, code: int = 0) -> str:
    done = house.run(*arguments)
    assert done.returncode == code, (done.stdout, done.stderr)
    return done.stdout


def test_what_all_actors_did_after_a_prompt_is_taken_back_with_it(chat_house: Household) -> None:
    house = chat_house
    house.write("shared.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n")
    start = files(house)
    cast = Cast(
        [
            "hello",
            [run("one"), spawn("two")],
            [bash("sed -i s/9/main/ shared.txt"), WAIT],
            "All is done.",
            "All of it is gone.",
        ],
        one=[bash("sed -i s/1/one/ shared.txt; echo 1 > by-one"), report()],
        two=[
            [Call("read", {"filePath": "shared.txt"}), write("deep/by-two", "2")],
            bash("sed -i s/5/two/ shared.txt"),
            report(),
        ],
    )
    house.play(cast)
    assert house.prompt("Hello.").code == 0
    answer = house.prompt("Work, all of you.", "-c")
    assert (answer.code, answer.text) == (0, "All is done."), answer.err
    end = files(house)
    assert set(end) == {"by-one", "deep/by-two", "shared.txt"}
    assert end["shared.txt"] == "one\n2\n3\n4\ntwo\n6\n7\n8\nmain\n"
    told = ran(house, "undo")
    assert "Took back “Work, all of you.”" in told
    assert files(house) == start
    ran(house, "redo")
    assert files(house) == end
    ran(house, "undo")
    last = house.prompt("What is there?", "-c")
    assert (last.code, last.text) == (0, "All of it is gone."), last.err
    assert files(house) == start
    assert [row["actor_id"] for row in house.rows("SELECT actor_id FROM actor")] == ["main"]
    assert house.rows("SELECT 1 FROM inbox WHERE kind = 'notice'") == []
    assert {row["actor_id"] for row in house.rows("SELECT actor_id FROM message")} == {"main"}
    assert all("Work, all" not in text for text in cast.heard["main"][-1].user_texts)
    assert_sound(house)


def test_commands_of_two_actors_that_ran_at_once_are_taken_back_together(
    chat_house: Household,
) -> None:
    house = chat_house
    house.write("log", "start\n")
    start = files(house)
    meet = "touch {0}.there; until test -e {1}.there; do sleep 0.05; done; echo {0} >> log; "
    more = "until grep -q {1} log; do sleep 0.05; done; echo {0} again >> log"
    cast = Cast(
        [[spawn("one"), spawn("two")], WAIT, WAIT, "Both were here.", "Nothing is left."],
        one=[bash((meet + more).format("one", "two")), report()],
        two=[bash((meet + more).format("two", "one")), report()],
    )

    def play(request: Request) -> Reply | None:
        if request.all_text.count("<notice") >= 2 and "Both" not in request.all_text:
            return reply([Text("Both were here.")])
        return cast(request)

    house.play(play)
    assert house.prompt("Write into one file.").text == "Both were here."
    end = files(house)
    assert end["log"].count("again") == 2
    ran(house, "undo")
    assert files(house) == start
    ran(house, "redo")
    assert files(house) == end
    assert_rows_are_sound(house)


def test_an_actor_that_was_there_before_keeps_what_it_knew_then(chat_house: Household) -> None:
    house = chat_house
    cast = Cast(
        [
            [run("one")],
            "It is there.",
            [act("send", to_actor_id="general-1", content="Now write more."), WAIT],
            "It wrote more.",
            [act("send", to_actor_id="general-1", content="What do you know?"), WAIT],
            "It knows of one only.",
        ],
        one=[
            write("first", "1"),
            report(text="I wrote first."),
            write("second", "2"),
            report(text="I wrote second."),
            report(text="I know of first."),
        ],
    )
    house.play(cast)
    assert house.prompt("Begin.").text == "It is there."
    assert house.prompt("More.", "-c").text == "It wrote more."
    assert set(files(house)) == {"first", "second"}
    ran(house, "undo")
    assert set(files(house)) == {"first"}
    answer = house.prompt("Ask it.", "-c")
    assert answer.text == "It knows of one only.", answer.err
    known = cast.heard["one"][-1].all_text
    assert "I wrote first." in known
    assert "What do you know?" in known
    assert "second" not in known
    assert house.model.violations == []


class Server:
    """A running `roost serve` of a household, and an HTTP client for it."""

    def __init__(self, house: Household) -> None:
        self._process = house.start("serve", ROOST_SERVER_PASSWORD=PASSWORD)
        assert self._process.stdout is not None
        found = re.search(r"http://\S+", self._process.stdout.readline())
        assert found
        self.http = httpx2.Client(
            base_url=found.group(),
            headers={"Authorization": f"Bearer {PASSWORD}"},
            trust_env=False,
            timeout=30,
        )

    def post(self, path: str, body: dict[str, Any], status: int = 200) -> Any:
        answer = self.http.post(path, json=body)
        assert answer.status_code == status, answer.text
        return answer.json() if answer.content else None

    def prompt(self, session_id: str, text: str) -> str:
        """Prompt, wait for the answer, and give the id of the prompt."""
        body = {"parts": [{"type": "text", "text": text}]}
        return self.post(f"/session/{session_id}/message", body)["info"]["parentID"]

    def close(self) -> None:
        self.http.close()
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()


@pytest.fixture
def server(chat_house: Household) -> Iterator[Server]:
    chat_house.config["permission"] = "allow"
    served = Server(chat_house)
    yield served
    served.close()


def writer(request: Request) -> Reply:
    """Does what a prompt asks for: `write NAME TEXT`, or `hold`."""
    if not request.tool_names:
        return reply([Text("A title")])
    verb, *rest = request.last_user_text.splitlines()[-1].split()
    if verb == "hold" and not request.results:
        return reply([Barrier("held"), Text("held")])
    if request.results or verb != "write":
        return reply([Text("done")])
    return reply([write(rest[0], rest[1])])


def until(check: Callable[[], object], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_the_server_and_the_command_line_take_back_one_session_in_turns(
    chat_house: Household, server: Server
) -> None:
    house = chat_house
    house.play(writer)
    session_id = server.post("/session", {"title": "One"})["id"]
    path = f"/session/{session_id}"
    first = server.prompt(session_id, "write a.txt one")
    server.prompt(session_id, "write b.txt two")
    shown = ran(house, "undo", "-s", session_id)
    assert "  deleted  b.txt" in shown
    session = server.http.get(path).json()
    assert session["summary"] == {"additions": 1, "deletions": 0, "files": 1}
    assert [one["file"] for one in server.http.get(f"{path}/diff").json()] == ["a.txt"]
    server.post(f"{path}/revert", {"messageID": first})
    assert files(house) == {}
    ran(house, "redo", "-s", session_id, "--all")
    assert files(house) == {"a.txt": "one\n", "b.txt": "two\n"}
    assert "revert" not in server.http.get(path).json()
    ran(house, "undo", "-s", session_id)
    server.prompt(session_id, "go on")
    words = [
        part["text"]
        for message in server.http.get(f"{path}/message").json()
        for part in message["parts"]
        if part["type"] == "text"
    ]
    assert words == ["write a.txt one", "done", "go on", "done"]
    assert "b.txt" not in house.model.requests[-1].request.all_text
    server.close()
    assert_sound(house)


def test_a_session_that_works_somewhere_is_not_taken_back_from_anywhere(
    chat_house: Household, server: Server
) -> None:
    house = chat_house
    house.play(writer)
    session_id = server.post("/session", {"title": "One"})["id"]
    path = f"/session/{session_id}"
    prompt = server.prompt(session_id, "write a.txt one")
    body = {"parts": [{"type": "text", "text": "hold"}]}
    server.post(f"{path}/prompt_async", body, 204)
    house.model.wait_for_barrier("held")
    refused = server.post(f"{path}/revert", {"messageID": prompt}, 409)
    assert refused["name"] == "BusyError"
    done = house.run("undo", "-s", session_id)
    assert done.returncode != 0
    assert f"session {session_id} is busy: main is at work" in done.stderr
    assert "stop it first" in done.stderr
    assert files(house) == {"a.txt": "one\n"}
    server.post(f"{path}/abort", {})
    until(lambda: server.http.get("/session/status").json() == {})
    server.post(f"{path}/revert", {"messageID": prompt})
    assert files(house) == {}
    server.close()
    assert_sound(house)


def test_a_command_that_was_stopped_is_taken_back_too(chat_house: Household) -> None:
    house = chat_house
    house.write("a.txt", "one\n")

    def play(request: Request) -> Reply:
        if request.last_user_text.splitlines()[-1] != "work" or request.results:
            return reply([Text("done")])
        return reply([bash("echo two >> a.txt; touch begun; sleep 60")])

    house.play(play)
    assert house.prompt("hello").code == 0
    process = house.start("run", "--yes", "-c", "work")
    until(lambda: (house.project / "begun").exists())
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    shown = ran(house, "undo")
    assert "restored  a.txt" in shown
    assert files(house) == {"a.txt": "one\n"}
    assert_sound(house)
