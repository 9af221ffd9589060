"""Ways to measure processes (on Linux), and how a figure is shown."""

import os
import select
import signal
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

_TICKS: Final = os.sysconf("SC_CLK_TCK")
_BLOCK: Final = 512
"""Bytes of the blocks in which the kernel counts what a process gave to the disk."""
MB: Final = 2**20


class Figure(Struct, frozen=True):
    """One line of the table."""

    what: str
    measured: float
    limit: float | None
    unit: str
    note: str = ""

    @property
    def met(self) -> bool:
        """Whether the limit holds; true where there is none."""
        return self.limit is None or self.measured <= self.limit

    def line(self) -> str:
        """The figure beside its limit."""
        mark = "  " if self.limit is None else "ok" if self.met else "NO"
        limit = "" if self.limit is None else f"≤ {self.limit:g}"
        value = f"{self.measured:,.2f}" if self.measured < 100 else f"{self.measured:,.0f}"
        return f"{mark} {self.what:<45}{value:>9} {self.unit:<4}{limit:<8}{self.note}".rstrip()


class Used(Struct, frozen=True):
    """What a finished process used."""

    own: float
    """Seconds of CPU of the process itself, all its threads, user and system."""
    children: float
    """Seconds of CPU of the processes that it started."""
    peak: int
    """Largest resident size of the process itself, bytes."""
    written: int
    """Bytes that it and its children gave to the disk."""
    code: int
    out: str
    err: str


def run(command: Sequence[str], *, env: Mapping[str, str], cwd: Path, timeout: float = 120) -> Used:
    """Run `command` to its end and measure it. Raises `TimeoutError` after killing its group."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(
            command,
            env=dict(env),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )
        ended = _wait(process.pid, timeout)
        if not ended:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise TimeoutError(f"{command[0]} took longer than {timeout:.0f} s")
        # It is a zombie now: the kernel still tells of it, and of what it had waited for.
        *_, user, system = _cpu_fields(process.pid)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        children = (user + system) / _TICKS
        out.seek(0)
        err.seek(0)
        return Used(
            own=used.ru_utime + used.ru_stime - children,
            children=children,
            peak=used.ru_maxrss * 1024,
            written=used.ru_oublock * _BLOCK,
            code=process.returncode,
            out=out.read().decode(errors="replace"),
            err=err.read().decode(errors="replace"),
        )


def _wait(pid: int, timeout: float) -> bool:
    """Whether the process ends within `timeout` seconds; it is left to be waited for."""
    handle = os.pidfd_open(pid)
    try:
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        return bool(poll.poll(timeout * 1000))
    finally:
        os.close(handle)


def _cpu_fields(pid: int) -> tuple[int, int, int, int]:
    """Ticks of a process: user, system, and the same of its children that it waited for."""
    text = Path(f"/proc/{pid}/stat").read_text()
    fields = text[text.rindex(")") + 2 :].split()
    return (int(fields[11]), int(fields[12]), int(fields[13]), int(fields[14]))


def cpu_of(pid: int) -> float:
    """Seconds of CPU that all threads of a running process have used."""
    threads = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((one / "schedstat").read_text().split()[0]) for one in threads) / 1e9


def written_by(pid: int) -> int:
    """Bytes that a running process gave to the disk."""
    lines = Path(f"/proc/{pid}/io").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("write_bytes"))


def resident(pid: int) -> int:
    """Bytes of memory that a running process holds."""
    return _memory(pid, "VmRSS")


def peak(pid: int) -> int:
    """The most that it held since the start, or since `forget_peak`."""
    return _memory(pid, "VmHWM")


def _memory(pid: int, name: str) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) * 1024


def forget_peak(pid: int) -> None:
    """Let `peak` begin anew with what is held now."""
    Path(f"/proc/{pid}/clear_refs").write_text("5")


def best(measure: Callable[[], float], times: int) -> float:
    """The smallest of several measurements: what the code needs when nothing disturbs it."""
    return min(measure() for _ in range(times))


def median(values: Sequence[float]) -> float:
    """The middle one."""
    return statistics.median(values)


def machine_speed() -> float:
    """Milliseconds for a million steps of a plain loop: tells a slow hour from a slow program."""

    def once() -> float:
        began = time.process_time()
        total = 0
        for number in range(1_000_000):
            total += number * number % 7
        return (time.process_time() - began) * 1000

    return best(once, 3)
