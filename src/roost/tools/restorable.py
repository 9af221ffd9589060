"""Which losses git could make good again, so that a delete in the project need not be asked about.

That is so where everything at the place is committed as it stands: nothing changed, untracked or
ignored. What is not told by paths (`git reset --hard`, a dropped stash) never counts.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from roost.workspace.git import git_output

if TYPE_CHECKING:
    from roost.permissions.bash import Destruction  # loads the parser of shell scripts

_TIMEOUT: Final = 5.0
_STATUS: Final = ("status", "--porcelain", "--ignored", "--untracked-files=all")
_ODD_MARKS: Final = frozenset({b"S", *(bytes([letter]) for letter in b"hmrckslo")})
"""How `ls-files -v` marks files whose changes `status` does not report: `S`, or a small letter."""
_SUBMODULE: Final = b"160000 "
"""The mode of a repository in the repository, whose own commits may be nowhere else."""


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
    arguments = (*_STATUS, "--ignore-submodules=none", *place)
    if await git_output(folder, arguments, timeout=_TIMEOUT) != b"":
        return False
    listed = await git_output(folder, ("ls-files", "-v", "--stage", *place), timeout=_TIMEOUT)
    return listed is not None and not any(map(_is_odd, listed.splitlines()))


def _is_odd(line: bytes) -> bool:
    mark, _, rest = line.partition(b" ")
    return mark in _ODD_MARKS or rest.startswith(_SUBMODULE)
