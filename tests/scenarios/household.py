"""A user of Roost in a test: a home, a repository, a scripted model, and the real command."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from scripted_model.scenario import Scenario, Script, scenario
from scripted_model.server import ScriptedModel

ROOST = str(Path(sys.executable).with_name("roost"))
KEY = "sk-test-000"
WINDOW = 40_000
"""Tokens of a window that a few steps fill."""
DIALECTS = {
    "chat": "@ai-sdk/openai-compatible",
    "responses": "@ai-sdk/openai",
    "anthropic": "@ai-sdk/anthropic",
}


class Household:
    """One home directory with one project; `run` starts the real program in it."""

    def __init__(self, folder: Path, model: ScriptedModel, dialect: str = "chat") -> None:
        self.folder = folder
        self.model = model
        self.dialect = dialect
        self.home = folder / "roost-home"
        self.project = folder / "project"
        self.project.mkdir(parents=True, exist_ok=True)
        self.marker = f"marker-{folder.name}-{os.getpid()}"
        config: dict[str, Any] = {
            "limits": {"retry_wait": 0.05},
            "model": "test/scripted",
            "provider": {
                "test": {
                    "npm": DIALECTS[dialect],
                    "env": ["DEMO_API_KEY"],
                    "options": {"baseURL": f"{model.url}/v1", "apiKey": "{env:DEMO_API_KEY}"},
                    "models": {
                        "scripted": {
                            "limit": {"context": 200_000, "output": 8_000},
                            "cost": {"input": 1, "output": 2},
                            "reasoning": True,
                            "modalities": {"input": ["text", "image", "pdf"]},
                        }
                    },
                }
            },
        }
        self.config = config
        self.environment = {
            "HOME": str(folder),
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "ROOST_HOME": str(self.home),
            "DEMO_API_KEY": KEY,
            "HOUSEHOLD": self.marker,
        }

    def write(self, name: str, text: str) -> Path:
        """A file of the project."""
        path = self.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def start(self, *arguments: str, **more: str) -> "subprocess.Popen[str]":
        """Start the command; `more` are variables of its environment."""
        environment = {
            **self.environment,
            "ROOST_CONFIG_CONTENT": json.dumps(self.config),
            **more,
        }
        return subprocess.Popen(
            [ROOST, *arguments],
            env=environment,
            cwd=self.project,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(
        self, *arguments: str, timeout: float = 60, **more: str
    ) -> "subprocess.CompletedProcess[str]":
        """Run the command to its end."""
        process = self.start(*arguments, **more)
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            raise AssertionError(f"no end after {timeout} s\n{out}\n{err}") from None
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def prompt(self, text: str, *options: str, **more: str) -> "Answer":
        """`roost run` in its JSON form, with everything allowed."""
        done = self.run("run", "--format", "json", "--yes", *options, "--", text, **more)
        return Answer(done)

    def play(self, what: Scenario | Script) -> None:
        """Another scenario from now on."""
        self.model.use(what)

    def rows(self, sql: str, *values: Any) -> list[sqlite3.Row]:
        """Rows of the database as it is now."""
        found = list(self.home.rglob("roost.db"))
        if not found:
            return []
        connection = sqlite3.connect(found[0])
        connection.row_factory = sqlite3.Row
        try:
            return connection.execute(sql, values).fetchall()
        finally:
            connection.close()

    def change(self, sql: str, *values: Any) -> None:
        """Change the database behind the program's back."""
        (path,) = self.home.rglob("roost.db")
        with sqlite3.connect(path) as connection:
            connection.execute(sql, values)
        connection.close()

    def rows_exist(self) -> bool:
        """Whether the database has its tables."""
        return bool(self.rows("SELECT 1 FROM sqlite_master WHERE name = 'inbox'"))

    def living(self) -> list[str]:
        """Command lines of processes that carry this household's marker in their environment."""
        needle = f"HOUSEHOLD={self.marker}".encode()
        found = []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit() or int(entry.name) == os.getpid():
                continue
            try:
                if needle in (entry / "environ").read_bytes().split(b"\0"):
                    command = (entry / "cmdline").read_bytes().replace(b"\0", b" ")
                    found.append(command.decode(errors="replace"))
            except OSError:
                continue
        return found

    def wait_until_nothing_lives(self, seconds: float = 20.0) -> None:
        """No process of this household may be left."""
        deadline = time.monotonic() + seconds
        while (living := self.living()) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert living == []

    def close(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self.folder, ignore_errors=True)


def narrowed(house: Household) -> Household:
    """`house` with a model whose window a few steps fill, as it knows."""
    limit = {"context": WINDOW, "output": 4_000}
    house.config["provider"]["test"]["models"]["scripted"]["limit"] = limit
    return house


class Answer:
    """What `roost run --format json` printed."""

    def __init__(self, done: "subprocess.CompletedProcess[str]") -> None:
        self.code = done.returncode
        self.err = done.stderr
        self.lines: list[dict[str, Any]] = [
            json.loads(line) for line in done.stdout.split("\n") if line
        ]

    @property
    def result(self) -> dict[str, Any]:
        """The last line."""
        assert self.lines, self.err
        assert self.lines[-1]["type"] == "result", self.lines[-1]
        return self.lines[-1]

    @property
    def text(self) -> str:
        """What the model said last."""
        return str(self.result["text"])

    @property
    def session(self) -> str:
        """The session's id."""
        return str(self.result["sessionID"])

    def tools(self) -> list[dict[str, Any]]:
        """The tool parts, in order."""
        return [line["part"] for line in self.lines if line["type"] == "tool_use"]


def answers(*said: Any) -> Scenario:
    """A scenario that says one thing a step."""
    return scenario(*said)
