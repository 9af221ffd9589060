"""Actors that are played: each says its own lines, in whatever order they are asked."""

import json
import subprocess
import threading
from collections.abc import Callable, Sequence
from typing import Any

from household import Answer, Household

from scripted_model.picture import Request
from scripted_model.scenario import Call, Reply, Said, reply

Line = Said | Callable[[Request], Said]


class Cast:
    """A script for main and its children.

    A child is known by its name and a colon in its brief, as `work` writes it. Whoever is asked
    more often than it has lines is refused, which the strict model notes.
    """

    def __init__(self, main: Sequence[Line], **children: Sequence[Line]) -> None:
        self._lines: dict[str, Sequence[Line]] = {"main": main, **children}
        self._lock = threading.Lock()
        self.heard: dict[str, list[Request]] = {name: [] for name in self._lines}
        """What each was asked, in order."""

    def __call__(self, request: Request) -> Reply | None:
        who = self._who(request)
        with self._lock:
            self.heard[who].append(request)
            at = len(self.heard[who]) - 1
        if at >= len(self._lines[who]):
            return None
        line = self._lines[who][at]
        return reply(line(request) if callable(line) else line)

    def _who(self, request: Request) -> str:
        said = "\n".join(request.user_texts)
        named = [name for name in self._lines if f"{name}: " in said]
        return named[-1] if named else "main"

    def news(self, who: str, at: int = -1) -> str:
        """What somebody heard after its own last words, at its n-th request."""
        request = self.heard[who][at]
        texts: list[str] = []
        for message in reversed(request.messages):
            if message.role == "assistant":
                break
            texts += [message.text, *(result.text for result in message.results)]
        return "\n".join(reversed(texts))


def act(action: str, **more: Any) -> Call:
    """One call of the tool `actor`."""
    return Call("actor", {"operation": {"action": action, **more}})


def work(action: str, name: str, agent: str = "general", **more: Any) -> Call:
    """A call that starts the child `name` of a cast."""
    given = {"description": f"The work of {name}", "prompt": f"{name}: do your part.", **more}
    return act(action, subagent_type=agent, **given)


def spawn(name: str, agent: str = "general", **more: Any) -> Call:
    return work("spawn", name, agent, **more)


def run(name: str, agent: str = "general", **more: Any) -> Call:
    return work("run", name, agent, **more)


WAIT = act("wait", timeout_ms=20_000)
"""Sleep until mail comes."""


def report(status: str = "success", summary: str = "all well", text: str = "The details.") -> str:
    return f"**Status**: {status}\n**Summary**: {summary}\n\n{text}"


def begin(house: Household, text: str, *options: str, **more: str) -> "subprocess.Popen[str]":
    """A run that goes on while the test does other things."""
    return house.start("run", "--format", "json", "--yes", *options, "--", text, **more)


def end(process: "subprocess.Popen[str]", timeout: float = 30) -> Answer:
    """The end of a run that was begun."""
    out, err = process.communicate(timeout=timeout)
    return Answer(subprocess.CompletedProcess(process.args, process.returncode, out, err))


def actor_parts(answer: Answer) -> list[dict[str, Any]]:
    """The states of the calls of `actor`, in order."""
    return [part["state"] for part in answer.tools() if part["tool"] == "actor"]


def notices(house: Household) -> list[dict[str, Any]]:
    """Every notice: its body, with the state of its row and who heard it as what."""
    rows = house.rows(
        "SELECT i.*, m.role FROM inbox i LEFT JOIN message m ON m.id = i.message_id"
        " WHERE i.kind = 'notice' ORDER BY i.seq"
    )
    return [
        {**json.loads(row["body"]), "state": row["state"], "heard_as": row["role"]} for row in rows
    ]
