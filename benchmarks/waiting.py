"""Very many actors that wait for slow models in one process: memory, and CPU while nothing comes.

As a program it is that process: it prints a line when all wait, and ends with its input.
"""

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

from benchmarks import measure
from benchmarks.measure import MB, Figure
from benchmarks.programs import ROOST
from benchmarks.stage import LENIENT, play, staged
from roost.cli.collector import calm
from roost.runtime.models import PromptInput, Settings, TextInput
from roost.runtime.runtime import Runtime
from scripted_model.process import ScriptedProcess
from scripted_model.scenario import Begin, Reply, Stall

ACTORS: Final = 1_000
SECONDS: Final = 8.0
"""For which the waiting is watched."""
_ROOT: Final = Path(__file__).parent.parent


def figures() -> list[Figure]:
    """Memory and CPU of a process whose every model is silent."""
    silent = play(default=Reply((Begin(), Stall())))
    with ScriptedProcess(silent, *LENIENT) as model, staged(ROOST, model) as stage:
        process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.waiting", str(stage.project)],
            env=stage.environment,
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        try:
            model.wait_for_requests(ACTORS, timeout=120)
            memory, share = _watch(process.pid)
        finally:
            process.kill()
            process.communicate()
    return [
        Figure(f"{ACTORS:,} actors waiting, memory", memory / MB, 300, "MB"),
        Figure(f"{ACTORS:,} actors waiting, CPU", share, 2, "%"),
    ]


def _watch(pid: int) -> tuple[int, float]:
    time.sleep(3)  # what belongs to the start of the turns is over
    began, cpu = time.monotonic(), measure.cpu_of(pid)
    time.sleep(SECONDS)
    share = (measure.cpu_of(pid) - cpu) / (time.monotonic() - began) * 100
    return measure.resident(pid), share


async def _wait_with_all(project: Path) -> None:
    settings = Settings(environment=os.environ, interactive=False, make_titles=False)
    async with Runtime.open(settings) as runtime:
        for _ in range(ACTORS):
            session = await runtime.create_session(project)
            await runtime.prompt(session.id, PromptInput(parts=(TextInput("go"),)))
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    calm()  # as the commands do
    asyncio.run(_wait_with_all(Path(sys.argv[1])))
