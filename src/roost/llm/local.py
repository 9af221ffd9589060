"""The embedded local model: a child process around llama.cpp, started when first asked.

To the rest it is a server of OpenAI's chat API on the loopback, behind a random token.
"""

import asyncio
import os
import sys
from collections.abc import Mapping
from typing import IO, Final

import msgspec
from msgspec.structs import replace

from roost.core.errors import NotFoundError
from roost.core.text import cut, decode
from roost.llm.gguf import INSTALL, MISSING, find_model, runtime_is_installed
from roost.llm.known_providers import known_key_variables
from roost.llm.local_server import Order, Ready
from roost.llm.models import Model, ModelError

PROVIDER: Final = "local"
DEFAULT_CONTEXT: Final = 8_192
"""Window in tokens; memory grows with it. `limit.context` in config sets another."""
DEFAULT_OUTPUT: Final = 2_048
START_TIMEOUT: Final = 300.0
"""Seconds for loading the model: large ones are read from disk."""
STOP_TIMEOUT: Final = 3.0
"""Seconds after which a child that was told to end is killed."""


def local_model(name: str) -> Model:
    """The model `local/<name>`; its address is known once it runs."""
    return Model(
        provider=PROVIDER,
        id=name,
        dialect="openai-chat",
        base_url="",
        context=DEFAULT_CONTEXT,
        output=DEFAULT_OUTPUT,
        small_prompt=True,
    )


class _Running:
    def __init__(self, process: asyncio.subprocess.Process, url: str, token: str) -> None:
        self.process = process
        self.url = url
        self.token = token


class LocalServers:
    """The children of this process, one for each model file and window."""

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        self._environment = environment
        self._running: dict[tuple[str, int], _Running] = {}
        self._starting = asyncio.Lock()

    async def started(self, model: Model) -> Model:
        """`model` with the address of its server, which is started if need be.

        Raises ModelError when it cannot be started.
        """
        if not runtime_is_installed():
            raise ModelError("bad_request", MISSING, hint=INSTALL)
        try:
            path = str(find_model(model.id, self._environment))
        except NotFoundError as error:
            raise ModelError("bad_request", error.message, hint=error.hint) from error
        async with self._starting:
            key = (path, model.context)
            running = self._running.get(key)
            if running is None or running.process.returncode is not None:
                running = self._running[key] = await self._start(path, model.context)
        return replace(model, base_url=running.url, api_key=running.token)

    async def aclose(self) -> None:
        """End all children."""
        running, self._running = self._running, {}
        for server in running.values():
            await _stop(server.process)

    async def _start(self, path: str, context: int) -> _Running:
        # Loaded when a local model starts, since most users never start one.
        import secrets
        import tempfile

        token = secrets.token_urlsafe(32)
        order = Order(path=path, context=context, threads=_threads(), token=token)
        with tempfile.TemporaryFile() as complaints:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "roost.llm.local_server",
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=complaints,
                env=_environment_of_child(self._environment),
                start_new_session=True,
            )
            try:
                ready = await _ready(process, order, complaints)
            except BaseException:
                await _stop(process)
                raise
        return _Running(process, ready.url, token)


async def _ready(process: asyncio.subprocess.Process, order: Order, complaints: IO[bytes]) -> Ready:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(msgspec.json.encode(order) + b"\n")
    try:
        async with asyncio.timeout(START_TIMEOUT):
            line = await process.stdout.readline()
        ready = msgspec.json.decode(line, type=Ready)
    except TimeoutError:
        what = f"{order.path} did not load within {START_TIMEOUT:.0f} s"
        raise ModelError("bad_request", what) from None
    except msgspec.MsgspecError:
        complaints.seek(0)
        words = decode(complaints.read()[-2_000:]).strip() or "it said nothing"
        raise ModelError("bad_request", f"the local model died: {cut(words, 600)}") from None
    if ready.error:
        raise ModelError("bad_request", f"{order.path} cannot be run: {ready.error}")
    return ready


async def _stop(process: asyncio.subprocess.Process) -> None:
    """End `process`: closing its stdin tells it to, and a kill makes sure."""
    if process.stdin is not None:
        process.stdin.close()
    try:
        async with asyncio.timeout(STOP_TIMEOUT):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()


def _threads() -> int:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max(1, (cores or 1) - 1)


def _environment_of_child(environment: Mapping[str, str]) -> dict[str, str]:
    """Without any key: the child needs none."""
    hidden = known_key_variables()
    return {name: value for name, value in environment.items() if name not in hidden}
