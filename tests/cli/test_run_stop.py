"""Signals, other processes on the same session, and kills: what `roost run` does then."""

import os
import pty
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from terminal_user import User, ended, read_until

from scripted_model.picture import Request
from scripted_model.scenario import (
    Barrier,
    Begin,
    Call,
    Delay,
    Reply,
    Stall,
    Status,
    Text,
    reply,
    scenario,
)
from scripted_model.server import ScriptedModel


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_signal_stops_the_turn_in_order_and_keeps_the_text(
    user: User, model: ScriptedModel, number: signal.Signals, code: int
) -> None:
    model.use(scenario([Text("half an answer"), Stall()], "the rest"))
    process = user.start("run", "go")
    assert process.stdout is not None
    read_until(process.stdout, "half an answer")
    process.send_signal(number)
    done = ended(process)
    assert done.code == code, done.err
    assert done.out == "\n"
    assert "go on with: roost run -s ses_" in done.err
    assert "Traceback" not in done.err
    assert user.run("run", "-c", "go on").out == "the rest\n"
    session = user.call("sessions", "list", "--format", "json").out
    assert session.count('"id"') == 1
    shown = user.call("sessions", "show", session.partition('"id": "')[2].partition('"')[0]).out
    assert "half an answer" in shown


def test_what_a_stopped_step_has_used_is_counted_and_the_signal_is_named(
    user: User, model: ScriptedModel
) -> None:
    mark = f"sleep 14{os.getpid()}"
    model.use(scenario(Call("bash", {"command": mark}), "unused"))
    process = user.start("run", "--yes", "go")
    _wait_for_process(mark)
    process.send_signal(signal.SIGTERM)
    done = ended(process)
    assert "error: terminated (SIGTERM)\n" in done.err
    assert " · 1 step · " in done.err
    assert " · 0 tokens" not in done.err
    assert " · $0.0" in done.err


def test_a_signal_during_a_command_ends_the_command(user: User, model: ScriptedModel) -> None:
    mark = f"sleep 12{os.getpid()}"
    model.use(scenario(Call("bash", {"command": mark}), "unused"))
    process = user.start("run", "--yes", "--format", "json", "go")
    assert process.stderr is not None
    _wait_for_process(mark)
    process.send_signal(signal.SIGINT)
    done = ended(process)
    assert done.code == 130
    assert done.result["outcome"] == "cancelled"
    call = next(line["part"] for line in done.lines if line["type"] == "tool_use")
    assert call["state"]["status"] == "error"
    assert not _running(mark)


def test_the_second_signal_cuts_the_stop_short_and_the_result_is_still_told(
    user: User, model: ScriptedModel
) -> None:
    mark = f"sleep 13{os.getpid()}"
    model.use(scenario(Call("bash", {"command": f"trap '' TERM; {mark}; {mark}"}), "unused"))
    process = user.start("run", "--yes", "--format", "json", "go")
    _wait_for_process(mark)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    time.sleep(0.05)  # two that come together are one
    process.send_signal(signal.SIGTERM)
    done = ended(process)
    assert time.monotonic() - began < 1.9  # a command that defies SIGTERM is given 2 s
    assert done.code == 130, done.err
    assert done.result["outcome"] == "cancelled"
    assert done.result["exit"] == 130
    assert done.result["session"] is not None
    assert done.kinds().count("result") == 1
    _wait_until(lambda: not _running(mark), 5)


def test_the_third_signal_ends_a_run_that_nobody_reads(user: User, model: ScriptedModel) -> None:
    much = " ".join(str(number) for number in range(40_000))
    model.use(lambda _: reply([Text(f"much to read {much}", size=4_000), Stall()]))
    process = user.start("run", "--yes", "go")
    assert process.stdout is not None
    read_until(process.stdout, "much")
    time.sleep(0.3)  # the pipe fills, and there is no event for that
    for _ in range(3):
        assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        time.sleep(0.7)
    assert process.wait(5) == 143
    for stream in (process.stdout, process.stderr):
        assert stream is not None
        stream.close()


UP = """\
import sys
from roost.cli.signals import end_at_once_on_signals
end_at_once_on_signals()
print("up", file=sys.stderr, flush=True)
from roost.cli.main import main
sys.exit(main())
"""
"""The command, and a word as soon as signals are heard: before it there is only Python."""


@pytest.mark.parametrize("apart", [None, 0.001, 0.005, 0.02])
def test_a_signal_at_any_moment_ends_with_its_code_and_with_a_result_or_with_nothing(
    user: User, model: ScriptedModel, apart: float | None
) -> None:
    model.use(lambda _: reply([Text("half an answer"), Stall()]))
    for moment in range(0, 400, 40):
        process = user.start("run", "--format", "json", "go", program=[sys.executable, "-c", UP])
        assert process.stderr is not None
        read_until(process.stderr, "up")
        for pause in (moment / 1000, *([apart] if apart is not None else [])):
            time.sleep(pause)
            process.send_signal(signal.SIGINT)
        done = ended(process)
        assert done.code == 130, (moment, done.out, done.err)
        assert done.err.strip() == ""
        assert not done.out or done.kinds().count("result") == 1
        assert not done.out or done.result["exit"] == 130


def test_a_signal_after_the_end_changes_no_exit_code(user: User, model: ScriptedModel) -> None:
    model.use(lambda _: reply("done"))
    for pause in (0.0, 0.005, 0.01, 0.015, 0.02, 0.03):
        process = user.start("run", "--format", "json", "go")
        assert process.stdout is not None
        shown = read_until(process.stdout, '"type":"result"')
        time.sleep(pause)
        process.send_signal(signal.SIGINT)
        done = ended(process)
        assert done.code == 0, (pause, shown + done.out, done.err)
        assert done.err == ""


def test_a_session_whose_owner_was_killed_goes_on_at_once(user: User, model: ScriptedModel) -> None:
    model.use(scenario([Text("half an answer"), Stall()], "the rest"))
    process = user.start("run", "go")
    assert process.stdout is not None
    read_until(process.stdout, "half an answer")
    process.kill()
    ended(process)
    began = time.monotonic()
    done = user.run("run", "--format", "json", "-c", "go on")
    assert done.code == 0, done.err
    assert time.monotonic() - began < 5
    assert [line["part"]["text"] for line in done.lines if line["type"] == "text"] == ["the rest"]


def test_a_prompt_to_a_session_that_another_process_runs_steers_it(
    user: User, model: ScriptedModel
) -> None:
    def answer(request: Request) -> Reply:
        if "second" in request.last_user_text:
            return reply("heard both")
        return reply([Text("busy"), Barrier("work"), Call("glob", {"pattern": "*"})])

    model.use(answer)
    first = user.start("run", "--format", "json", "first")
    model.wait_for_barrier("work")
    second = user.start("run", "--format", "json", "-c", "second")
    _wait_until(lambda: "second" in user.call("sessions", "show", _session(user)).out)
    model.release("work")
    one, two = ended(first), ended(second)
    assert one.code == 0, one.err
    assert two.code == 0, two.err
    assert two.result["text"] == "heard both"
    assert one.result["turn"] == two.result["turn"]
    texts = [line["part"]["text"] for line in two.lines if line["type"] == "text"]
    assert texts == ["heard both"]


def test_an_answer_that_another_process_writes_is_whole_in_a_file(
    user: User, model: ScriptedModel
) -> None:
    def answer(request: Request) -> Reply:
        if "second" in request.last_user_text:
            return reply([Begin(), Delay(0.7), Text("heard "), Delay(0.7), Text("both")])
        return reply([Text("busy"), Barrier("work"), Call("glob", {"pattern": "*"})])

    model.use(answer)
    first = user.start("run", "--format", "json", "first")
    model.wait_for_barrier("work")
    path = user.folder.parent / "answer.md"
    with path.open("w") as file:
        second = user.start("run", "-c", "second", stdout=file)
    _wait_until(lambda: "second" in user.call("sessions", "show", _session(user)).out)
    model.release("work")
    one, two = ended(first), ended(second)
    assert one.code == 0, one.err
    assert two.code == 0, two.err
    assert path.read_text() == "heard both\n"


def test_who_follows_takes_over_when_the_other_process_dies(
    user: User, model: ScriptedModel
) -> None:
    model.use(scenario([Text("busy"), Barrier("work")], "heard you"))
    first = user.start("run", "--format", "json", "first")
    model.wait_for_barrier("work")
    second = user.start("run", "--format", "json", "-c", "second")
    _wait_until(lambda: "second" in user.call("sessions", "show", _session(user)).out)
    first.kill()
    ended(first)
    done = ended(second)
    assert done.code == 0, done.err
    assert done.result["text"] == "heard you"


def after_a_failure(request: Request) -> Reply:
    if "second" in request.last_user_text:
        return reply([Barrier("next"), Text("heard you")])
    return reply([Barrier("work"), Status(401)])


def test_a_prompt_that_waited_behind_a_failure_is_answered_before_the_end(
    user: User, model: ScriptedModel
) -> None:
    model.use(after_a_failure)
    first = user.start("run", "first")
    model.wait_for_barrier("work")
    assert user.call("inbox", "send", _session(user), "second").code == 0
    model.release("work")
    assert first.stderr is not None
    read_until(first.stderr, "another prompt waits in this session")
    model.release("next")
    one = ended(first)
    assert (one.code, one.out) == (1, "")
    assert "heard you" in user.call("sessions", "show", _session(user)).out


def test_who_follows_behind_a_failure_is_answered_whoever_runs_it(
    user: User, model: ScriptedModel
) -> None:
    model.use(after_a_failure)
    first = user.start("run", "first")
    model.wait_for_barrier("work")
    second = user.start("run", "--format", "json", "-c", "second")
    _wait_until(lambda: "second" in user.call("sessions", "show", _session(user)).out)
    model.release("work")
    model.release("next")
    one, two = ended(first), ended(second)
    assert (one.code, one.out) == (1, "")
    assert two.code == 0, two.err
    assert two.result["text"] == "heard you"


def test_interrupting_a_prompt_nobody_has_read_takes_it_back(
    user: User, model: ScriptedModel
) -> None:
    model.use(scenario([Text("busy"), Barrier("work")], "unused"))
    first = user.start("run", "--format", "json", "first")
    model.wait_for_barrier("work")
    second = user.start("run", "-c", "second")
    _wait_until(lambda: "second" in user.call("sessions", "show", _session(user)).out)
    second.send_signal(signal.SIGINT)
    assert ended(second).code == 130
    model.release("work")
    done = ended(first)
    assert done.code == 0
    assert "second" not in user.call("sessions", "show", done.result["session"]).out


def test_a_terminal_gets_colour_and_a_file_does_not(user: User, model: ScriptedModel) -> None:
    (user.folder / "a").write_text("x")
    for variables, coloured in (({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)):
        model.use(scenario(Call("read", {"filePath": "a"}), "fine \x1b[31m"))
        shown = _on_terminal(user, "run", "go", env={"TERM": "xterm", **variables})
        assert ("\x1b[" in shown) is coloured
        assert "fine ␛[31m" in shown


def _on_terminal(user: User, *words: str, env: dict[str, str]) -> str:
    ours, theirs = pty.openpty()
    process = user.start(*words, stdin=theirs, stdout=theirs, stderr=theirs, env=env)
    os.close(theirs)
    shown = b""
    try:
        while chunk := os.read(ours, 65_536):
            shown += chunk
    except OSError:
        pass  # the terminal's other end is closed
    os.close(ours)
    assert process.wait(20) == 0, shown
    return shown.decode()


def _session(user: User) -> str:
    listed = user.call("sessions", "list", "--format", "json").out
    return listed.partition('"id": "')[2].partition('"')[0]


def _running(mark: str) -> bool:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                command = (
                    (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                )
            except OSError:
                continue
            if command.strip() == mark:
                return True
    return False


def _wait_for_process(mark: str) -> None:
    _wait_until(lambda: _running(mark))


def _wait_until(fits: Callable[[], bool], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not fits():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.05)
