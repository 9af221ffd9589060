"""The command line: start, first request, a loop of no-op commands, memory."""

import json
import os
import tempfile
import time
from pathlib import Path

from msgspec import Struct

from benchmarks.measure import ROOST, Figure, Used, best, run
from scripted_model.picture import Request
from scripted_model.scenario import Call, Reply, Script, Text, reply
from scripted_model.server import ScriptedModel

STARTS = 7
SHORT, MIDDLE, LONG = 1, 100, 1_000


class Bench(Struct):
    """A home and a project beside a scripted model."""

    folder: Path
    model: ScriptedModel

    @property
    def environment(self) -> dict[str, str]:
        """What a user of it has set."""
        config = {
            "model": "bench/scripted",
            "provider": {
                "bench": {
                    "npm": "@ai-sdk/openai-compatible",
                    "options": {"baseURL": f"{self.model.url}/v1", "apiKey": "sk-bench"},
                    "models": {"scripted": {"limit": {"context": 10_000_000, "output": 8_000}}},
                }
            },
            "limits": {"steps": 10_000},
        }
        return {
            "HOME": str(self.folder),
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "ROOST_HOME": str(self.folder / "home"),
            "ROOST_CONFIG_CONTENT": json.dumps(config),
        }

    def roost(self, *arguments: str) -> Used:
        """Run the command and measure it."""
        project = self.folder / "project"
        project.mkdir(exist_ok=True)
        used = run([ROOST, *arguments], env=self.environment, cwd=project)
        if used.code != 0:
            raise RuntimeError(f"roost {' '.join(arguments)} ended with {used.code}: {used.out}")
        return used


def loop_of(steps: int) -> Script:
    """A model that asks for `steps` no-op commands and then answers."""

    def play(request: Request) -> Reply:
        done = sum(1 for message in request.messages if message.role == "assistant")
        if done < steps:
            return reply([Call("bash", {"command": f"true {done}", "description": "nothing"})])
        return reply([Text("done")])

    return play


def figures() -> list[Figure]:
    """All figures of a headless run."""
    with (
        tempfile.TemporaryDirectory() as folder,
        ScriptedModel(lambda _: reply([Text("done")]), strict=False, keep=3) as model,
    ):
        bench = Bench(Path(folder), model)
        found = [_version(bench), _first_request(bench)]
        return found + _loops(bench)


def _version(bench: Bench) -> Figure:
    cpu = best(lambda: bench.roost("--version").cpu, STARTS)
    return Figure("roost --version, CPU", cpu * 1000, 40, "ms")


def _first_request(bench: Bench) -> Figure:
    def once() -> float:
        before = len(bench.model.requests)
        began = time.time()
        bench.roost("run", "--yes", "hello")
        return bench.model.requests[before:][0].at - began

    return Figure("roost run: start → first model request", best(once, STARTS) * 1000, 300, "ms")


def _loops(bench: Bench) -> list[Figure]:
    used: dict[int, Used] = {}
    for steps in (SHORT, MIDDLE, LONG):
        bench.model.use(loop_of(steps))
        used[steps] = bench.roost("run", "--yes", "--max-steps", "5000", "loop")
    early = _per_step(used, SHORT, MIDDLE)
    late = _per_step(used, MIDDLE, LONG)
    return [
        Figure("tool loop, no-op bash step, CPU (steps 1–100)", early, 6, "ms"),
        Figure("tool loop, no-op bash step, CPU (steps 100–1,000)", late, 6, "ms"),
        Figure("tool loop, growth from early to late steps", late / early, 1.5, "×"),
        Figure("headless peak memory after 100 steps", used[MIDDLE].peak / 2**20, 70, "MB"),
        Figure("headless peak memory after 1,000 steps", used[LONG].peak / 2**20, None, "MB"),
    ]


def _per_step(used: dict[int, Used], few: int, many: int) -> float:
    """Milliseconds of CPU that one more step costs."""
    return (used[many].cpu - used[few].cpu) / (many - few) * 1000
