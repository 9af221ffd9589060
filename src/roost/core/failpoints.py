"""Named places where a test can kill, fail or delay the process.

`ROOST_FAILPOINT=name[:nth]=kill|raise|sleep:MS`, several separated by commas. `nth` counts hits
from 1 (default 1). Without the variable a failpoint costs one dictionary look-up.
"""

import os
import re
import signal
import threading
import time
from typing import Final

from roost.core.errors import RoostError, UsageError

_VARIABLE: Final = "ROOST_FAILPOINT"


class FailpointError(RoostError):
    """Raised by a failpoint whose action is `raise`."""


class _Failpoint:
    def __init__(self, nth: int, action: str) -> None:
        self.nth = nth
        self.action = action
        self.hits = 0
        self.lock = threading.Lock()

    def hit(self, name: str) -> None:
        with self.lock:
            self.hits += 1
            if self.hits != self.nth:
                return
        if self.action == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        elif self.action == "raise":
            raise FailpointError(f"failpoint {name}")
        else:
            time.sleep(int(self.action.removeprefix("sleep:")) / 1000)


def _parse(text: str) -> dict[str, _Failpoint]:
    points: dict[str, _Failpoint] = {}
    for entry in filter(None, (piece.strip() for piece in text.split(","))):
        place, _, action = entry.partition("=")
        name, _, nth = place.partition(":")
        known = action in {"kill", "raise"} or re.fullmatch(r"sleep:[0-9]+", action)
        if not name or not known or not re.fullmatch(r"[1-9][0-9]*|", nth):
            raise UsageError(
                f"{_VARIABLE}: cannot read {entry!r}",
                hint="Use name[:nth]=kill, =raise or =sleep:MS.",
            )
        points[name] = _Failpoint(int(nth or 1), action)
    return points


_points = _parse(os.environ.get(_VARIABLE, ""))


def failpoint(name: str) -> None:
    """Do what the environment asks for at `name`; usually nothing."""
    if point := _points.get(name):
        point.hit(name)
