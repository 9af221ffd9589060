import asyncio
import os
import shutil
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from roost.core.errors import NotFoundError, UsageError
from roost.workspace import child, process_tree, running
from roost.workspace.output import OutputLimits
from roost.workspace.running import ShellCommand, ShellResult
from roost.workspace.shell import Shell
from roost.workspace.shell_notes import notes

SLEEP = f"sleep 317.{os.getpid()}"
"""Tells the processes of this test from those of others beside it."""


class Bench:
    """A shell in a folder of its own."""

    def __init__(self, folder: Path, **options: Any) -> None:
        environment = dict(os.environ) | options.pop("environment", {})
        self.folder = folder
        self.shell = Shell(environment, **options)
        self.count = 0

    async def run(
        self,
        text: str,
        on_output: Callable[[str], None] | None = None,
        *,
        call: str = "",
        timeout: float | None = 20,
        cwd: Path | None = None,
        **variables: str,
    ) -> ShellResult:
        self.count += 1
        command = ShellCommand(
            id=call or str(self.count),
            text=text.replace("SLEEP", SLEEP),
            cwd=cwd or self.folder,
            output_path=self.folder / "out" / f"{self.count}.txt",
            timeout=timeout,
            environment=variables,
        )
        return await self.shell.run(command, on_output)


def bench(tmp_path: Path, work: Callable[[Bench], Awaitable[None]], **options: Any) -> None:
    async def scenario() -> None:
        one = Bench(tmp_path, **options)
        try:
            await work(one)
        finally:
            await one.shell.close()

    asyncio.run(scenario())


def run(tmp_path: Path, text: str, timeout: float | None = 20, **options: Any) -> ShellResult:
    results: list[ShellResult] = []

    async def work(one: Bench) -> None:
        results.append(await one.run(text, timeout=timeout))

    bench(tmp_path, work, **options)
    return results[0]


def processes_with(words: str) -> list[int]:
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and entry.name != str(os.getpid()):
            try:
                command = (entry / "cmdline").read_bytes().replace(b"\x00", b" ")
                state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue
            if words.encode() in command and state != "Z":
                found.append(int(entry.name))
    return found


def test_output_and_exit_code_come_back_and_no_file_is_left(tmp_path: Path) -> None:
    result = run(tmp_path, "echo out; echo err >&2; exit 3")
    assert (result.end, result.exit) == ("exited", 3)
    assert result.output.text == "out\nerr\n"
    assert result.output.file is None
    assert list(tmp_path.iterdir()) == []


def test_earlier_output_survives_a_program_that_opens_standard_error_anew(tmp_path: Path) -> None:
    result = run(tmp_path, "echo A; echo B >/dev/stderr; echo C | tee /dev/stderr; echo D")
    assert result.output.text == "A\nB\nC\nC\nD\n"


def test_a_signal_is_an_exit_code_as_shells_count_it(tmp_path: Path) -> None:
    assert run(tmp_path, "kill -9 $$").exit == 137


@pytest.mark.parametrize(
    "text",
    [
        "SLEEP & echo done",
        "setsid SLEEP & echo done",
        "(setsid SLEEP >/dev/null 2>&1 &); echo done",
        "nohup SLEEP >/dev/null 2>&1 & disown; echo done",
        "setsid env -i SLEEP & echo done",
    ],
)
def test_a_background_child_does_not_hold_the_call_and_is_reported_and_reaped(
    tmp_path: Path, text: str
) -> None:
    async def work(one: Bench) -> None:
        start = time.monotonic()
        result = await one.run(text, call="c")
        assert time.monotonic() - start < 10
        assert (result.end, result.exit, result.output.text) == ("exited", 0, "done\n")
        assert [left.command for left in result.left_running] == [SLEEP]
        assert one.shell.left_running("c") == result.left_running
        assert await one.shell.reap("c") == ()
        assert processes_with(SLEEP) == []
        assert one.shell.left_running("c") == ()

    bench(tmp_path, work)


HIDDEN = "env -i setsid SLEEP </dev/null >/dev/null 2>&1 &"
"""It keeps nothing of the call: not its environment, session, output, nor, once the shell has
ended, its parent."""


def test_a_process_that_keeps_nothing_of_its_call_is_reported_and_reaped(tmp_path: Path) -> None:
    async def work(one: Bench) -> None:
        result = await one.run(f"{HIDDEN} sleep 0.2", call="a")
        assert [process.command for process in result.left_running] == [SLEEP]
        assert len(processes_with(SLEEP)) == 1
        await one.shell.reap("a")
        assert processes_with(SLEEP) == []

    bench(tmp_path, work)


def test_a_process_that_keeps_nothing_of_its_call_ends_when_the_call_is_stopped(
    tmp_path: Path,
) -> None:
    result = run(tmp_path, f"({HIDDEN}); SLEEP", timeout=0.5)
    assert result.end == "timed out"
    assert processes_with(SLEEP) == []


def test_a_process_of_another_call_is_left_alone(tmp_path: Path) -> None:
    async def work(one: Bench) -> None:
        await one.run(f"{HIDDEN} sleep 0.2", call="a")
        await one.run("sleep 0.2 & :", call="b")
        await one.shell.reap("b")
        assert len(processes_with(SLEEP)) == 1
        assert len(one.shell.left_running("a")) == 1

    bench(tmp_path, work)


def test_what_a_background_child_writes_later_is_kept_in_the_file(tmp_path: Path) -> None:
    async def work(one: Bench) -> None:
        result = await one.run("(sleep 0.4; echo later; SLEEP) & echo now", call="c")
        assert result.output.text == "now\n"
        assert result.output.file is not None
        for _ in range(200):
            if result.output.file.read_text() != "now\n":
                break
            await asyncio.sleep(0.05)
        assert result.output.file.read_text() == "now\nlater\n"

    bench(tmp_path, work)
    assert processes_with(SLEEP) == []


def test_a_background_child_that_floods_is_held_back(tmp_path: Path) -> None:
    async def work(one: Bench) -> None:
        result = await one.run("yes & echo now", call="c")
        file = result.output.file
        assert file is not None
        for _ in range(200):
            if file.stat().st_size == 100_000:
                break
            await asyncio.sleep(0.05)
        assert file.stat().st_size == 100_000
        await asyncio.sleep(0.1)
        before = time.process_time()
        await asyncio.sleep(0.3)
        assert time.process_time() - before < 0.1

    bench(tmp_path, work, limits=OutputLimits(file=100_000))


def test_a_process_that_ends_right_after_the_shell_is_not_reported(tmp_path: Path) -> None:
    result = run(tmp_path, "echo hi > >(sleep 0.03; cat)")
    assert result.output.text == "hi\n"
    assert result.left_running == ()


@pytest.mark.parametrize(
    "text",
    [
        "yes MARKER | SLEEP",
        "trap '' TERM; (setsid sh -c 'SLEEP; SLEEP') & SLEEP; SLEEP",
    ],
)
def test_a_timeout_ends_the_whole_tree_and_keeps_the_output(tmp_path: Path, text: str) -> None:
    start = time.monotonic()
    result = run(tmp_path, f"echo partial; {text}", timeout=0.4)
    assert result.end == "timed out"
    assert result.output.text.startswith("partial\n")
    assert result.survivors == ()
    assert time.monotonic() - start < 20
    assert processes_with(SLEEP) == []


def test_cancelling_by_name_gives_a_result_with_the_output_so_far(tmp_path: Path) -> None:
    async def work(one: Bench) -> None:
        seen = asyncio.Event()
        task = asyncio.ensure_future(one.run("echo begun; SLEEP", lambda _: seen.set(), call="c"))
        await seen.wait()
        assert one.shell.cancel("c")
        result = await task
        assert (result.end, result.output.text) == ("cancelled", "begun\n")
        assert not one.shell.cancel("c")

    bench(tmp_path, work)
    assert processes_with(SLEEP) == []


def test_cancelling_the_task_ends_the_tree_and_stays_a_cancellation(tmp_path: Path) -> None:
    async def work(one: Bench) -> None:
        shown: list[str] = []
        task = asyncio.ensure_future(one.run("echo begun; (setsid SLEEP &) ; SLEEP", shown.append))
        await asyncio.sleep(0.3)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert shown[-1] == "begun\n"
        assert processes_with(SLEEP) == []

    bench(tmp_path, work)


def test_a_second_cancellation_kills_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process_tree, "_GRACE", 60)

    async def work(one: Bench) -> None:
        task = asyncio.ensure_future(one.run("trap '' TERM; SLEEP; SLEEP; SLEEP"))
        await asyncio.sleep(0.3)
        task.cancel()
        await asyncio.sleep(0.2)
        start = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert time.monotonic() - start < 20
        assert processes_with(SLEEP) == []

    bench(tmp_path, work)


def test_a_cancellation_just_after_the_shells_exit_ends_what_it_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looking = asyncio.Event()

    async def slow(*_: object) -> bool:
        looking.set()
        await asyncio.sleep(60)
        return False

    monkeypatch.setattr(running, "gone", slow)

    async def work(one: Bench) -> None:
        task = asyncio.ensure_future(one.run("setsid SLEEP >/dev/null 2>&1 & exit 0"))
        await asyncio.wait_for(looking.wait(), 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert processes_with(SLEEP) == []

    bench(tmp_path, work)


def test_a_failing_listener_fails_the_call_and_leaves_nothing(tmp_path: Path) -> None:
    def fail(_: str) -> None:
        raise ValueError("listener")

    async def work(one: Bench) -> None:
        with pytest.raises(ValueError, match="listener"):
            await one.run("echo x; SLEEP", fail)
        assert processes_with(SLEEP) == []

    bench(tmp_path, work)


def test_output_is_reported_while_the_command_runs_and_at_its_end(tmp_path: Path) -> None:
    async def work(one: Bench) -> None:
        shown: list[str] = []
        await one.run("for i in 1 2 3; do echo $i; sleep 0.25; done; echo end", shown.append)
        assert shown[0] == "1\n"
        assert shown[-1] == "1\n2\n3\nend\n"
        assert len(shown) >= 3
        shown.clear()
        await one.run("echo quick", shown.append)
        assert shown == ["quick\n"]

    bench(tmp_path, work)


def test_a_silent_command_costs_nothing_while_it_runs(tmp_path: Path) -> None:
    async def work(one: Bench) -> None:
        await one.run("true")
        before = time.process_time()
        await one.run("sleep 1", lambda _: None)
        assert time.process_time() - before < 0.05

    bench(tmp_path, work)


@pytest.mark.parametrize(
    ("text", "output"),
    [
        ("read x; echo $?", "1\n"),
        ("cat", ""),
        ("tty", "not a tty\n"),
        ("test -t 0 || test -t 1 || echo none; : </dev/tty", None),
        ("echo $GIT_TERMINAL_PROMPT $GIT_PAGER $TERM", "0 cat dumb\n"),
    ],
)
def test_nothing_waits_for_a_person(tmp_path: Path, text: str, output: str | None) -> None:
    start = time.monotonic()
    result = run(tmp_path, text)
    assert time.monotonic() - start < 15
    if output is None:
        assert "No such device" in result.output.text
    else:
        assert result.output.text == output


@pytest.mark.skipif(shutil.which("vim") is None, reason="needs vim")
@pytest.mark.parametrize(
    ("text", "output"),
    [
        ("vim f > out 2>&1; echo $?", "1\n"),
        ("vim -c 's/a/b/' -c wq f > out 2>&1; cat f", "b\n"),
        ("vim -es -c 's/a/b/' -c wq f; cat f", "b\n"),
    ],
)
def test_vim_waits_for_nobody_and_still_edits(tmp_path: Path, text: str, output: str) -> None:
    start = time.monotonic()
    assert run(tmp_path, f"echo a > f; {text}").output.text == output
    assert time.monotonic() - start < 15


def test_git_neither_opens_an_editor_nor_rewrites_history_unseen(tmp_path: Path) -> None:
    result = run(
        tmp_path,
        "git init -q . && git config user.email a@b && git config user.name n && touch f &&"
        " git add f && git commit -qm one && touch g && git add g && git commit -qm two;"
        " git commit --amend; echo $?; git rebase -i HEAD~1; echo $?",
    )
    assert "error" in result.output.text
    assert "\n0\n" not in result.output.text


def test_a_file_of_the_user_that_bash_reads_first_is_still_read(tmp_path: Path) -> None:
    (tmp_path / "mine.sh").write_text("mine=read\n")
    text = 'echo "$mine ${BASH_ENV-none}"; bash -c \'echo "inner $mine"\'; env | grep -c BRAND'
    own = str(tmp_path / "mine.sh")
    with_own = run(tmp_path, text, environment={"BASH_ENV": own})
    assert with_own.output.text.split("\n")[:3] == [f"read {own}", "inner read", "0"]
    without = run(tmp_path, text)
    assert without.output.text.split("\n")[:3] == [" none", "inner ", "0"]


def test_secrets_are_not_in_the_environment_and_everything_else_is(tmp_path: Path) -> None:
    result = run(
        tmp_path,
        "env",
        environment={
            "DEMO_API_KEY": "sk-test-000",
            "my_token": "sk-test-000",
            "ROOST_SERVER_PASSWORD": "sk-test-000",
            "LD_LIBRARY_PATH": "/kept",
        },
        secrets=["*_API_KEY", "MY_TOKEN"],
    )
    assert "sk-test-000" not in result.output.text
    assert "LD_LIBRARY_PATH=/kept" in result.output.text


def test_output_of_any_size_keeps_its_ends_and_goes_to_a_capped_private_file(
    tmp_path: Path,
) -> None:
    limits = OutputLimits(head=1000, tail=1000, file=50_000)
    result = run(tmp_path, "echo BEGIN; seq 20000; echo END", limits=limits)
    output = result.output
    assert output.head.startswith("BEGIN\n1\n2\n")
    assert output.tail.endswith("20000\nEND\n")
    assert output.total == 108_894 + 10
    assert output.omitted == output.total - 2000
    assert output.file is not None
    assert output.file.stat().st_size == 50_000
    assert output.discarded == output.total - 50_000
    assert output.file.stat().st_mode & 0o777 == 0o600
    assert f"{output.omitted:,} bytes left out; see {output.file}" in output.text


def test_a_flood_is_stopped(tmp_path: Path) -> None:
    result = run(tmp_path, "yes", limits=OutputLimits(file=100_000, flood=3_000_000))
    assert result.end == "flooded"
    assert result.output.total < 10_000_000


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (r"printf 'a\0b\a'", "a␀b␇"),
        (r"printf '10%%\r50%%\r100%% done\n'", "100% done\n"),
        (r"printf 'long line\rshort\n'", "shortline\n"),
        (r"printf 'long line\r\033[Kshort\n'", "short\n"),
        (r"printf 'gone\033[2K\rnew\n'", "new\n"),
        (r"printf '\033[31mred\033[0m \033]0;title\007x\r\n'", "red x\n"),
        (r"printf 'caf\303\251 \377'", None),
    ],
)
def test_output_is_shown_as_a_terminal_would_end_up_showing_it(
    tmp_path: Path, text: str, shown: str | None
) -> None:
    result = run(tmp_path, text)
    if shown is not None:
        assert result.output.text == shown
    assert "\x1b" not in result.output.text
    result.output.text.encode()


def test_output_in_another_encoding_is_decoded_as_a_whole(tmp_path: Path) -> None:
    text = "你好，世界。这是一个测试文件，用于检测编码。\n" * 20
    (tmp_path / "f").write_bytes(text.encode("gbk"))
    assert run(tmp_path, "cat f").output.text == text


def test_a_character_cut_at_the_seam_does_not_change_the_encoding(tmp_path: Path) -> None:
    text = "python3 -c \"print('ü' * 5000)\""
    for head in (999, 1000, 1001):
        result = run(tmp_path, text, limits=OutputLimits(head=head, tail=head))
        assert set(result.output.head + result.output.tail) == {"ü", "\n"}


def test_what_cannot_run_is_an_error_for_the_model(tmp_path: Path) -> None:
    async def work(one: Bench) -> None:
        with pytest.raises(UsageError, match="NUL"):
            await one.run("echo \x00")
        with pytest.raises(UsageError, match="half a character"):
            await one.run("echo \ud83d")
        with pytest.raises(NotFoundError, match="does not exist"):
            await one.run("true", cwd=tmp_path / "none")
        assert (await one.run("no-such-program")).exit == 127

    bench(tmp_path, work)


def test_a_command_longer_than_an_argument_may_be_still_runs(tmp_path: Path) -> None:
    body = "x" * 300_000
    result = run(tmp_path, f"cat > big <<'EOF'\n{body}\nEOF\nwc -c < big")
    assert result.output.text == "300001\n"
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == [tmp_path / "big"]


def test_calls_run_side_by_side(tmp_path: Path) -> None:
    async def work(one: Bench) -> None:
        start = time.monotonic()
        await asyncio.gather(*(one.run("sleep 1.5") for _ in range(20)))
        assert time.monotonic() - start < 20

    bench(tmp_path, work)


def test_a_result_comes_with_what_the_model_must_know(tmp_path: Path) -> None:
    async def work(one: Bench) -> None:
        async def told(text: str, timeout: float = 20) -> str:
            result = await one.run(text, timeout=timeout)
            return " ".join(notes(text, result))

        assert await told("echo fine") == ""
        assert await told("exit 3") == ""
        assert "may have taken effect" in await told("sleep 9", 0.2)
        assert "killed by signal SIGKILL" in await told("kill -9 $$")
        assert f"({SLEEP})" in await told("SLEEP &")
        commit = "git init -q .; git add .; git -c user.name=n -c user.email=e commit"
        asking = "printf 'package name: '; exit 1"
        for text in ("read x", commit, "python3 -c 'input()'", asking):
            assert "no terminal" in await told(f"touch f; {text}"), text
        assert "read nothing" in await told("bash")

    bench(tmp_path, work)


def test_without_pidfd_a_thread_notices_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child, "_pidfd", lambda _: None)
    assert run(tmp_path, "echo hi; exit 4").exit == 4
    assert run(tmp_path, "SLEEP", timeout=0.2).end == "timed out"


def test_a_call_that_does_nothing_is_cheap_and_leaks_no_descriptor(tmp_path: Path) -> None:
    async def work(one: Bench) -> None:
        for _ in range(5):
            await one.run("true")
        descriptors = len(list(Path("/proc/self/fd").iterdir()))
        before = time.process_time()
        for _ in range(50):
            await one.run("true")
        assert (time.process_time() - before) / 50 < 0.0025
        assert len(list(Path("/proc/self/fd").iterdir())) == descriptors

    bench(tmp_path, work)
