"""Running a helper program to its end, with a time limit and nothing left behind."""

import asyncio
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Final

from roost.workspace.child import start_child

_NAMES: Final = (
    "PATH",
    "HOME",
    "USER",
    "TMPDIR",
    "XDG_CONFIG_HOME",
    "GIT_CEILING_DIRECTORIES",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
)


def quiet_environment() -> dict[str, str]:
    """What a helper program needs of our environment: no keys, no options, plain messages."""
    kept = {name: os.environ[name] for name in _NAMES if name in os.environ}
    return kept | {"LC_ALL": "C.UTF-8"}


async def run_program(
    arguments: Sequence[str],
    *,
    cwd: Path,
    timeout: float,
    enough: Callable[[bytes], bool],
    environment: Mapping[str, str] | None = None,
    stdin: int | IO[bytes] = subprocess.DEVNULL,
) -> int | None:
    """Run a program; each piece of its output, errors included, goes to `enough`.

    When `enough` says so or `timeout` seconds are over the program is killed and the answer is
    None; otherwise it is the exit code. Raises `NotFoundError` if it is not installed.
    """
    stopped = asyncio.get_running_loop().create_future()

    def take(data: bytes) -> None:
        if not stopped.done() and enough(data):
            stopped.set_result(None)

    child = start_child(
        arguments,
        cwd=cwd,
        environment=quiet_environment() if environment is None else environment,
        sink=take,
        stdin=stdin,
    )
    try:
        await asyncio.wait(
            (child.exited, stopped), timeout=timeout, return_when=asyncio.FIRST_COMPLETED
        )
        return child.exited.result() if child.exited.done() and not stopped.done() else None
    finally:
        if not child.exited.done():
            child.kill()
        child.close()
