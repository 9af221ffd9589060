"""Ways to measure a process or a piece of code, and how a figure is shown."""

import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

ROOST: Final = str(Path(sys.executable).with_name("roost"))


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
        limit = "" if self.limit is None else f"≤ {self.limit:g}"
        mark = "  " if self.limit is None else "ok" if self.met else "NO"
        return (
            f"{mark} {self.what:<52} {self.measured:>10.2f} {self.unit:<6} {limit:<10} {self.note}"
        )


class Used(Struct, frozen=True):
    """What a finished process used."""

    cpu: float
    """Seconds, user and system, children included."""
    wall: float
    peak: int
    """Largest resident size of the process itself, bytes."""
    code: int
    out: str


def run(command: Sequence[str], *, env: Mapping[str, str], cwd: Path, timeout: float = 600) -> Used:
    """Run `command` to its end and measure it."""
    began = time.monotonic()
    with open(os.devnull) as nothing:  # noqa: PTH123
        process = subprocess.Popen(
            command, env=dict(env), cwd=cwd, stdin=nothing, stdout=subprocess.PIPE, text=True
        )
    assert process.stdout is not None
    out = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.monotonic() - began
    if wall > timeout:
        raise TimeoutError(f"{command[0]} took {wall:.0f} s")
    return Used(
        usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss * 1024, process.returncode, out
    )


def best(measure: Callable[[], float], times: int) -> float:
    """The smallest of several measurements: what the code needs when nothing disturbs it."""
    return min(measure() for _ in range(times))


def median(values: Sequence[float]) -> float:
    """The middle one."""
    return statistics.median(values)


def own_cpu() -> float:
    """Seconds of CPU that this process has used."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime
