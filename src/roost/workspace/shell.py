"""Running a command for a model: returns when the command ends, and leaves nothing running unseen.

Each call has a session of its own, no terminal and no input. What it leaves in the background is
reported and ends at the latest with `reap`; a call that is stopped ends with all its processes.
"""

import asyncio
import os
import shutil
from collections.abc import Callable, Iterable, Mapping

from roost.core.errors import NotFoundError, RoostError, UsageError
from roost.core.ids import new_id
from roost.core.secrets import Secrets
from roost.workspace.environment import command_environment, marked
from roost.workspace.orphans import OrphanGuard
from roost.workspace.output import OutputBuffer, OutputLimits
from roost.workspace.running import (
    LeftRunning,
    RunningCommand,
    ShellCommand,
    ShellResult,
    named,
)


class Shell:
    """Runs commands side by side, with one environment and one guard against orphans.

    `environment` is what commands see, without the variables that `secrets` names. `hidden` is what
    their output never shows. Must be closed.
    """

    def __init__(
        self,
        environment: Mapping[str, str],
        *,
        secrets: Iterable[str] = (),
        hidden: Secrets | None = None,
        limits: OutputLimits | None = None,
        program: str | None = None,
        guard: OrphanGuard | None = None,
    ) -> None:
        self._environment = command_environment(environment, secrets=secrets)
        self._hidden = hidden
        self._limits = limits or OutputLimits()
        self._program = program or shutil.which("bash") or "/bin/sh"
        self._guard = guard or OrphanGuard()
        self._running: dict[str, RunningCommand] = {}
        self._left: dict[str, list[RunningCommand]] = {}

    async def run(
        self, command: ShellCommand, on_output: Callable[[str], None] | None = None
    ) -> ShellResult:
        """Run `command` to its end, its timeout or its cancellation.

        `on_output` gets the end of the output so far, as it would be shown, some times a second
        and once more at the end. Cancelling the task ends all processes of the call first.
        Raises `UsageError`, and `NotFoundError` if the directory does not exist.
        """
        running = self._start(command, on_output)
        self._running[command.id] = running
        try:
            return await running.result()
        finally:
            self._running.pop(command.id, None)
            if running.leaves_something:
                self._left.setdefault(command.id, []).append(running)
            else:
                running.close()
                self._guard.remove(running.mark)

    def cancel(self, call_id: str) -> bool:
        """Stop a running call, whose result then says so; False if no such call runs."""
        running = self._running.get(call_id)
        if running is not None:
            running.stop("cancelled")
        return running is not None

    def left_running(self, call_id: str) -> tuple[LeftRunning, ...]:
        """What a finished call left in the background and is still there."""
        return tuple(left for one in self._left.get(call_id, ()) for left in one.left_running())

    async def reap(self, call_id: str) -> tuple[LeftRunning, ...]:
        """End what a finished call left in the background. Returns what could not be ended."""
        survivors: list[LeftRunning] = []
        for running in self._left.pop(call_id, ()):
            survivors += named(await running.reap())
            self._guard.remove(running.mark)
        return tuple(survivors)

    async def close(self) -> None:
        """End everything that was left in the background, and let the guard go."""
        await asyncio.gather(*(self.reap(call_id) for call_id in list(self._left)))
        await self._guard.close()

    def _start(
        self, command: ShellCommand, on_output: Callable[[str], None] | None
    ) -> RunningCommand:
        _require_sendable(command.text)
        if not command.cwd.is_dir():
            raise NotFoundError(
                f"the directory {command.cwd} does not exist", hint="Choose another directory."
            )
        mark = new_id("process")
        # The reaper knows the mark before there is a process that could be left behind.
        self._guard.add(mark)
        try:
            running = RunningCommand(
                command,
                mark,
                buffer=OutputBuffer(command.output_path, self._limits, self._hidden),
                program=self._program,
                environment=marked({**self._environment, **command.environment}, mark),
                on_output=on_output,
            )
        except OSError as error:
            self._guard.remove(mark)
            raise RoostError(f"the command could not be started: {error.strerror}") from error
        except BaseException:
            self._guard.remove(mark)
            raise
        self._guard.add(mark, running.pid)
        return running


def _require_sendable(text: str) -> None:
    """Raise `UsageError` for text that no program can be given."""
    if "\x00" in text:
        raise UsageError("the command holds a NUL character", hint="Leave it out.")
    try:
        os.fsencode(text)
    except UnicodeEncodeError as error:
        raise UsageError(
            f"the command holds half a character at position {error.start}", hint="Leave it out."
        ) from error
