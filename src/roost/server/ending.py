"""When a server has to stop: a signal, its owner's death, or the end of its standard input."""

import asyncio
import os
import signal
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from roost.server.models import ServerSettings

_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_LOOK_SECONDS: Final = 1.0
"""How often the owner is looked for where the system does not tell of its end."""


@contextmanager
def signalled(stop: asyncio.Event) -> Generator[None]:
    """Set `stop` on SIGTERM, SIGINT and SIGHUP as long as the block runs. Main thread only."""
    loop = asyncio.get_running_loop()
    for one in _SIGNALS:
        loop.add_signal_handler(one, stop.set)
    try:
        yield
    finally:
        for one in _SIGNALS:
            loop.remove_signal_handler(one)


async def until_told(settings: ServerSettings, stop: asyncio.Event) -> None:
    """Return when `stop` is set, the owner is gone, or standard input has ended."""
    with _owner_watched(settings.owner_pid, stop), _stdin_watched(settings.watch_stdin, stop):
        if settings.owner_pid is None:
            await stop.wait()
            return
        while not stop.is_set() and _is_alive(settings.owner_pid):
            try:
                async with asyncio.timeout(_LOOK_SECONDS):
                    await stop.wait()
            except TimeoutError:
                continue


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


@contextmanager
def _owner_watched(pid: int | None, stop: asyncio.Event) -> Generator[None]:
    """Hear of the owner's end at once where the system can tell (Linux)."""
    if pid is None or not hasattr(os, "pidfd_open"):
        yield
        return
    try:
        descriptor = os.pidfd_open(pid)
    except OSError:  # it is gone already: `until_told` sees that
        yield
        return
    loop = asyncio.get_running_loop()
    loop.add_reader(descriptor, stop.set)
    try:
        yield
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)


@contextmanager
def _stdin_watched(wanted: bool, stop: asyncio.Event) -> Generator[None]:
    """Set `stop` at the end of standard input; what stands in it is passed over."""
    if not wanted:
        yield
        return
    loop = asyncio.get_running_loop()

    def read() -> None:
        try:
            ended = not os.read(0, 65_536)
        except BlockingIOError:
            return
        except OSError:
            ended = True
        if ended:
            loop.remove_reader(0)
            stop.set()

    try:
        loop.add_reader(0, read)
    except OSError:  # a file or /dev/null, whose end is always there
        stop.set()
    try:
        yield
    finally:
        loop.remove_reader(0)
