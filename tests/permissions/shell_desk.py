"""A project to analyse shell commands in, shared by the tests of this folder."""

import os
from pathlib import Path

from roost.permissions.bash import BashAnalysis, Surroundings, analyse
from roost.permissions.layers import DEFAULTS
from roost.permissions.models import Layer, PermissionRequest
from roost.permissions.rules import evaluate, rules_of
from roost.permissions.shell_requests import shell_requests
from roost.workspace.guard import Guard

STRICTNESS = ["allow", "ask", "deny"]
PLAN = Layer("plan", "agent", rules_of({"bash": {"*": "deny", "@read-only": "allow"}}, Path("/")))


class Desk:
    """A project with a neighbour, a folder for scratch files and Roost's own data."""

    def __init__(self, tmp: Path) -> None:
        self.root = tmp / "project"
        self.home = tmp / "home"
        self.scratch = tmp / "scratch"
        self.own = tmp / "own"
        for folder in (self.root / "src", self.home, self.scratch, self.own, tmp / "other"):
            folder.mkdir(parents=True)
        (self.root / "f").write_text("x")
        (self.root / ".env").write_text("SECRET=1")
        (self.root / "src" / "a.py").write_text("x")
        (self.root / "out").symlink_to(tmp / "other")
        self.around = Surroundings(
            self.root,
            Guard(self.root, protected=[self.own]),
            self.home,
            (self.scratch,),
            frozenset({os.getpid()}),
        )

    def analyse(self, command: str) -> BashAnalysis:
        return analyse(command, self.around)

    def requests(self, command: str) -> list[PermissionRequest]:
        return shell_requests(self.analyse(command), self.around)

    def verdict(self, command: str, *layers: Layer) -> str:
        found = [evaluate(one, (DEFAULTS, *layers)).action for one in self.requests(command)]
        return max(found, key=STRICTNESS.index, default="allow")

    def always(self, command: str) -> tuple[str, ...]:
        return tuple(
            p for one in self.requests(command) for p in one.always if one.permission == "bash"
        )
