"""One shell command from its start until nothing of it is left."""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final, Literal

from msgspec import Struct

from roost.workspace.branding import brand
from roost.workspace.child import start_child
from roost.workspace.output import Output, OutputBuffer
from roost.workspace.process_tree import (
    Call,
    Process,
    belonging,
    command_of,
    end_tree,
    gone,
    group_exists,
    is_alive,
    left_behind,
)

_INTERVAL: Final = 0.1
"""Seconds between two reports of a running command's output."""
_LIVE_CHARS: Final = 30_000
_LAST_WORDS: Final = 0.1
"""Seconds that processes in the background get to end by themselves before they are reported."""
_MAX_ARGUMENT: Final = 120 * 1024
"""Linux takes no longer argument; a longer command goes into a file."""

End = Literal["exited", "timed out", "cancelled", "flooded"]


class ShellCommand(Struct, frozen=True):
    """What to run, and where."""

    id: str
    """Names the call for `Shell.cancel` and `Shell.reap`."""
    text: str
    cwd: Path
    output_path: Path
    """Where the whole output goes if it is long; must not exist yet."""
    timeout: float | None = 120.0
    """Seconds."""
    environment: dict[str, str] = {}
    """Variables on top of the shell's."""


class LeftRunning(Struct, frozen=True):
    """A process that a command left behind."""

    pid: int
    command: str


class ShellResult(Struct, frozen=True):
    """How a command ended and what it wrote."""

    end: End
    exit: int
    """Exit code; 128 + n if signal n ended it."""
    output: Output
    seconds: float
    left_running: tuple[LeftRunning, ...] = ()
    """In the background, until `Shell.reap`."""
    survivors: tuple[LeftRunning, ...] = ()
    """What could not be ended, for example because it belongs to another user."""


def named(processes: Iterable[Process]) -> tuple[LeftRunning, ...]:
    """The processes with their command lines."""
    return tuple(LeftRunning(process.pid, command_of(process)) for process in processes)


class RunningCommand:
    """A command that was started by being made. `result` must be awaited, then `close` called."""

    def __init__(
        self,
        command: ShellCommand,
        mark: str,
        *,
        buffer: OutputBuffer,
        program: str,
        environment: Mapping[str, str],
        on_output: Callable[[str], None] | None,
    ) -> None:
        self.mark = mark
        self.leaves_something = False
        """Whether processes go on in the background; then `reap` must come before `close`."""
        self._buffer = buffer
        self._on_output = on_output
        self._timeout = command.timeout
        self._loop = asyncio.get_running_loop()
        self._changed = asyncio.Event()
        self._end: End | None = None
        self._over = False
        self._report_due: asyncio.TimerHandle | None = None
        self._reported = 0
        self._left: list[Process] = []
        self._grouped = False
        self._script: Path | None = None
        self._started = time.monotonic()
        self._child = start_child(
            [program, *self._arguments(command)],
            cwd=command.cwd,
            environment=environment,
            sink=self._take,
        )
        self.pid = self._child.pid
        brand(self.pid, mark)
        self._child.exited.add_done_callback(lambda _: self.stop("exited"))

    def stop(self, end: End) -> None:
        """Let `result` come to its end; the first reason counts."""
        self._end = self._end or end
        self._changed.set()

    async def result(self) -> ShellResult:
        """Wait for the end of the command, or bring it about if the time is up."""
        timer = None
        if self._timeout is not None:
            timer = self._loop.call_later(self._timeout, self.stop, "timed out")
        try:
            while self._end is None:
                await self._changed.wait()
                self._changed.clear()
                self._report()
            survivors = [] if self._end == "exited" else await self._brought_down()
            return await self._finished(self._end, survivors)
        finally:
            if timer is not None:
                timer.cancel()
            if not self._child.exited.done() or (self._left and not self._over):
                await self._abandon()

    def left_running(self) -> tuple[LeftRunning, ...]:
        """What is still running in the background."""
        return named(belonging(self._call_now()))

    async def reap(self) -> list[Process]:
        """End what runs in the background. Returns what could not be ended."""
        survivors = await end_tree(self._call_now())
        self.close()
        return survivors

    def close(self) -> None:
        """Let go of the output and of temporary files."""
        self._child.close()
        self._buffer.close()
        if self._report_due is not None:
            self._report_due.cancel()
        if self._script is not None:
            self._script.unlink(missing_ok=True)

    @property
    def _call(self) -> Call:
        return Call(self.mark, self.pid, self._pipe)

    def _call_now(self) -> Call:
        """How to recognise the processes some time after the shell's end.

        Its number stays the session's as long as a process is left in the session. After that the
        system may give the number to somebody else, and only the mark counts.
        """
        ours = self._grouped or any(p.session == self.pid and is_alive(p) for p in self._left)
        return self._call if ours else Call(self.mark, None, self._pipe)

    @property
    def _pipe(self) -> str:
        # Once our end is closed the pipe's number may be given to another pipe.
        return self._child.pipe if self._child.output_open else ""

    def _arguments(self, command: ShellCommand) -> list[str]:
        if len(command.text.encode("utf-8", "surrogateescape")) < _MAX_ARGUMENT:
            return ["-c", command.text]
        self._script = command.output_path.with_suffix(".command")
        self._script.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._script.touch(0o600)
        self._script.write_text(command.text, encoding="utf-8", errors="surrogateescape")
        return [str(self._script)]

    def _take(self, data: bytes) -> None:
        self._buffer.feed(data)
        if self._over:
            if self._buffer.full:
                self._child.pause()
            return
        if self._buffer.flooded:
            self.stop("flooded")
        if self._on_output is not None and self._report_due is None:
            self._report_due = self._loop.call_later(_INTERVAL, self._due)

    def _due(self) -> None:
        self._report_due = None
        self._changed.set()

    def _report(self) -> None:
        if self._on_output is not None and self._reported != self._buffer.total:
            self._reported = self._buffer.total
            self._on_output(self._buffer.end_text(_LIVE_CHARS))

    async def _brought_down(self) -> list[Process]:
        survivors = await end_tree(self._call)
        await asyncio.wait([self._child.exited], timeout=1)
        return survivors

    async def _finished(self, end: End, survivors: list[Process]) -> ShellResult:
        seconds = time.monotonic() - self._started
        if end == "exited":
            self._left = left_behind(self._call, self.pid, seconds)
            if self._left:
                self.leaves_something = True  # also if this is cancelled before it is over
                await gone(self._call, _LAST_WORDS)
                self._left = belonging(self._call)
                self._child.drain()
            self._grouped = group_exists(self._call)
            self.leaves_something = bool(self._left) or self._child.output_open or self._grouped
        if self.leaves_something:
            self._buffer.keep_file()
        self._over = True
        self._report()
        code = self._child.exited.result() if self._child.exited.done() else -9
        return ShellResult(
            end=end,
            exit=code if code >= 0 else 128 - code,
            output=self._buffer.result(),
            seconds=seconds,
            left_running=named(self._left),
            survivors=named(survivors),
        )

    async def _abandon(self) -> None:
        """The task was cancelled or the listener failed: leave nothing running."""
        exited = self._child.exited.done()
        try:
            await end_tree(self._call_now() if exited else self._call)
        finally:
            if not exited:
                self._child.kill()
            self._over = True
        self._report()
