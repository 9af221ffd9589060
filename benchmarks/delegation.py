"""Children that work side by side: how long ten of them take beside the slowest one alone."""

import tempfile
from pathlib import Path
from typing import Any, Final

from benchmarks.measure import Figure
from benchmarks.programs import ROOST, Program
from benchmarks.stage import LENIENT, requests_in, staged
from scripted_model.process import ScriptedProcess
from scripted_model.scenario import (
    ALWAYS,
    Begin,
    Call,
    Delay,
    Scenario,
    Text,
    When,
    scenario,
    step,
)

CHILDREN: Final = 10
SECONDS: Final = 2.0
"""What the model takes to answer a child."""
_TASK: Final = "Think about number"


def figures() -> list[Figure]:
    """The time of ten children that main waits for, as a multiple of one."""
    took = wall(ROOST)
    return [
        Figure(
            f"{CHILDREN} children side by side, in times of the slowest",
            took / SECONDS,
            1.2,
            "×",
            f"{took:.2f} s",
        )
    ]


def wall(program: Program) -> float:
    """Seconds from the request that starts ten children to the one that has all their results."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "requests"
        with (
            ScriptedProcess(_scenario(program), *LENIENT, "--log", str(log)) as model,
            staged(program, model) as stage,
        ):
            stage.prompt("delegate")
        heard = requests_in(log)
    if len(heard) != CHILDREN + 2:
        raise RuntimeError(f"{program.name} asked {len(heard)} times in place of {CHILDREN + 2}")
    return heard[-1] - heard[0]


def _scenario(program: Program) -> Scenario:
    title = step("A title", when=When(tools=False), times=ALWAYS)
    child = step(
        [Begin(), Delay(SECONDS), Text("It is even.")], when=When(user=_TASK), times=ALWAYS
    )
    start = step(*(_delegated(program, number) for number in range(CHILDREN)))
    return scenario(title, child, start, default=Text("done"))


def _delegated(program: Program, number: int) -> Call:
    brief: dict[str, Any] = {
        "subagent_type": "general",
        "description": f"Number {number}",
        "prompt": f"{_TASK} {number}.",
    }
    if program.delegate == "actor":
        return Call("actor", {"operation": {"action": "run", **brief}})
    return Call(program.delegate, brief)
