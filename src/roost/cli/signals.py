"""What SIGINT, SIGTERM and SIGHUP do where a command has no way of its own to stop: they end the
process at once and without a word. Nothing is raised, since an exception in the middle of an import
leaves modules half made, and compiled ones crash on that. Imports little, to be there early.
"""

import atexit
import os
import signal
from types import FrameType

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""The signals that ask a process to end."""
_code: list[int] = []
"""The exit code that is settled by now; empty as long as the signal decides."""


def end_at_once_on_signals() -> None:
    """From now on a signal ends the process with 128 + its number.

    A signal that is ignored already stays so: `nohup` and shells without job control ask for that.
    """
    for number in ENDING:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _end)
    # Registered first, so it runs last: the interpreter takes handlers away before it is gone.
    atexit.register(_ignore)


def settle(code: int) -> None:
    """What the process had to do is done: a signal that comes now changes its exit code no more."""
    _code[:] = [code]


def _end(number: int, _: FrameType | None) -> None:
    os._exit(_code[0] if _code else 128 + number)


def _ignore() -> None:
    for number in ENDING:
        signal.signal(number, signal.SIG_IGN)
