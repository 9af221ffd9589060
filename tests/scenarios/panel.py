"""A model that plays all candidates of max mode and their judge; the judge is offered no tools."""

import json
import threading
from collections.abc import Callable, Sequence
from typing import Any

from scripted_model.picture import Request
from scripted_model.scenario import Reply, Said, reply

Line = Said | Callable[[Request], Said]


def choice(number: int, reason: str = "it is the best") -> str:
    """An answer of the judge."""
    return json.dumps({"choice": number, "reason": reason})


class Panel:
    """Rounds of lines, one line a call in the order in which calls come; a round is known by how
    many steps the request has behind it. Whoever is asked more often is refused.
    """

    def __init__(self, *rounds: Sequence[Line], judge: Sequence[Line] = ()) -> None:
        self._rounds = rounds
        self._judge = judge
        self._lock = threading.Lock()
        self.heard: list[list[Request]] = [[] for _ in rounds]
        self.judged: list[Request] = []

    def __call__(self, request: Request) -> Reply | None:
        if not request.tool_names:
            return self._said(self.judged, self._judge, request)
        steps = sum(message.role == "assistant" for message in request.messages)
        if steps >= len(self._rounds):
            return None
        return self._said(self.heard[steps], self._rounds[steps], request)

    def _said(self, heard: list[Request], lines: Sequence[Line], request: Request) -> Reply | None:
        with self._lock:
            heard.append(request)
            at = len(heard) - 1
        if at >= len(lines):
            return None
        line = lines[at]
        return reply(line(request) if callable(line) else line)


def max_events(lines: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """What is told of rounds, in order."""
    return [one["properties"] for one in lines if one["type"] == "session.max_mode"]
