"""A model that plays both the agent and the judge of its goal; the judge is offered no tools."""

import json
import threading
from collections.abc import Callable, Sequence
from typing import Any

from scripted_model.picture import Request
from scripted_model.scenario import Reply, Said, reply

Line = Said | Callable[[Request], Said]


def opinion(verdict: str, reason: str = "as the record shows") -> str:
    """An answer of the judge."""
    return json.dumps({"verdict": verdict, "reason": reason})


MET = opinion("met", "5 tests passed")
GAP = opinion("gap", "no test was run")
IMPOSSIBLE = opinion("impossible", "there is no such file")


class Court:
    """Lines of the agent and of the judge, each said once; the last of a side may be said for
    ever.
    """

    def __init__(
        self, agent: Sequence[Line], judge: Sequence[Line], *, endless: bool = False
    ) -> None:
        self._lines: dict[str, Sequence[Line]] = {"agent": agent, "judge": judge}
        self._endless = endless
        self._lock = threading.Lock()
        self.heard: dict[str, list[Request]] = {"agent": [], "judge": []}

    def __call__(self, request: Request) -> Reply | None:
        who = "agent" if request.tool_names else "judge"
        with self._lock:
            self.heard[who].append(request)
            at = len(self.heard[who]) - 1
        lines = self._lines[who]
        if at >= len(lines) and not self._endless:
            return None
        line = lines[min(at, len(lines) - 1)]
        return reply(line(request) if callable(line) else line)

    def records(self) -> list[str]:
        """What the judge was given, in order."""
        return [request.last_user_text for request in self.heard["judge"]]

    def told(self, at: int = -1) -> str:
        """What the agent heard last at its n-th request."""
        return self.heard["agent"][at].last_user_text


def goal_events(lines: Sequence[dict[str, Any]]) -> list[tuple[str, str | None]]:
    """State of the goal and result of the verdict, of each event about a goal."""
    about = [one["properties"] for one in lines if one["type"] == "session.goal"]
    return [(a["goal"]["state"], a["verdict"]["result"] if a["verdict"] else None) for a in about]
