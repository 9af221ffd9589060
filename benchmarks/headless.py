"""One prompt from the command line: start, first request, a loop of no-op commands, memory.

What a step costs is the CPU of a run of many steps less that of a run of one, so that the start
counts for nothing. The commands themselves (a `bash` that runs `true`) are counted apart.
"""

import sqlite3
import tempfile
import time
from contextlib import closing
from pathlib import Path

from msgspec import Struct

from benchmarks.measure import MB, Figure, Used, best
from benchmarks.programs import ROOST, Program
from benchmarks.stage import LENIENT, Stage, loop_of, play, requests_in, staged
from scripted_model.process import ScriptedProcess
from scripted_model.scenario import Text

STARTS = 9
LOOPS = 3
"""Runs of the short loops; the one that used least counts."""
LONG = 1_000


class Loop(Struct, frozen=True):
    """One run of many steps."""

    used: Used
    stored: int
    """Bytes of its database in the end."""
    useful: int
    """Bytes of the messages and parts in it."""


class Costs(Struct, frozen=True):
    """What one program needs. Milliseconds and bytes."""

    version: float
    first_request: float
    step: float
    """CPU of the program for one more step."""
    commands: float
    """CPU of the commands that it runs, for one more step."""
    peak: int


def costs(program: Program, *, starts: int = STARTS, loops: int = LOOPS) -> Costs:
    """Measure `program`. Raises `TimeoutError`, and `RuntimeError` when it fails."""
    version, first = _start(program, starts)
    one, many = loop_costs(program, 1, loops), loop_costs(program, program.steps, loops)
    step, commands = per_step(one, many, program.steps - 1)
    return Costs(version, first, step, commands, many.used.peak)


def figures() -> list[Figure]:
    """All figures of a headless run of Roost."""
    early = costs(ROOST)
    short, long = loop_costs(ROOST, ROOST.steps, LOOPS), loop_costs(ROOST, LONG, 1)
    late, _ = per_step(short, long, LONG - ROOST.steps)
    return [
        Figure("roost --version, CPU", early.version, 40, "ms"),
        Figure("roost run, start → first model request", early.first_request, 300, "ms"),
        Figure(
            f"step with a no-op bash, CPU, steps 1–{ROOST.steps}",
            early.step,
            6,
            "ms",
            f"bash itself: {early.commands:.1f} ms",
        ),
        Figure(f"the same, steps {ROOST.steps}–{LONG:,}", late, 6, "ms"),
        Figure(f"headless peak memory, {ROOST.steps} steps", early.peak / MB, 70, "MB"),
        Figure(f"headless peak memory, {LONG:,} steps", long.used.peak / MB, 70, "MB"),
        Figure("given to the disk, per step", long.used.written / LONG / 1024, None, "KB"),
        Figure(
            "database, per step",
            long.stored / LONG / 1024,
            None,
            "KB",
            f"{long.stored / long.useful:.1f} × the messages in it",
        ),
    ]


def _start(program: Program, times: int) -> tuple[float, float]:
    """CPU of its shortest command, and how long until the model hears of a prompt."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "requests"
        with (
            ScriptedProcess(play(default=Text("done")), *LENIENT, "--log", str(log)) as model,
            staged(program, model) as stage,
        ):
            version = best(lambda: _cpu(stage.version()), times)
            first = best(lambda: _until_heard(stage, log), times)
    return version * 1000, first * 1000


def _cpu(used: Used) -> float:
    return used.own + used.children


def _until_heard(stage: Stage, log: Path) -> float:
    known = len(requests_in(log))
    began = time.time()
    stage.prompt("hello")
    return requests_in(log)[known] - began


def loop_costs(program: Program, steps: int, times: int = 1) -> Loop:
    """The cheapest of several runs, each in a fresh home."""
    runs = [_one_loop(program, steps) for _ in range(times)]
    return min(runs, key=lambda loop: loop.used.own)


def _one_loop(program: Program, steps: int) -> Loop:
    with (
        ScriptedProcess(loop_of(program, steps), *LENIENT) as model,
        staged(program, model) as stage,
    ):
        loop = Loop(stage.prompt("loop"), *_database(stage.folder))
        asked = model.state()["requests"]
    if asked <= steps:
        raise RuntimeError(f"{program.name} took {asked - 1} steps in place of {steps}")
    return loop


def _database(folder: Path) -> tuple[int, int]:
    """Bytes of a home's database, and of the messages and parts in it."""
    found = list(folder.rglob("roost.db"))
    if not found:
        return 0, 0
    with closing(sqlite3.connect(found[0])) as connection:
        (useful,) = connection.execute(
            "SELECT (SELECT sum(length(data)) FROM message) + (SELECT sum(length(data)) FROM part)"
        ).fetchone()
    return found[0].stat().st_size, useful


def per_step(few: Loop, many: Loop, more: int) -> tuple[float, float]:
    """Milliseconds of CPU for one more step, of the program and of the commands that it runs."""
    own = (many.used.own - few.used.own) / more * 1000
    return own, (many.used.children - few.used.children) / more * 1000
