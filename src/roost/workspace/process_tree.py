"""Finding and ending every process that a command started, also those that hid from their group.

A process belongs to a call if it is in the session of the call's shell, if its environment carries
the call's mark (children inherit it, also into sessions of their own), if its output goes into the
call's pipe, if it carries the call's brand, or if its parent belongs.
"""

import asyncio
import os
import signal
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from msgspec import Struct

from roost.workspace.branding import brand_of, carries_brand
from roost.workspace.child import kill_group
from roost.workspace.environment import MARK

_PROC: Final = Path("/proc")
_GRACE: Final = 2.0
_KILL_ROUNDS: Final = 20
_LONG: Final = 10.0
"""Process numbers may have wrapped round within this many seconds."""


class Call(Struct, frozen=True):
    """What a call's processes are recognised by."""

    mark: str
    session: int | None
    """The process number of its shell; None once the number may belong to somebody else."""
    pipe: str = ""
    """The pipe that its output goes to, as /proc names it."""


class Process(NamedTuple):
    """One running process."""

    pid: int
    parent: int
    session: int
    started: int
    """In clock ticks since boot; with the number it identifies the process for good."""


def belonging(call: Call) -> list[Process]:
    """The live processes of `call`."""
    return _members(call, _table(_all_pids()))


def left_behind(call: Call, shell: int, seconds: float) -> list[Process]:
    """The live processes of `call` right after its shell ended, having run for `seconds`.

    Cheap: only processes that started after the shell are looked at.
    """
    if seconds > _LONG or (last := _last_pid()) is None:
        return belonging(call)
    if last == shell:
        return []
    wrapped = last < shell
    pids = (p for p in _all_pids() if p > shell or (wrapped and p <= last))
    return _members(call, _table(pids))


def is_alive(process: Process) -> bool:
    """Whether exactly this process still runs."""
    now = _status(process.pid)
    return now is not None and now.started == process.started


def command_of(process: Process) -> str:
    """The command line of a process, or its name if it has none."""
    try:
        words = (_PROC / str(process.pid) / "cmdline").read_bytes().split(b"\x00")
    except OSError:
        return ""
    return b" ".join(words).strip().decode("utf-8", "replace")


async def end_tree(call: Call) -> list[Process]:
    """End all processes of `call`: TERM, two seconds, then KILL. When cancelled, KILL at once.

    Returns the processes that could not be ended, for example those of another user.
    """
    try:
        _signal_tree(call, signal.SIGTERM)
        if await gone(call, _GRACE):
            return []
        for _ in range(_KILL_ROUNDS):
            _signal_tree(call, signal.SIGKILL)
            if await gone(call, 0.1):
                return []
    except asyncio.CancelledError:
        kill_tree(call)
        raise
    return belonging(call)


def kill_tree(call: Call) -> None:
    """Send KILL to all processes of `call` without waiting."""
    for _ in range(3):  # a process may fork while the list is made
        if not _signal_tree(call, signal.SIGKILL):
            return


async def gone(call: Call, seconds: float) -> bool:
    """Wait until no process of `call` is left, at most `seconds`; whether that came about."""
    deadline = time.monotonic() + seconds
    pause = 0.005
    while belonging(call) or group_exists(call):
        left = deadline - time.monotonic()
        if left <= 0:
            return False
        await asyncio.sleep(min(pause, left))
        pause = min(pause * 1.5, 0.1)
    return True


def group_exists(call: Call) -> bool:
    """Whether the shell's group has members, where no more can be known for lack of /proc."""
    if call.session is None or _PROC_WORKS:
        return False
    try:
        os.killpg(call.session, 0)
    except ProcessLookupError:
        return False
    return True


def _signal_tree(call: Call, number: int) -> int:
    """Signal the shell's group as a whole and everybody else one by one; how many were found."""
    members = belonging(call)
    if call.session is not None:
        kill_group(call.session, number)
    for process in members:
        _signal(process, number)
    return len(members)


def _signal(process: Process, number: int) -> None:
    with suppress(OSError):  # ended by itself, or belongs to root
        if not hasattr(os, "pidfd_open"):
            os.kill(process.pid, number)
            return
        handle = os.pidfd_open(process.pid)
        try:
            # The number may have been given to another process since the list was made.
            if is_alive(process):
                signal.pidfd_send_signal(handle, number)
        finally:
            os.close(handle)


def _members(call: Call, table: dict[int, Process]) -> list[Process]:
    mark, number = call.mark.encode(), brand_of(call.mark)
    found = {
        pid: process
        for pid, process in table.items()
        if process.session == call.session
        or _carries(pid, mark)
        or _writes_to(pid, call.pipe)
        or carries_brand(_PROC / str(pid), number)
    }
    while more := {
        pid: process
        for pid, process in table.items()
        if process.parent in found and pid not in found
    }:
        found |= more
    return list(found.values())


def _carries(pid: int, mark: bytes) -> bool:
    try:
        environment = (_PROC / str(pid) / "environ").read_bytes()
    except OSError:
        return False
    if mark not in environment:
        return False
    prefix = f"{MARK}=".encode()
    values = (e for e in environment.split(b"\x00") if e.startswith(prefix))
    return any(mark in value.removeprefix(prefix).split(b"/") for value in values)


def _writes_to(pid: int, pipe: str) -> bool:
    for descriptor in ("1", "2") if pipe else ():
        with suppress(OSError):
            if str((_PROC / str(pid) / "fd" / descriptor).readlink()) == pipe:
                return True
    return False


def _table(pids: Iterable[int]) -> dict[int, Process]:
    """The given processes without our own session and without those that are dead already."""
    own = os.getsid(0)
    found = (_status(pid) for pid in pids if pid != os.getpid())
    return {p.pid: p for p in found if p is not None and p.session != own}


def _status(pid: int) -> Process | None:
    try:
        text = (_PROC / str(pid) / "stat").read_bytes()
    except OSError:
        return None
    # The name, in parentheses, may itself hold spaces and parentheses.
    state, parent, _, session, *rest = text[text.rindex(b")") + 2 :].split()
    if state in b"ZX":
        return None
    return Process(pid, int(parent), int(session), int(rest[15]))


def _all_pids() -> Iterator[int]:
    if not _PROC_WORKS:
        return
    with os.scandir(_PROC) as entries:
        yield from (int(entry.name) for entry in entries if entry.name.isdigit())


def _last_pid() -> int | None:
    """The newest process number of the system."""
    try:
        return int((_PROC / "loadavg").read_text().split()[-1])
    except OSError:
        return None


_PROC_WORKS: Final = (_PROC / "self" / "stat").exists()
