import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from roost.workspace.orphans import OrphanGuard

SLEEP = f"sleep 401.{os.getpid()}"

ROOST = """
import asyncio, os, sys
from pathlib import Path
from roost.workspace.running import ShellCommand
from roost.workspace.shell import Shell

async def main():
    shell = Shell(os.environ)
    folder = Path(sys.argv[1])
    left = ShellCommand("left", "(setsid SLEEP &)", folder, folder / "a")
    await shell.run(left)
    hidden = "(env -i setsid SLEEP </dev/null >/dev/null 2>&1 &)"
    text = f"trap '' HUP TERM; {hidden}; (setsid env SLEEP &); SLEEP & touch ready; SLEEP"
    await shell.run(ShellCommand("now", text, folder, folder / "b"))

asyncio.run(main())
""".replace("SLEEP", SLEEP)


def alive(words: str) -> list[int]:
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        try:
            command = (entry / "cmdline").read_bytes().replace(b"\x00", b" ")
        except OSError:
            continue
        if words.encode() in command and entry.name != str(os.getpid()):
            found.append(int(entry.name))
    return found


def wait_until(true: object, seconds: float = 5) -> bool:
    assert callable(true)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if true():
            return True
        time.sleep(0.02)
    return False


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_outlives_a_killed_roost(tmp_path: Path, number: signal.Signals) -> None:
    roost = subprocess.Popen([sys.executable, "-c", ROOST, str(tmp_path)])
    try:
        assert wait_until((tmp_path / "ready").exists, 20)
        assert wait_until(lambda: len(alive(SLEEP)) >= 5)
    finally:
        roost.send_signal(number)
        roost.wait()
    assert wait_until(lambda: not alive(SLEEP), 10), alive(SLEEP)


def reaper_of(guard: OrphanGuard) -> int:
    return guard._pid  # pyright: ignore[reportPrivateUsage]


def start_sleep(mark: str) -> "subprocess.Popen[bytes]":
    environment = os.environ | {"ROOST_CALL": f"outer/{mark}"}
    return subprocess.Popen(["sleep", "405"], env=environment, start_new_session=True)


def test_a_call_that_was_struck_off_is_left_alone() -> None:
    async def scenario() -> None:
        guard = OrphanGuard()
        kept, ended = start_sleep("proc_kept"), start_sleep("proc_ended")
        try:
            guard.add("proc_kept", kept.pid)
            guard.add("proc_ended", ended.pid)
            guard.remove("proc_kept")
            await guard.close()
            assert ended.wait(10) == -signal.SIGKILL
            assert kept.poll() is None
        finally:
            for process in (kept, ended):
                process.kill()
                process.wait()

    asyncio.run(scenario())


def test_the_mark_alone_is_enough() -> None:
    async def scenario() -> None:
        guard = OrphanGuard()
        process = start_sleep("proc_marked")
        guard.add("proc_marked")
        await guard.close()
        assert process.wait(10) == -signal.SIGKILL

    asyncio.run(scenario())


def test_a_dead_reaper_is_replaced_and_told_everything() -> None:
    async def scenario() -> None:
        guard = OrphanGuard()
        process = start_sleep("proc_again")
        guard.add("proc_again", process.pid)
        first = reaper_of(guard)
        os.kill(first, signal.SIGKILL)
        os.waitid(os.P_PID, first, os.WEXITED | os.WNOWAIT)
        guard.add("proc_other")
        assert reaper_of(guard) != first
        await guard.close()
        assert process.wait(10) == -signal.SIGKILL

    asyncio.run(scenario())


def test_the_reaper_ignores_polite_signals_and_does_not_inherit_the_pipe() -> None:
    async def scenario() -> None:
        guard = OrphanGuard()
        guard.add("proc_x")
        await asyncio.sleep(0.1)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            os.kill(reaper_of(guard), number)
        child = subprocess.Popen(["sleep", "406"], close_fds=False)
        try:
            await asyncio.sleep(0.1)
            assert Path(f"/proc/{reaper_of(guard)}").exists()
            await guard.close()
            assert reaper_of(guard) == 0
        finally:
            child.kill()
            child.wait()

    asyncio.run(scenario())


def test_the_reaper_starts_quickly_and_only_when_needed() -> None:
    async def scenario() -> None:
        guard = OrphanGuard()
        await guard.close()
        assert reaper_of(guard) == 0
        costs: list[float] = []
        for _ in range(5):
            start = time.process_time()
            guard.add("proc_x")
            costs.append(time.process_time() - start)
            await guard.close()
        assert min(costs) < 0.002

    asyncio.run(scenario())
