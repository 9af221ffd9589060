"""`roost actors` and `roost inbox`, beside processes that work and where none does."""

import json
import os
import pty
import signal
import sqlite3
import subprocess
from typing import Any

import pytest
from terminal_user import KEY, ROOST, User, ended

from roost.cli.actors.tree import span
from scripted_model.picture import Request
from scripted_model.scenario import Barrier, Reply, reply, scenario, step
from scripted_model.server import ScriptedModel


def at_work(user: User, gate: str = "gate") -> tuple["subprocess.Popen[str]", str]:
    """A run that waits for its model at `gate`, and its session."""
    user.model.use(scenario(step(Barrier(gate), "done"), default="heard"))
    process = user.start("run", "--format", "json", "--title", "Long work", "go")
    user.model.wait_for_barrier(gate)
    (shown,) = listed(user)
    return process, shown["sessionID"]


def listed(user: User, *words: str) -> list[dict[str, Any]]:
    done = user.call("actors", "--json", *words)
    assert done.code == 0, done.err
    return json.loads(done.out)


def kill(process: "subprocess.Popen[str]") -> None:
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def test_who_is_at_work_is_shown_with_what_it_does(user: User) -> None:
    process, session = at_work(user)
    (one,) = listed(user)
    assert (one["actorID"], one["state"], one["title"]) == ("main", "progressing", "Long work")
    assert (one["doing"], one["directory"]) == ("calling its model", str(user.folder))
    assert one["process"] == process.pid
    head, line = user.call("actors").out.splitlines()
    assert head.split()[:3] == ["ACTOR", "AGENT", "STATE"]
    assert line.split()[:3] == [f"{session}/main", "build", "progressing"]
    assert line.endswith("Long work: calling its model")
    user.model.release("gate")
    ended(process)
    idle = user.call("actors")
    assert (idle.code, idle.out) == (0, "")
    assert "--all" in idle.err
    (slept,) = listed(user, "--all")
    assert (slept["state"], slept["outcome"], slept["process"]) == ("asleep", "success", None)
    assert "asleep: success" in user.call("actors", "--all").out


def test_one_whose_process_was_killed_is_told_from_one_that_works(user: User) -> None:
    process, _ = at_work(user)
    kill(process)
    assert [one["state"] for one in listed(user)] == ["interrupted"]


def test_an_actor_of_another_process_is_stopped(user: User) -> None:
    process, session = at_work(user)
    done = user.call("actors", "cancel", "main", "--force")
    assert done.code == 0, done.err
    assert done.out == f"{session}/main has stopped\n"
    assert ended(process).result["outcome"] == "cancelled"
    again = user.call("actors", "cancel", session)
    assert (again.code, again.out) == (0, f"{session} is not at work\n")


def test_one_that_may_take_its_last_step_is_waited_for(user: User) -> None:
    process, session = at_work(user)
    asked = user.start("actors", "cancel", "main")
    user.model.wait_until(lambda: [one["state"] for one in listed(user)] == ["stopping"])
    user.model.release("gate")
    done = ended(asked)
    assert (done.code, done.out) == (0, f"{session}/main has stopped\n"), done.err
    assert ended(process).result["text"] == "done"


def test_one_whose_process_was_killed_is_stopped_at_once(user: User) -> None:
    process, session = at_work(user)
    kill(process)
    done = user.call("actors", "cancel", f"{session[:12]}/main")
    assert done.out == f"{session}/main has stopped\n"
    (slept,) = listed(user, "--all", "-s", session)
    assert (slept["state"], slept["outcome"]) == ("asleep", "cancelled")


def test_a_name_that_nobody_at_work_has_is_told_with_the_way_out(user: User) -> None:
    process, session = at_work(user)
    unknown = user.call("actors", "cancel", "explore-1")
    assert unknown.code == 2
    assert "no actor is called explore-1" in unknown.err
    assert "roost actors --all" in unknown.err
    near = user.call("actors", "cancel", "mian", "-s", session)
    assert near.code == 2
    assert "Did you mean main?" in near.err
    kill(process)


def test_the_tree_shows_who_started_whom(user: User) -> None:
    process, session = at_work(user)
    kill(process)
    children(user, session)
    lines = user.call("actors", "--all").out.splitlines()
    assert [line[: line.index("-1") + 2] for line in lines if "-1" in line] == [
        "├─ explore-1",
        "└─ general-1",
    ]
    assert lines[1].startswith(f"{session}/main ")
    assert lines[3].startswith("│  └─ explore-2 ")
    plain = user.run("actors", "--all", env={"LANG": "C", "PYTHONIOENCODING": "ascii"})
    assert "|- explore-1" in plain.out


def children(user: User, session: str) -> None:
    """Three actors that sleep below main."""
    (path,) = user.home.rglob("roost.db")
    with sqlite3.connect(path) as connection:
        for at, (name, parent) in enumerate(
            [("explore-1", "main"), ("general-1", "main"), ("explore-2", "explore-1")]
        ):
            connection.execute(
                "INSERT INTO actor (session_id, actor_id, mode, fronts, parent_session_id,"
                " parent_actor_id, agent, lifecycle, background, depth, status, last_activity,"
                " created) VALUES (?,?,'subagent',0,?,?,'explore','ephemeral',1,1,'idle',0,?)",
                (session, name, session, parent, 9_000_000_000_000 + at),
            )
    connection.close()


def test_watching_draws_again_on_a_terminal_and_prints_once_elsewhere(user: User) -> None:
    process, session = at_work(user)
    assert session in user.call("actors", "--watch").out
    mine, theirs = pty.openpty()
    watching = subprocess.Popen(
        [*ROOST, "actors", "--watch"],
        env={**user.environment, "TERM": "xterm"},
        cwd=user.folder,
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    seen = ""
    while seen.count("ACTOR") < 2:
        seen += os.read(mine, 65_536).decode()
    assert "\x1b[2F\x1b[J" in seen
    watching.send_signal(signal.SIGINT)
    assert watching.wait(10) == 130
    os.close(mine)
    kill(process)


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.4, "0 s"), (61, "1 min"), (7_300, "2 h"), (200_000, "2 d")]
)
def test_a_span_is_told_roughly(seconds: float, words: str) -> None:
    assert span(seconds) == words


def test_words_reach_an_actor_that_another_process_runs(user: User) -> None:
    process, session = at_work(user)
    sent = user.run("inbox", "send", session[:12], "and look into docs/, too")
    assert sent.code == 0, sent.err
    assert sent.out.endswith(f"main hears it at its next step, in process {process.pid}\n")
    queued = json.loads(user.call("inbox", "list", session, "--state", "queued", "--json").out)
    assert [one["id"] for one in queued] == [sent.out.split()[0]]
    user.model.release("gate")
    assert ended(process).result["text"] == "heard"


def test_words_to_one_whom_nobody_runs_wait_and_say_how_they_are_heard(
    user: User, model: ScriptedModel
) -> None:
    model.use(scenario(default="pong"))
    session = user.run("run", "--format", "json", "go").result["session"]
    before = len(model.requests)
    sent = user.run("inbox", "send", session, "-", given="first this\n")
    assert sent.code == 0, sent.err
    go_on = f"roost run -s {session} 'go on'"
    assert sent.out.endswith(f"nobody runs main now. To have it heard: {go_on}\n")
    assert len(model.requests) == before, "no turn begins in this process"
    seen: list[str] = []

    def answer(request: Request) -> Reply:
        seen.append(request.all_text)
        return reply("heard")

    model.use(answer)
    assert user.run("run", "--format", "json", "-s", session, "go on").code == 0
    assert "first this" in seen[-1]


def test_a_running_server_takes_words_up(user: User, model: ScriptedModel) -> None:
    model.use(scenario(default="pong"))
    session = user.run("run", "--format", "json", "go").result["session"]
    server = user.start("serve")
    assert server.stdout is not None
    server.stdout.readline()
    model.use(scenario(step(Barrier("heard"), "pong"), scope="server"))
    sent = user.run("inbox", "send", session, "are you there?")
    assert f"(process {server.pid}) takes it up in a moment" in sent.out
    model.wait_for_barrier("heard")
    model.release("heard")
    os.killpg(server.pid, signal.SIGTERM)
    server.communicate()


def test_mail_is_listed_and_taken_back_until_it_was_heard(user: User, model: ScriptedModel) -> None:
    model.use(scenario(default="pong"))
    session = user.run("run", "--format", "json", "go").result["session"]
    sent = user.call("inbox", "send", session, "forget it")
    identifier = sent.out.split()[0]
    head, first, second = user.call("inbox").out.splitlines()
    assert head.split() == ["ID", "SAID", "FROM", "TO", "KIND", "STATE", "WORDS"]
    assert first.split()[-5:] == ["you", "main", "prompt", "delivered", "go"]
    assert second.split()[-4:] == ["prompt", "queued", "forget", "it"]
    taken = user.call("inbox", "withdraw", identifier[4:16])
    assert (taken.code, taken.out) == (0, "taken back: forget it\n")
    again = user.call("inbox", "withdraw", identifier)
    assert (again.code, again.out) == (0, f"{identifier} was taken back before: forget it\n")
    one = user.call("inbox", "list", session, "-n", "1")
    assert "rejected" in one.out
    assert one.err == "1 message of 2; -n 2 shows all\n"
    none = user.call("inbox", "-s", session, "--state", "queued")
    assert (none.out, none.err) == ("", "There is no such mail.\n")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("send", "ses_nothing", "hello"), 2, "there is no session ses_nothing"),
        (("withdraw", "inb_nothing"), 2, "there is no message inb_nothing"),
        (("list", "--state", "lost"), 2, "invalid choice: 'lost'"),
    ],
)
def test_what_is_not_there_is_told(
    user: User, words: tuple[str, ...], code: int, said: str
) -> None:
    done = user.call("inbox", *words)
    assert done.code == code
    assert said in done.err


def test_an_actor_that_is_not_there_gets_no_mail(user: User, model: ScriptedModel) -> None:
    model.use(scenario(default="pong"))
    session = user.run("run", "--format", "json", "go").result["session"]
    done = user.call("inbox", "send", session, "hello", "--actor", "explore-1")
    assert done.code == 2
    assert "There are: main." in done.err
    assert KEY not in done.err
