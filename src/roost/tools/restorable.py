"""Which losses git could make good again, so that a delete in the project need not be asked about.

That is so where everything at the place is committed as it stands: nothing changed, untracked or
ignored. What is not told by paths (`git reset --hard`, a dropped stash) never counts.
"""

import asyncio
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from roost.core.errors import RoostError
from roost.permissions.bash import Destruction
from roost.workspace.program import quiet_environment, run_program

_TIMEOUT: Final = 5.0
_GIT: Final = ("git", "--no-optional-locks", "-c", "core.fsmonitor=false")
_STATUS: Final = ("status", "--porcelain", "--ignored", "--untracked-files=all")
_ODD: Final = b"abcdefghijklmnopqrstuvwxyzS"
"""How `ls-files -v` marks files whose changes `status` does not report."""


async def restorable(losses: Iterable[Destruction]) -> frozenset[Destruction]:
    """Those of `losses` that a checkout from git would undo."""
    known = [one for one in losses if one.reach == "inside" and one.paths]
    checked = await asyncio.gather(*(_all_committed(one.paths) for one in known))
    return frozenset(one for one, safe in zip(known, checked, strict=True) if safe)


async def _all_committed(paths: tuple[Path, ...]) -> bool:
    return all([await _is_committed(path) for path in paths])


async def _is_committed(path: Path) -> bool:
    folder = next((parent for parent in path.parents if parent.is_dir()), None)
    if folder is None or not os.path.lexists(path):
        return folder is not None
    place = ("--", f":(literal){path}")
    status = await _git_says(folder, *_STATUS, "--ignore-submodules=none", *place)
    if status != b"":
        return False
    listed = await _git_says(folder, "ls-files", "-v", *place)
    return listed is not None and not any(line[:1] in _ODD for line in listed.splitlines() if line)


async def _git_says(folder: Path, *arguments: str) -> bytes | None:
    """What git prints in `folder`; None if it fails, for example because there is no repository."""
    said = bytearray()

    def take(data: bytes) -> bool:
        said.extend(data)
        return False

    try:
        code = await run_program(
            [*_GIT, *arguments],
            cwd=folder,
            timeout=_TIMEOUT,
            enough=take,
            environment=quiet_environment() | {"GIT_TERMINAL_PROMPT": "0"},
        )
    except RoostError:
        return None  # git is not installed: then nothing can be restored
    return bytes(said) if code == 0 else None
