"""Where a program is measured: a home and a project of its own, beside a scripted model.

The model is a process of its own, so that its CPU is counted to nobody.
"""

import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from benchmarks.measure import Used, run
from benchmarks.programs import Program
from scripted_model.process import ScriptedProcess
from scripted_model.scenario import ALWAYS, Call, Said, Scenario, When, scenario, step

LENIENT = ("--lenient", "--keep", "3")
"""The model only plays: it checks nothing and remembers little."""


class Stage(Struct, frozen=True):
    """One program in a home of its own."""

    program: Program
    folder: Path
    url: str
    """Of the scripted model, without `/v1`."""

    @property
    def project(self) -> Path:
        """Where the program works."""
        return self.folder / "project"

    @property
    def environment(self) -> dict[str, str]:
        """What a user of it has set."""
        base = {"HOME": str(self.folder), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
        return base | self._filled(self.program.environment)

    def prompt(self, text: str, timeout: float = 120) -> Used:
        """Run one prompt to its end. Raises `RuntimeError` if it fails."""
        command = [self._fill(word).replace("{prompt}", text) for word in self.program.prompt]
        used = run(command, env=self.environment, cwd=self.project, timeout=timeout)
        if used.code != 0:
            told = (used.err or used.out).strip()[-400:]
            raise RuntimeError(f"{self.program.name} ended with {used.code}: {told}")
        return used

    def version(self) -> Used:
        """Run its shortest command."""
        command = [self._fill(word) for word in self.program.version]
        return run(command, env=self.environment, cwd=self.project)

    def furnish(self) -> None:
        """Write the files that it is configured by."""
        self.project.mkdir()
        for name, text in self.program.files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self._fill(text))

    def _filled(self, given: dict[str, str]) -> dict[str, str]:
        return {name: self._fill(value) for name, value in given.items()}

    def _fill(self, text: str) -> str:
        return text.replace("{url}", self.url).replace("{home}", str(self.folder))


@contextmanager
def staged(program: Program, model: ScriptedProcess) -> Generator[Stage]:
    """A stage that is gone after the block."""
    with tempfile.TemporaryDirectory(prefix="roost-bench-") as folder:
        stage = Stage(program, Path(folder), model.url)
        stage.furnish()
        yield stage


def loop_of(program: Program, steps: int) -> Scenario:
    """A model that asks for `steps` no-op commands, no two alike, and then ends the turn."""
    calls = [
        Call("bash", {"command": f"true {number}", **program.arguments}) for number in range(steps)
    ]
    return play(*calls, default=program.end)


def play(*said: Said, default: Said) -> Scenario:
    """Steps of one conversation; requests without tools, as for a title, get a few words."""
    title = step("A title", when=When(tools=False), times=ALWAYS)
    return scenario(title, *said, default=default)


def requests_in(log: Path) -> list[float]:
    """When each request for an answer came, seconds since 1970, of a log of the model."""
    if not log.exists():
        return []
    lines = [_line(line) for line in log.read_bytes().splitlines()]
    return [line["at"] for line in lines if line["event"] == "request"]


def _line(line: bytes) -> dict[str, Any]:
    return msgspec.json.decode(line)
