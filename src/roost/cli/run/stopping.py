"""Why a run is to stop: signals, the time limit, a reader who left. The second Ctrl-C ends at once.

The database needs no farewell and commands die with the process, so an end at once leaves nothing
behind that the next start does not mend.
"""

import asyncio
import os
import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Final, Literal

Cause = Literal["interrupt", "terminate", "hangup", "time limit", "broken pipe"]
EXIT_CODES: Final[dict[Cause, int]] = {
    "time limit": 124,
    "hangup": 129,
    "interrupt": 130,
    "broken pipe": 141,
    "terminate": 143,
}
_SIGNALS: Final[dict[signal.Signals, Cause]] = {
    signal.SIGINT: "interrupt",
    signal.SIGTERM: "terminate",
    signal.SIGHUP: "hangup",
}


class Stop:
    """Whether the run is to stop, and why. The first cause counts."""

    def __init__(self, on_second: Callable[[int], None] = os._exit) -> None:
        self.asked = asyncio.Event()
        self.cause: Cause | None = None
        self._on_second = on_second

    def ask(self, cause: Cause) -> None:
        """Stop in order; a signal that comes when that is under way ends the process at once."""
        if self.cause is None:
            self.cause = cause
            self.asked.set()

    def handle(self, cause: Cause) -> None:
        """React to a signal."""
        if self.cause is not None and cause != "hangup":
            self._on_second(EXIT_CODES[cause])
        self.ask(cause)


@contextmanager
def stopping(time_limit: float | None = None) -> Generator[Stop]:
    """Turn signals and the time limit (seconds) into a `Stop` until the block ends."""
    loop = asyncio.get_running_loop()
    stop = Stop()
    handled: list[signal.Signals] = []
    for number, cause in _SIGNALS.items():
        if signal.getsignal(number) != signal.SIG_IGN:  # nohup asked for that
            loop.add_signal_handler(number, stop.handle, cause)
            handled.append(number)
    timer = loop.call_later(time_limit, stop.ask, "time limit") if time_limit else None
    try:
        yield stop
    finally:
        if timer is not None:
            timer.cancel()
        for number in handled:
            loop.remove_signal_handler(number)
