"""Why a run is to stop: signals, the time limit, a reader who left.

The first signal stops the turn in order, the second gives that half a second more, the third ends
the process where it stands. The database needs no farewell and commands die with the process, so
an end at once leaves nothing behind that the next start does not mend.
"""

import asyncio
import os
import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final, Literal

from roost.cli.signals import ENDING

Cause = Literal["interrupt", "terminate", "hangup", "time limit", "broken pipe"]
EXIT_CODES: Final[dict[Cause, int]] = {
    "time limit": 124,
    "hangup": 129,
    "interrupt": 130,
    "broken pipe": 141,
    "terminate": 143,
}
FORCED_SECONDS: Final = 0.5
"""How long a stop in order may still take after the second signal. Two signals in a row are often
one wish, told to a process and to its group."""
_CAUSES: Final[dict[int, Cause]] = {
    signal.SIGINT: "interrupt",
    signal.SIGTERM: "terminate",
    signal.SIGHUP: "hangup",
}


class Stop:
    """Whether the run is to stop, and why. The first cause counts."""

    def __init__(
        self,
        abandon: Callable[["Stop"], None] = lambda _: None,
        end: Callable[[int], None] = os._exit,
    ) -> None:
        """Made on the event loop. `abandon` says the last words of a run that waits for nothing
        more, `end` ends the process with an exit code."""
        self.asked = asyncio.Event()
        self.cause: Cause | None = None
        self.code: int | None = None
        """The exit code, once the end of the run was told."""
        self._loop = asyncio.get_running_loop()
        self._abandon = abandon
        self._end = end
        self._timer: asyncio.TimerHandle | None = None
        self._forced = False

    def ask(self, cause: Cause) -> None:
        """Stop in order. May be called from a signal handler."""
        if self.cause is None:
            self.cause = cause
            self._loop.call_soon_threadsafe(self.asked.set)

    def handle(self, cause: Cause) -> None:
        """React to a signal."""
        if self.cause is None:
            self.ask(cause)
        elif cause == "hangup":
            return  # a terminal that goes away may say so more than once
        elif not self._forced:
            self._forced = True
            self._loop.call_soon_threadsafe(self._hurry)
        else:
            self._end(self._exit_code)

    @property
    def _exit_code(self) -> int:
        assert self.cause is not None
        return EXIT_CODES[self.cause] if self.code is None else self.code

    def _hurry(self) -> None:
        self._timer = self._loop.call_later(FORCED_SECONDS, self._give_up)

    def _give_up(self) -> None:
        try:
            self._abandon(self)
        finally:
            self._end(self._exit_code)

    def close(self) -> None:
        """The run has come to its end by itself."""
        if self._timer is not None:
            self._timer.cancel()


@contextmanager
def stopping(
    time_limit: float | None,
    abandon: Callable[[Stop], None],
    end: Callable[[int], None] = os._exit,
) -> Generator[Stop]:
    """Turn signals and the time limit (seconds) into a `Stop` until the block ends."""
    loop = asyncio.get_running_loop()
    stop = Stop(abandon, end)

    def handle(number: int, _: FrameType | None) -> None:
        stop.handle(_CAUSES[number])

    # Not by way of the loop, which would leave the default handlers behind: a signal must find one
    # of ours up to the very end.
    before: dict[signal.Signals, Any] = {}
    for number in ENDING:
        if signal.getsignal(number) != signal.SIG_IGN:  # nohup asked for that
            before[number] = signal.signal(number, handle)
    timer = loop.call_later(time_limit, stop.ask, "time limit") if time_limit else None
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        stop.close()
        if timer is not None:
            timer.cancel()
