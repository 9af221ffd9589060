"""What the rules of the loop cost, and what providers find in their cache.

A run of many steps with every limit set, in each dialect; and a verdict by itself, early and late.
"""

import tempfile
import time
from pathlib import Path
from typing import Any, Final

import msgspec

from benchmarks.headless import Loop, loop_costs, per_step
from benchmarks.measure import Figure, best
from benchmarks.programs import ROOST, Program, shared_config
from benchmarks.stage import LENIENT, loop_of, staged
from roost.actors.models import Budgets
from roost.context.agents import Agent
from roost.llm.models import Model
from roost.sessions.models import (
    AssistantInfo,
    Message,
    MessagePath,
    MessageTime,
    ModelName,
    UserInfo,
)
from roost.sessions.parts import TextPart, Tokens, ToolCompleted, ToolPart, ToolTime
from roost.turn.models import Completed, Facts
from roost.turn.verdict import verdict
from scripted_model.process import ScriptedProcess

STEPS: Final = 300
LONG: Final = 1_000
CACHED: Final = 0.97
"""Share of what is sent that has to be cached already: all but the new messages and the first."""
_PACKAGES: Final = {
    "chat": "@ai-sdk/openai-compatible",
    "responses": "@ai-sdk/openai",
    "anthropic": "@ai-sdk/anthropic",
}
_MANY: Final = 1_000_000_000
_LIMITS: Final = dict.fromkeys(
    ("tokens", "cost", "seconds", "tree_tokens", "tree_cost", "tree_seconds"), _MANY
)


def strict_program(dialect: str = "chat") -> Program:
    """Roost with every limit set, so that every policy has something to look at."""
    config: dict[str, Any] = msgspec.json.decode(shared_config())
    config["limits"] = _LIMITS
    config["provider"]["bench"]["npm"] = _PACKAGES[dialect]
    environment = {
        **ROOST.environment,
        "ROOST_CONFIG_CONTENT": msgspec.json.encode(config).decode(),
    }
    return msgspec.structs.replace(ROOST, environment=environment)


def figures() -> list[Figure]:
    """All figures of this group."""
    found = [_uncached(dialect) for dialect in _PACKAGES]
    program = strict_program()
    one, some, many = (loop_costs(program, steps) for steps in (1, STEPS, LONG))
    found += [
        _step("step with every limit set, CPU", one, some, 1, STEPS),
        _step("the same", some, many, STEPS, LONG),
    ]
    return [*found, *(_verdict(steps) for steps in (10, LONG))]


def _step(what: str, few: Loop, many: Loop, first: int, last: int) -> Figure:
    return Figure(f"{what}, steps {first}–{last:,}", per_step(few, many, last - first)[0], 6, "ms")


def _uncached(dialect: str) -> Figure:
    """The share of what a run sends that no provider has seen before."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "requests"
        arguments = (*LENIENT, "--log", str(log))
        program = strict_program(dialect)
        with (
            ScriptedProcess(loop_of(program, STEPS), *arguments) as model,
            staged(program, model) as stage,
        ):
            stage.prompt("loop")
        lines: list[dict[str, Any]] = list(map(msgspec.json.decode, log.read_bytes().splitlines()))
    ends = [line for line in lines if line["event"] == "end"]
    sent = sum(line["input_tokens"] for line in ends)
    new = 1 - sum(line["cached_tokens"] for line in ends) / sent
    note = f"{1 - new:.2%} of {sent / 1e6:.1f} million tokens were cached"
    limit = (1 - CACHED) * 100
    return Figure(f"not cached in {STEPS} steps, {dialect}", new * 100, limit, "%", note)


def _verdict(steps: int) -> Figure:
    """Microseconds of one verdict after so many steps."""
    history = [_prompt(), *(_step_of(number) for number in range(steps))]
    start = Facts(
        agent=Agent(name="build"),
        model=Model("bench", "scripted", "openai-chat", ""),
        messages=tuple(history),
        budgets=Budgets(dict.fromkeys(_LIMITS, float(_MANY))),
        steps=steps,
        elapsed=1.0,
    )
    last = _step_of(steps)

    def once() -> float:
        facts = [start.after(Completed(last)) for _ in range(200)]
        began = time.perf_counter()
        for one in facts:
            verdict(one)
        return (time.perf_counter() - began) / len(facts) * 1e6

    return Figure(f"one verdict after {steps:,} steps", best(once, 5), 500, "µs")


def _prompt() -> Message:
    info = UserInfo("msg_0", "ses", MessageTime(1), "build", ModelName("bench", "scripted"))
    return Message(info, (TextPart("prt_0", "ses", "msg_0", "loop"),))


def _step_of(number: int) -> Message:
    info = AssistantInfo(
        id=f"msg_{number + 1}",
        session_id="ses",
        time=MessageTime(1, 2),
        parent_id="msg_0",
        model_id="scripted",
        provider_id="bench",
        mode="build",
        agent="build",
        path=MessagePath("/", "/"),
        cost=0.0,
        tokens=Tokens(),
        finish="tool-calls",
    )
    state = ToolCompleted({"command": f"true {number}"}, "x" * 2_000, "", {}, ToolTime(1, 2))
    return Message(info, (ToolPart("prt", "ses", info.id, "call", "bash", state),))
