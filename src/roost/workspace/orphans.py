"""The guard against orphans: commands end even when Roost is killed with -9.

A small shell script (`reaper.sh`) waits at the reading end of a pipe. When Roost dies, in whatever
way, the kernel closes the pipe and the script kills what is listed. The list is a file in memory
that it reads only then, so that keeping the list wakes nobody.
"""

import asyncio
import os
import signal
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

from roost.workspace.branding import brand_of, unbrand

_SCRIPT: Final = Path(__file__).with_name("reaper.sh")
_SHELL: Final = "/bin/sh"
_LONG: Final = 64 * 1024
"""Bytes of the list after which it is written anew."""


class OrphanGuard:
    """Lists running commands for the reaper process, which is started when first needed.

    If the reaper itself dies, the next command that is listed starts another.
    """

    def __init__(self) -> None:
        self._pipe: int | None = None
        self._list = -1
        self._size = 0
        self._pid = 0
        self._groups: dict[str, int] = {}

    def add(self, mark: str, group: int = 0) -> None:
        """List a command by the mark in its environment and, once known, its process group."""
        self._groups[mark] = group
        if self._pipe is None or self._collected():
            self._start()
        else:
            self._write(_line(group, mark))

    def remove(self, mark: str) -> None:
        """Strike a command off the list: none of its processes lives."""
        if self._groups.pop(mark, None) is not None and self._pipe is not None:
            self._write(f"del {mark}\n")

    async def close(self) -> None:
        """Let the reaper go; it first kills what is still listed."""
        self._let_go()
        self._groups.clear()
        for _ in range(200):
            if self._collected():
                return
            await asyncio.sleep(0.005)

    def _let_go(self) -> None:
        if self._pipe is not None:
            os.close(self._pipe)
            os.close(self._list)
            self._pipe = None

    def _write(self, line: str) -> None:
        """Add `line` to the list, or write it anew when it is long or nothing is left of it.

        Whenever Roost dies meanwhile, the lines tell the same: an old end behind a new beginning
        strikes off again what it adds.
        """
        if self._groups and self._size < _LONG:
            self._size += os.pwrite(self._list, line.encode(), self._size)
            return
        listed = "".join(_line(group, mark) for mark, group in self._groups.items())
        self._size = os.pwrite(self._list, listed.encode(), 0)
        os.ftruncate(self._list, self._size)

    def _start(self) -> None:
        self._let_go()
        reading, writing = os.pipe()
        try:
            listing = _memory_file()
        except BaseException:
            os.close(reading)
            os.close(writing)
            raise
        self._pipe, self._list, self._size = writing, listing, _LONG
        self._write("")
        try:
            # Not `Popen`: that would complain when Roost leaves while the reaper still works.
            self._pid = os.posix_spawn(
                _SHELL,
                [_SHELL, str(_SCRIPT)],
                {"PATH": os.defpath, "LC_ALL": "C"},
                file_actions=[
                    (os.POSIX_SPAWN_DUP2, reading, 0),
                    (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
                    (os.POSIX_SPAWN_DUP2, 1, 2),
                    (os.POSIX_SPAWN_DUP2, listing, 3),
                ],
                setsid=True,
                setsigmask=[],
                setsigdef=[signal.SIGPIPE],
            )
            unbrand(self._pid)
        except BaseException:
            self._let_go()
            raise
        finally:
            os.close(reading)

    def _collected(self) -> bool:
        """Take the exit of an ended reaper; True if there is none left."""
        if self._pid:
            with suppress(ChildProcessError):
                if os.waitpid(self._pid, os.WNOHANG) == (0, 0):
                    return False
            self._pid = 0
        return True


def _line(group: int, mark: str) -> str:
    return f"add {group} {brand_of(mark)} {mark}\n"


def _memory_file() -> int:
    """A file without a name. Both ends share its position, so writing must not move it."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("roost-commands")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())
