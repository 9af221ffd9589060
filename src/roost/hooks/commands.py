"""Hooks that are programs: JSON on their input, an exit code and a few words as their answer."""

import asyncio
import shutil
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Final

import msgspec

from roost.config.hooks import HookConfig
from roost.core.errors import RoostError, plain_words
from roost.core.ids import new_id
from roost.core.secrets import Secrets
from roost.hooks.answers import command_answer
from roost.hooks.models import Answer, HookFailedError, HookInput
from roost.workspace.branding import brand
from roost.workspace.child import Child, start_child
from roost.workspace.environment import command_environment, marked
from roost.workspace.orphans import OrphanGuard
from roost.workspace.output import OutputBuffer, OutputLimits
from roost.workspace.process_tree import Call, end_tree, group_exists, left_behind

_LIMITS: Final = OutputLimits(head=64 * 1024, tail=16 * 1024, file=0, flood=16 * 1024 * 1024)
"""Of output and errors each; who floods is stopped."""


class Commands:
    """Runs the programs of one project. Must be closed."""

    def __init__(
        self,
        directory: Path,
        environment: Mapping[str, str],
        *,
        secrets: frozenset[str] = frozenset(),
        hidden: Secrets | None = None,
    ) -> None:
        self._directory = directory
        self._environment = command_environment(environment, secrets=secrets)
        self._hidden = hidden
        self._guard = OrphanGuard()
        self._shell = shutil.which("bash") or "/bin/sh"

    async def run(self, hook: HookConfig, given: HookInput) -> Answer:
        """Tell the program of `given`, and give its answer when it has ended.

        Nothing that it started goes on afterwards. Raises HookFailedError when it cannot be
        started, takes too long, writes too much or ends badly; cancelling ends it first.
        """
        mark = new_id("process")
        # The guard knows the mark before there is a process that could be left behind.
        self._guard.add(mark)
        try:
            with tempfile.TemporaryFile() as told:
                told.write(msgspec.json.encode(given))
                told.seek(0)
                return await self._answer(hook, mark, told)
        except (RoostError, OSError) as error:
            words = error.message if isinstance(error, RoostError) else plain_words(error)
            raise HookFailedError(f"could not be started: {words}") from error
        finally:
            self._guard.remove(mark)

    async def close(self) -> None:
        """Let the guard against orphans go."""
        await self._guard.close()

    async def _answer(self, hook: HookConfig, mark: str, told: IO[bytes]) -> Answer:
        output = OutputBuffer(None, _LIMITS, self._hidden)
        errors = OutputBuffer(None, _LIMITS, self._hidden)
        flooded: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def take(data: bytes, into: OutputBuffer) -> None:
            into.feed(data)
            if into.flooded and not flooded.done():
                flooded.set_result(None)

        child = start_child(
            self._arguments(hook),
            cwd=self._directory,
            environment=marked({**self._environment, **hook.env}, mark),
            sink=lambda data: take(data, output),
            errors=lambda data: take(data, errors),
            stdin=told,
        )
        brand(child.pid, mark)
        self._guard.add(mark, child.pid)
        code = await _end_of(child, mark, flooded, hook.timeout)
        if flooded.done():
            raise HookFailedError(f"wrote more than {_LIMITS.flood:,} bytes and was stopped")
        if code is None:
            raise HookFailedError(f"did not end within {hook.timeout:g} s and was stopped")
        return command_answer(hook.on, code, output.result().text, errors.result().text)

    def _arguments(self, hook: HookConfig) -> list[str]:
        if isinstance(hook.command, str):
            return [self._shell, "-c", hook.command]
        return list(hook.command)


async def _end_of(
    child: Child, mark: str, flooded: asyncio.Future[None], seconds: float
) -> int | None:
    """Its exit code, or None when it was stopped. Nothing that it started is left."""
    started = time.monotonic()
    first = asyncio.FIRST_COMPLETED
    try:
        await asyncio.wait((child.exited, flooded), timeout=seconds, return_when=first)
        code = child.exited.result() if child.exited.done() else None
        await _clear(child, mark, time.monotonic() - started)
        return code
    except asyncio.CancelledError:
        await _clear(child, mark, time.monotonic() - started)
        raise
    finally:
        child.kill()
        child.close()


async def _clear(child: Child, mark: str, seconds: float) -> None:
    """End the program and all that it left behind, wherever it went."""
    call = Call(mark, child.pid, child.pipe if child.output_open else "")
    ended = child.exited.done()
    if not ended or left_behind(call, child.pid, seconds) or group_exists(call):
        await end_tree(call)
