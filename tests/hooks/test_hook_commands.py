import asyncio
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hook_stage import (
    asked,
    command,
    place,
    post_stop,
    pre_stop,
    session_post,
    session_pre,
    step_post,
    step_pre,
)

from roost.config.hooks import HookConfig, HookPoint
from roost.core.secrets import Secrets
from roost.hooks.models import REASON_CHARS, HookReport
from roost.hooks.runner import Hooks

MARK = f"sleep 291.{os.getpid()}"
"""Tells the processes of this test from those of others beside it."""


def run(folder: Path, text: str | tuple[str, ...], **options: Any) -> HookReport:
    """What one command says at `actor.pre_stop`."""
    given = pre_stop(**options.pop("given", {}))
    around = options.pop("around", {})
    one = command("actor.pre_stop", text, **options)
    return asked(place(folder, commands={"mine": one}, **around), lambda h: h.pre_stop(given))


def running(words: str) -> list[int]:
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ")
                state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue
            if words.encode() in line and state not in "ZX":
                found.append(int(entry.name))
    return found


def gone(words: str) -> bool:
    deadline = time.monotonic() + 5
    while running(words) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not running(words)


def test_a_command_is_told_everything_as_json(tmp_path: Path) -> None:
    report = run(
        tmp_path,
        (sys.executable, "-c", "import sys; open('told', 'w').write(sys.stdin.read())"),
        given={"task_id": "T1.2", "parent_session_id": "ses_0", "final_text": "é\n\x1b ✓"},
    )
    assert report.warnings == ()
    assert json.loads((tmp_path / "told").read_text()) == {
        "on": "actor.pre_stop",
        "session_id": "ses_1",
        "directory": str(tmp_path),
        "parent_session_id": "ses_0",
        "parent_actor_id": None,
        "actor_id": "worker-1",
        "agent": "worker",
        "mode": "subagent",
        "lifecycle": "ephemeral",
        "task": "Mend the parser",
        "description": "",
        "final_text": "é\n\x1b ✓",
        "task_id": "T1.2",
        "iteration": 0,
    }


def test_a_long_text_reaches_a_command_that_reads_late_and_one_that_never_reads(
    tmp_path: Path,
) -> None:
    long = {"final_text": "x" * 3_000_000}
    assert run(tmp_path, "sleep 0.1; test $(wc -c) -gt 3000000", given=long).warnings == ()
    assert run(tmp_path, "true", given=long).warnings == ()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("true", ""),
        ("echo all is well", ""),
        ("""echo '{"continue": false, "reason": "no"}'""", ""),
        ("echo '{}'", ""),
        ("""echo '{"continue": true, "reason": " run the tests "}'""", "run the tests"),
        ("""echo '{"continue": true}'""", "It gave no reason."),
        ("echo tests fail >&2; echo more; exit 2", "tests fail"),
        ("echo only output; exit 2", "only output"),
        ("exit 2", "It gave no reason."),
        ("""echo noise >&2; echo '{"continue": true, "reason": "r"}'""", "r"),
    ],
)
def test_exit_code_and_output_are_the_answer(tmp_path: Path, text: str, reason: str) -> None:
    report = run(tmp_path, text)
    assert report.reason == reason
    assert report.warnings == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("echo broken >&2; exit 1", "ended with exit code 1: broken"),
        ("exit 7", "ended with exit code 7"),
        ("kill -9 $$", "was ended by signal 9"),
        ("""echo '{"continu": true}'""", 'printed an answer that is not {"continue"'),
        ("""echo '{"continue": "yes"}'""", "printed an answer that is not"),
        ("echo '{half'", "printed an answer that is not"),
        ("""echo '{"cancel": true}'""", "answered cancel, which has no meaning at actor.pre_stop"),
        ("""echo '{"cancel": true, "continue": true}'""", "both continue and cancel"),
        (("/no/such/program",), "could not be started: /no/such/program is not installed"),
        (("roost-no-such-program",), "could not be started"),
    ],
)
def test_a_command_that_fails_is_told_and_blocks_nothing(
    tmp_path: Path, text: str | tuple[str, ...], said: str
) -> None:
    report = run(tmp_path, text)
    assert report.reason == ""
    assert len(report.warnings) == 1
    assert report.warnings[0].startswith("The hook 'mine' (actor.pre_stop) ")
    assert said in report.warnings[0]
    assert report.runs[0].error is not None
    assert said in report.runs[0].error


def test_a_program_and_its_arguments_go_through_no_shell(tmp_path: Path) -> None:
    script = tmp_path / "check it.sh"
    script.write_text('#!/bin/sh\necho "$1" >&2\nexit 2\n')
    script.chmod(0o755)
    assert run(tmp_path, ("./check it.sh", "$HOME; *")).reason == "$HOME; *"


def test_a_command_sees_the_environment_without_secrets(tmp_path: Path) -> None:
    around = {
        "environment": {
            "PATH": os.environ["PATH"],
            "PLAIN": "p",
            "MY_API_KEY": "sk-very-secret",
            "ROOST_SERVER_PASSWORD": "pw",
        },
        "secrets": frozenset({"*_API_KEY"}),
        "hidden": Secrets({"MY_API_KEY": "sk-very-secret"}),
    }
    text = 'echo "$PLAIN,$MY_API_KEY,$ROOST_SERVER_PASSWORD,$MINE" >&2; exit 2'
    assert run(tmp_path, text, env={"MINE": "m"}, around=around).reason == "p,,,m"
    shown = run(tmp_path, "echo sk-very-secret >&2; exit 2", around=around)
    assert shown.reason == "[redacted: MY_API_KEY]"


def test_time_over_ends_the_whole_tree(tmp_path: Path) -> None:
    text = f"setsid {MARK} & trap '' TERM; {MARK} & echo {MARK}; {MARK}; {MARK}"
    started = time.monotonic()
    report = run(tmp_path, text, timeout=0.3)
    assert time.monotonic() - started < 10
    assert report.warnings == (
        "The hook 'mine' (actor.pre_stop) did not end within 0.3 s and was stopped",
    )
    assert gone(MARK)


def test_nothing_that_a_command_leaves_behind_goes_on(tmp_path: Path) -> None:
    words = MARK.replace("291", "292")
    started = time.monotonic()
    report = run(tmp_path, f"setsid {words} & {words} & echo why >&2; exit 2")
    assert report.reason == "why"
    assert time.monotonic() - started < 10
    assert gone(words)


def test_cancelling_ends_the_whole_tree(tmp_path: Path) -> None:
    words = MARK.replace("291", "293")
    one = command("actor.pre_stop", f"setsid {words} & touch here; {words}")

    async def work(hooks: Hooks) -> None:
        task = asyncio.ensure_future(hooks.pre_stop(pre_stop()))
        async with asyncio.timeout(10):
            while not (tmp_path / "here").exists() or len(running(words)) < 2:
                await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert gone(words)

    asked(place(tmp_path, commands={"mine": one}), work)


def test_a_command_ends_when_roost_itself_is_killed(tmp_path: Path) -> None:
    words = MARK.replace("291", "294")
    script = (
        "import sys\n"
        "from pathlib import Path\n"
        "from hook_stage import asked, command, place, pre_stop\n"
        f"one = command('actor.pre_stop', 'setsid {words} & {words}')\n"
        "where = place(Path(sys.argv[1]), commands={'mine': one})\n"
        "asked(where, lambda hooks: hooks.pre_stop(pre_stop()))\n"
    )
    arguments = [sys.executable, "-c", script, str(tmp_path)]
    with subprocess.Popen(arguments, cwd=Path(__file__).parent) as roost:
        deadline = time.monotonic() + 20
        while len(running(words)) < 3 and time.monotonic() < deadline:
            time.sleep(0.02)
        assert len(running(words)) >= 3
        roost.kill()
    assert gone(words)


def test_output_is_capped_and_a_flood_is_stopped(tmp_path: Path) -> None:
    long = run(tmp_path, "head -c 300000 /dev/zero | tr '\\0' x >&2; exit 2")
    assert len(long.reason) == REASON_CHARS
    flood = run(tmp_path, "yes")
    assert "wrote more than 16,777,216 bytes and was stopped" in flood.warnings[0]


def test_all_hooks_run_in_order_and_their_reasons_are_joined(tmp_path: Path) -> None:
    commands: dict[str, HookConfig] = {
        "first": command("actor.pre_stop", "echo 1 >> order; echo one >&2; exit 2"),
        "broken": command("actor.pre_stop", "echo 2 >> order; exit 1"),
        "other": command("actor.post_stop", "echo no >> order"),
        "content": command("actor.pre_stop", "echo 3 >> order"),
        "last": command("actor.pre_stop", "echo 4 >> order; echo two >&2; exit 2"),
    }
    report = asked(place(tmp_path, commands=commands), lambda h: h.pre_stop(pre_stop()))
    assert (tmp_path / "order").read_text().split() == ["1", "2", "3", "4"]
    assert report.reasons == (("first", "one"), ("last", "two"))
    assert report.reason == "first: one\n\nlast: two"
    assert [one.name for one in report.runs] == ["first", "broken", "content", "last"]
    assert all(one.seconds > 0 for one in report.runs)
    assert len(report.warnings) == 1


def test_a_command_can_keep_a_turn_from_beginning(tmp_path: Path) -> None:
    def at_start(text: str) -> HookReport:
        one = command("session.pre", text)
        where = place(tmp_path, commands={"mine": one})
        return asked(where, lambda h: h.session_pre(session_pre()))

    assert at_start("true").refusal == ""
    assert at_start("echo freeze >&2; exit 2").refusal == "freeze"
    assert at_start("""echo '{"cancel": true, "reason": "r"}'""").refusal == "r"
    assert "continue, which has no meaning" in at_start("""echo '{"continue":true}'""").warnings[0]


def test_after_a_session_there_is_nothing_to_answer(tmp_path: Path) -> None:
    one = command("session.post", "cat > told; exit 2")
    report = asked(
        place(tmp_path, commands={"mine": one}),
        lambda h: h.session_post(session_post(outcome="error", error="overload")),
    )
    assert report.reason == report.refusal == ""
    assert "exit code 2" in report.warnings[0]
    told = json.loads((tmp_path / "told").read_text())
    assert (told["on"], told["outcome"], told["error"]) == ("session.post", "error", "overload")


def test_a_command_can_keep_a_step_from_being_taken_and_says_nothing_to_one_that_was(
    tmp_path: Path,
) -> None:
    def at(on: HookPoint, text: str) -> HookReport:
        where = place(tmp_path, commands={"mine": command(on, text)})
        if on == "step.pre":
            return asked(where, lambda h: h.step_pre(step_pre(step=4)))
        return asked(where, lambda h: h.step_post(step_post(tools=("bash",))))

    assert at("step.pre", "cat > told").refusal == ""
    assert json.loads((tmp_path / "told").read_text())["step"] == 4
    assert at("step.pre", "echo enough >&2; exit 2").refusal == "enough"
    assert at("step.post", "cat > told").warnings == ()
    assert json.loads((tmp_path / "told").read_text())["tools"] == ["bash"]
    late = at("step.post", """echo '{"cancel": true, "reason": "r"}'""")
    assert (late.refusal, "cancel, which has no meaning" in late.warnings[0]) == ("", True)
    assert "exit code 2" in at("step.post", "exit 2").warnings[0]


@pytest.mark.parametrize("iteration", [0, 2, 3, 4])
def test_nobody_is_sent_on_a_fourth_time(tmp_path: Path, iteration: int) -> None:
    one = command("actor.pre_stop", "echo again >&2; exit 2")
    two = command("actor.post_stop", "echo again >&2; exit 2")
    where = place(tmp_path, commands={"pre": one, "post": two})
    before = asked(where, lambda h: h.pre_stop(pre_stop(iteration=iteration)))
    after = asked(where, lambda h: h.post_stop(post_stop(iteration=iteration)))
    for report in (before, after):
        assert report.reason == ("again" if iteration < 3 else "")
        assert report.held is (iteration >= 3)
        assert report.runs[-1].answer is not None


def test_after_a_turn_that_failed_hooks_run_and_wake_nobody(tmp_path: Path) -> None:
    one = command("actor.post_stop", "cat > told; echo again >&2; exit 2")
    report = asked(
        place(tmp_path, commands={"mine": one}),
        lambda h: h.post_stop(post_stop(outcome="failure", error="e")),
    )
    assert report.reason == ""
    assert json.loads((tmp_path / "told").read_text())["outcome"] == "failure"
