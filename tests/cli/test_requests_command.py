"""`roost requests`, beside a server that runs the actors, and after it has died."""

import json
import os
import signal
import threading
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
from terminal_user import User, ended, read_until

from roost.cli.requests.answering import chosen
from roost.core.errors import UsageError
from roost.tools.contract import Option, Question
from scripted_model.picture import Request
from scripted_model.scenario import Call, Reply, reply

SECRET = "open sesame"
TOUCH = ("bash", {"command": "touch made.txt", "description": "make it"})
QUESTIONS = (
    "question",
    {
        "questions": [
            {
                "question": "Which database?",
                "header": "DB",
                "options": [
                    {"label": "SQLite", "description": "a file"},
                    {"label": "PostgreSQL", "description": "a server"},
                ],
            },
            {"question": "When?", "header": "When"},
        ]
    },
)


def plays(request: Request) -> Reply:
    """A prompt in JSON is a list of calls, one a step; then it tells what came of the last."""
    calls = json.loads(request.last_user_text)
    done = [result for message in request.messages for result in message.results]
    if len(done) < len(calls):
        return reply(Call(*calls[len(done)]))
    return reply(f"So: {done[-1].text}")


class Server:
    """`roost serve` of a user, and requests to it."""

    def __init__(self, user: User) -> None:
        user.model.use(plays)
        user.environment["ROOST_SERVER_PASSWORD"] = SECRET
        self.user = user
        self.process = user.start("serve")
        assert self.process.stdout is not None
        self.url = read_until(self.process.stdout, "\n").split()[-1]

    def post(self, path: str, body: dict[str, Any]) -> Any:
        request = urllib.request.Request(
            f"{self.url}{path}", json.dumps(body).encode(), self.headers()
        )
        with urllib.request.urlopen(request, timeout=20) as answer:
            said = answer.read()
        return json.loads(said) if said else None

    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {SECRET}", "Content-Type": "application/json"}

    def prompt(self, *calls: tuple[str, dict[str, Any]], title: str = "Ask me") -> str:
        """A session whose actor makes these calls, one after the other."""
        session = self.post("/session", {"title": title})["id"]
        parts = [{"type": "text", "text": json.dumps(calls)}]
        self.post(f"/session/{session}/prompt_async", {"parts": parts})
        return str(session)

    def waiting(self, count: int = 1) -> list[dict[str, Any]]:
        """What waits, once it is that much."""
        self.user.model.wait_until(lambda: len(listed(self.user)) == count)
        return listed(self.user)

    def last_words(self, session: str) -> str:
        """What the actor says when its turn has ended."""
        self.user.model.wait_until(lambda: not state_of(self.user, session))
        return self.user.call("sessions", "show", session, "-n", "1").out


@pytest.fixture
def server(user: User) -> Iterator[Server]:
    one = Server(user)
    yield one
    os.killpg(one.process.pid, signal.SIGTERM)
    ended(one.process)


def listed(user: User, *words: str) -> list[dict[str, Any]]:
    done = user.call("requests", *words, "--format", "json")
    assert done.code == 0, done.err
    return json.loads(done.out)


def state_of(user: User, session: str) -> str:
    done = user.call("sessions", "list", "--format", "json")
    return next(one["state"] for one in json.loads(done.out) if one["id"] == session)


def test_what_waits_is_listed_with_who_asks_and_what(user: User, server: Server) -> None:
    session = server.prompt(TOUCH)
    (one,) = server.waiting()
    assert (one["sessionID"], one["actorID"], one["agent"]) == (session, "main", "build")
    assert (one["kind"], one["what"]) == ("permission", "running `touch made.txt`")
    assert 0 <= one["age"] < 60
    shown = user.call("requests")
    head, line = shown.out.splitlines()
    assert head.split() == ["REQUEST", "ASKED", "SESSION", "ACTOR", "WHAT"]
    assert line.split()[0] == one["id"]
    assert line.endswith("main   running `touch made.txt`")
    assert "roost requests allow ID" in shown.err
    assert [each["id"] for each in listed(user, "-s", session)] == [one["id"]]
    all_of_it = user.call("requests", "show", one["id"][:12]).out
    for said in (session, "Ask me", str(user.folder), "main (build)", "allows touch *"):
        assert said in all_of_it


def test_a_session_that_waits_for_a_person_is_not_shown_as_busy(user: User, server: Server) -> None:
    session = server.prompt(TOUCH)
    server.waiting()
    assert state_of(user, session) == "waits for permission"
    sessions = user.call("sessions")
    assert "waits for permission" in sessions.out
    assert "running" not in sessions.out
    assert "1 session waits for you: roost requests" in sessions.err
    assert "waits for permission" in user.call("sessions", "show", session).out
    assert session in user.call("sessions", "--state", "asking").out
    assert user.call("sessions", "--state", "running").out == ""
    (line,) = user.call("actors").out.splitlines()[1:]
    assert "waits for permission" in line
    assert "running `touch made.txt`" in line
    (actor,) = json.loads(user.call("actors", "--json").out)
    assert actor["requests"] == [server.waiting()[0]["id"]]


def test_who_is_allowed_goes_on_in_the_process_that_runs_it(user: User, server: Server) -> None:
    session = server.prompt(TOUCH)
    (one,) = server.waiting()
    done = user.call("requests", "allow", one["id"])
    assert (done.code, done.out) == (0, f"{one['id']}: allowed once (running `touch made.txt`)\n")
    assert "So: " in server.last_words(session)
    assert (user.folder / "made.txt").exists()
    again = user.call("requests", "allow", one["id"])
    assert (again.code, "allowed once before" in again.out) == (0, True)
    late = user.call("requests", "deny", one["id"])
    assert late.code == 1
    assert f"{one['id']} was allowed once already" in late.err


def test_what_is_allowed_for_good_is_not_asked_again(user: User, server: Server) -> None:
    session = server.prompt(TOUCH, ("bash", {"command": "touch more.txt", "description": "too"}))
    (one,) = server.waiting()
    done = user.call("requests", "allow", one["id"], "--always")
    assert "from now on allowed in this project: touch *" in done.out
    assert "So: " in server.last_words(session)
    assert (user.folder / "more.txt").exists()


def test_a_refusal_with_words_lets_the_actor_go_on_with_them(user: User, server: Server) -> None:
    session = server.prompt(TOUCH)
    (one,) = server.waiting()
    done = user.call("requests", "deny", one["id"], "--because", "use the other folder")
    said = f"{one['id']}: refused: use the other folder (running `touch made.txt`)\n"
    assert (done.code, done.out) == (0, said)
    assert "says: use the other folder" in server.last_words(session)
    assert not (user.folder / "made.txt").exists()
    assert user.call("requests", "deny", one["id"]).code == 0
    assert user.call("requests", "allow", one["id"]).code == 1


def test_a_refusal_without_words_ends_the_turn(user: User, server: Server) -> None:
    session = server.prompt(TOUCH)
    (one,) = server.waiting()
    assert user.call("requests", "deny", one["id"]).code == 0
    assert "So: " not in server.last_words(session)


def test_questions_are_answered_by_option_number_or_own_words(user: User, server: Server) -> None:
    session = server.prompt(QUESTIONS)
    (one,) = server.waiting()
    assert state_of(user, session) == "waits for an answer"
    shown = user.call("requests", "show", one["id"]).out
    assert "1. Which database?\n   1  SQLite  a file\n   2  PostgreSQL  a server\n" in shown
    short = user.call("requests", "answer", one["id"], "2")
    assert short.code == 2
    assert "2 questions are asked, and 1 answer given" in short.err
    wrong = user.call("requests", "allow", one["id"])
    assert wrong.code == 2
    assert f"roost requests answer {one['id']} ANSWER" in wrong.err
    done = user.call("requests", "answer", one["id"], "2", "next week")
    assert (done.code, "answered: PostgreSQL / next week" in done.out) == (0, True), done.err
    last = server.last_words(session)
    assert "→ PostgreSQL" in last
    assert "→ next week" in last
    assert user.call("requests", "answer", one["id"], "1", "now").code == 1


def test_a_question_can_be_left_unanswered(user: User, server: Server) -> None:
    server.prompt(QUESTIONS)
    (one,) = server.waiting()
    words = user.call("requests", "deny", one["id"], "--because", "no time")
    assert words.code == 2
    done = user.call("requests", "deny", one["id"], "--json")
    assert json.loads(done.out)["answer"] == {"rejected": True}
    assert listed(user) == []


def test_requests_of_several_sessions_are_told_apart(user: User, server: Server) -> None:
    first, second = server.prompt(TOUCH, title="One"), server.prompt(QUESTIONS, title="Two")
    server.waiting(2)
    (one,) = listed(user, "--session", first[:14])
    (two,) = listed(user, "-s", second)
    assert (one["sessionTitle"], two["sessionTitle"]) == ("One", "Two")
    again = server.prompt(TOUCH, title="Three")
    server.waiting(3)
    (three,) = listed(user, "-s", again)
    ids = (one["id"], three["id"])
    shared = next(at for at in range(40) if ids[0][: at + 1] != ids[1][: at + 1])
    short = user.call("requests", "allow", ids[0][:shared])
    assert short.code == 2
    assert one["id"] in short.err
    assert three["id"] in short.err


def test_clients_of_the_server_hear_what_was_answered_elsewhere(user: User, server: Server) -> None:
    heard: list[dict[str, Any]] = []

    def follow() -> None:
        request = urllib.request.Request(f"{server.url}/event", headers=server.headers())
        with urllib.request.urlopen(request, timeout=30) as stream:
            for line in stream:
                if line.startswith(b"data:"):
                    heard.append(json.loads(line[5:]))
                if heard and heard[-1]["type"] == "permission.replied":
                    return

    listening = threading.Thread(target=follow)
    listening.start()
    user.model.wait_until(lambda: bool(heard))
    session = server.prompt(TOUCH)
    (one,) = server.waiting()
    user.call("requests", "allow", one["id"])
    listening.join(20)
    assert heard[-1]["properties"] == {
        "sessionID": session, "requestID": one["id"], "reply": "once",
    }  # fmt: skip
    assert [event["type"] for event in heard].count("permission.replied") == 1


def test_nobody_answers_one_that_nobody_waits_for(user: User) -> None:
    server = Server(user)
    session = server.prompt(TOUCH)
    (one,) = server.waiting()
    os.killpg(server.process.pid, signal.SIGKILL)
    server.process.communicate()
    assert listed(user) == []
    assert state_of(user, session) == "interrupted"
    for action in ("allow", "deny"):
        done = user.call("requests", action, one["id"])
        assert done.code == 1
        assert "the process that asked is gone" in done.err
        assert f'roost run -s {session} "go on"' in done.err
    assert "nobody waits" in user.call("requests", "show", one["id"]).out


def test_without_requests_and_for_unknown_ones_it_says_so(user: User) -> None:
    assert user.call("requests").err == "Nobody asks you anything.\n"
    for action in (("show",), ("allow",), ("deny",), ("answer", "x")):
        done = user.call("requests", action[0], "per_nothing", *action[1:])
        assert done.code == 2
        assert "there is no request per_nothing" in done.err
    assert user.call("requests", "-s", "ses_nothing").code == 2


DATABASE = Question("Which?", "", (Option("SQLite", ""), Option("A, or B", "")), custom=False)
SEVERAL = Question("Which ones?", "", (Option("one", ""), Option("two", "")), multiple=True)


@pytest.mark.parametrize(
    ("question", "said", "labels"),
    [
        (DATABASE, "sqlite", ["SQLite"]),
        (DATABASE, " 2 ", ["A, or B"]),
        (DATABASE, "a, or b", ["A, or B"]),
        (SEVERAL, "two, 1", ["two", "one"]),
        (SEVERAL, "1,one", ["one"]),
        (SEVERAL, "one, and more", ["one, and more"]),
        (Question("When?", ""), "3", ["3"]),
    ],
)
def test_an_answer_means_options_or_itself(
    question: Question, said: str, labels: list[str]
) -> None:
    assert chosen([question], [said]) == [labels]


@pytest.mark.parametrize("said", ["MySQL", "3", "0", ""])
def test_an_answer_that_is_no_option_is_refused_where_only_options_will_do(said: str) -> None:
    with pytest.raises(UsageError, match="is no answer to: Which"):
        chosen([DATABASE], [said])
