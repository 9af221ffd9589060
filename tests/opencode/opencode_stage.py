"""`roost serve` as a process of its own, in a small repository, before a scripted model."""

import contextlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

from scripted_model.picture import Request
from scripted_model.scenario import Call, Delay, Piece, Reasoning, Reply, Text, reply
from scripted_model.server import ScriptedModel

PASSWORD = "open-sesame"
KEY = "sk-test-000"
SOURCE = 'def add(a, b):\n    """Adds."""\n    return a - b\n'
READY = re.compile(r"listening on (http://\S+)")


class Stage:
    """A server that answers, and what stands around it."""

    def __init__(self, url: str, project: Path, home: Path, model: ScriptedModel) -> None:
        self.url = url
        self.project = project
        self.home = home
        """For the clients."""
        self.model = model

    @property
    def environment(self) -> dict[str, str]:
        """What clients of OpenCode are started with; they reach for nothing but the server."""
        return {
            "HOME": str(self.home),
            "PATH": os.environ["PATH"],
            "OPENCODE_SERVER_PASSWORD": PASSWORD,
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
        }


@contextlib.contextmanager
def stage(folder: Path) -> Generator[Stage]:
    """A server for a repository in `folder`, until the block ends."""
    project, home = folder / "project", folder / "client"
    home.mkdir()
    _furnish(project)
    with ScriptedModel(Player(project).play, api_key=KEY) as model:
        environment = {
            "HOME": str(folder),
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "ROOST_HOME": str(folder / "home"),
            "ROOST_SERVER_PASSWORD": PASSWORD,
            "ROOST_CONFIG_CONTENT": json.dumps(_configuration(model)),
        }
        with (folder / "server.log").open("w") as log:
            server = subprocess.Popen(
                [sys.executable, "-m", "roost.cli", "serve"],
                cwd=project,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        try:
            assert server.stdout is not None
            ready = READY.search(server.stdout.readline())
            assert ready is not None, (folder / "server.log").read_text()
            yield Stage(ready[1], project, home, model)
        finally:
            server.terminate()
            server.communicate(timeout=20)


def _furnish(project: Path) -> None:
    project.mkdir()
    (project / "app.py").write_text(SOURCE)
    (project / "README.md").write_text("# Sample\n")
    names = ("-c", "user.name=Kim", "-c", "user.email=kim@example.com")
    for words in (("init", "--quiet"), ("add", "--all"), ("commit", "--quiet", "-m", "begin")):
        subprocess.run(["git", *names, *words], cwd=project, check=True, capture_output=True)


def _configuration(model: ScriptedModel) -> dict[str, Any]:
    return {
        "model": "test/scripted",
        "permission": {"bash": {"*": "allow", "touch *": "ask"}, "edit": "allow"},
        "provider": {
            "test": {
                "name": "Test",
                "npm": "@ai-sdk/openai-compatible",
                "options": {"baseURL": f"{model.url}/v1", "apiKey": KEY},
                "models": {
                    "scripted": {
                        "name": "Scripted",
                        "limit": {"context": 200_000, "output": 8_000},
                    }
                },
            }
        },
    }


QUESTION = {
    "question": "Which colour do you like?",
    "header": "Colour",
    "options": [
        {"label": "Red", "description": "warm"},
        {"label": "Blue", "description": "cold"},
    ],
}
ORDER = {
    "action": "run",
    "subagent_type": "general",
    "description": "Count things",
    "prompt": "CHILD: count the things",
}


class Player:
    """A model that does what the first words of a prompt say, step by step."""

    def __init__(self, project: Path) -> None:
        path = str(project / "app.py")
        edit = {"filePath": path, "oldString": "return a - b", "newString": "return a + b"}
        new = {"filePath": str(project / "new.py"), "content": "print('new')\n"}
        self._scenes: dict[str, list[list[Piece]]] = {
            "list": [
                [Reasoning("I look first."), Text("I list the files."), _bash("ls; echo more")],
                [Text("There are app.py and more.")],
            ],
            "mend": [
                [Call("read", {"filePath": path})],
                [Call("edit", edit)],
                [Text("It adds now.")],
            ],
            "slowly": [
                [Delay(1.5), Text("I list the files."), _bash("ls")],
                [Text("There are app.py and more.")],
            ],
            "write": [[Call("write", new)], [Text("It is written.")]],
            "ask": [[Call("question", {"questions": [QUESTION]})], [Text("You have chosen.")]],
            "touch": [[_bash("touch made.txt")], [Text("It is made.")]],
            "plan": [
                [
                    Call("task", {"action": "create", "summary": "First thing"}),
                    Call("task", {"action": "create", "summary": "Second thing"}),
                    Call("task", {"action": "start", "id": "T1"}),
                ],
                [Text("It is planned.")],
            ],
            "delegate": [[Call("actor", {"operation": ORDER})], [Text("The helper found 42.")]],
            "entrust": [
                [Call("actor", {"operation": {**ORDER, "action": "spawn", "prompt": "ASKING:"}})],
                [Text("A helper is at work.")],
            ],
            "ASKING:": [[_bash("touch helped.txt")], [Text("The child has helped.")]],
            "CHILD:": [[_bash("echo from-the-child")], [Text("The child counted 42 things.")]],
            "sleep": [[Text("This takes long."), _bash("sleep 600")], [Text("Slept.")]],
        }

    def play(self, request: Request) -> Reply:
        """The next step of the scene that was asked for last."""
        if not request.tools:
            return reply("A short title")
        taken = 0
        for message in reversed(request.messages):
            if message.role == "user" and message.text:
                words = message.text.strip('"').split()  # a shell's words come quoted
                scene = next((self._scenes[w] for w in words[:1] if w in self._scenes), None)
                if scene is None:
                    return reply(f"You said {words[0]}.")
                return reply(scene[min(taken, len(scene) - 1)])
            taken += message.role == "assistant"
        return reply("Nobody said anything.")


def _bash(command: str) -> Call:
    return Call("bash", {"command": command, "description": f"Run {command.split()[0]}"})
