"""The guard against orphans: commands end even when Roost is killed with -9.

A small shell script (`reaper.sh`) holds the reading end of a pipe and a list of what is running.
When Roost dies, in whatever way, the kernel closes the pipe and the script kills what is listed.
"""

import asyncio
import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import Final

_SCRIPT: Final = Path(__file__).with_name("reaper.sh")
_SHELL: Final = "/bin/sh"


class OrphanGuard:
    """Registers running commands with the reaper process, which is started when first needed.

    If the reaper itself dies, the next registration starts another and tells it everything.
    """

    def __init__(self) -> None:
        self._pipe: int | None = None
        self._pid = 0
        self._groups: dict[str, int] = {}

    def add(self, mark: str, group: int = 0) -> None:
        """List a command by the mark in its environment and, once known, its process group."""
        self._groups[mark] = group
        self._tell(f"add {group} {mark}\n")

    def remove(self, mark: str) -> None:
        """Strike a command off the list: none of its processes lives."""
        if self._groups.pop(mark, None) is not None:
            self._tell(f"del {mark}\n")

    async def close(self) -> None:
        """Let the reaper go; it first kills what is still listed."""
        if self._pipe is None:
            return
        os.close(self._pipe)
        self._pipe = None
        self._groups.clear()
        for _ in range(200):
            if self._collected():
                return
            await asyncio.sleep(0.005)

    def _tell(self, line: str) -> None:
        if self._pipe is not None and self._written(line):
            return
        self._start()
        listed = "".join(f"add {group} {mark}\n" for mark, group in self._groups.items())
        self._written(listed)

    def _written(self, text: str) -> bool:
        """Whether the reaper could be told. A full pipe means that it hangs: it is replaced."""
        if self._pipe is None:
            return False
        try:
            os.write(self._pipe, text.encode())
        except (BrokenPipeError, BlockingIOError):
            os.close(self._pipe)
            self._pipe = None
            return False
        return True

    def _start(self) -> None:
        self._collected()
        reading, writing = os.pipe()
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
                ],
                setsid=True,
                setsigmask=[],
                setsigdef=[signal.SIGPIPE],
            )
        except BaseException:
            os.close(writing)
            raise
        finally:
            os.close(reading)
        os.set_blocking(writing, False)
        self._pipe = writing

    def _collected(self) -> bool:
        """Take the exit of an ended reaper; True if there is none left."""
        if self._pid:
            with suppress(ChildProcessError):
                if os.waitpid(self._pid, os.WNOHANG) == (0, 0):
                    return False
            self._pid = 0
        return True
