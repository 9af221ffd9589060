"""The names of a folder's files for completion: listed for some keystrokes, ranked by likeness."""

import asyncio
import time
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Final, Literal

from msgspec import Struct

from roost.workspace.search import Search

FRESH_SECONDS: Final = 3.0
"""How long a listing serves before it is made anew."""
_MOST: Final = 100_000
"""Files of a folder that are known to completion, the most recently changed."""
_FOLDERS: Final = 32
"""Folders whose listing is kept."""
_BOUNDARY: Final = frozenset("/_-. ")
Kind = Literal["file", "directory"]


class _Listing(Struct, frozen=True):
    names: tuple[str, ...]
    made: float


class FileNames:
    """The listings of one server."""

    def __init__(self) -> None:
        self._listings: dict[Path, _Listing] = {}
        self._lock = asyncio.Lock()

    async def find(self, folder: Path, query: str, *, kind: Kind | None, limit: int) -> list[str]:
        """Paths below `folder`, relative to it, that are most like `query`; folders end with `/`.

        An empty query gives the files that were changed last.
        """
        names = await self._names(folder)
        wanted = [name for name in names if kind is None or (kind == "directory") is _is_dir(name)]
        return await asyncio.to_thread(ranked, query, wanted, limit)

    async def _names(self, folder: Path) -> tuple[str, ...]:
        async with self._lock:
            known = self._listings.get(folder)
            if known is None or known.made < time.monotonic() - FRESH_SECONDS:
                if len(self._listings) >= _FOLDERS:
                    self._listings.clear()
                known = _Listing(await _list(folder), time.monotonic())
                self._listings[folder] = known
            return known.names


def _is_dir(name: str) -> bool:
    return name.endswith("/")


async def _list(folder: Path) -> tuple[str, ...]:
    found = await Search.installed().glob(folder, "**", limit=_MOST)
    files = [path.relative_to(folder).as_posix() for path in found.paths]
    folders: dict[str, None] = {}
    for name in files:
        for parent in list(PurePosixPath(name).parents)[:-1]:
            folders.setdefault(f"{parent}/", None)
    return (*files, *folders)


def ranked(query: str, names: Iterable[str], limit: int) -> list[str]:
    """The `limit` names most like `query`, the best first; equal ones stay in their order."""
    wanted = "".join(query.casefold().split())
    if not wanted:
        return list(names)[:limit]
    scored = [(score, name) for name in names if (score := likeness(wanted, name)) is not None]
    scored.sort(key=lambda one: -one[0])
    return [name for _, name in scored[:limit]]


def likeness(wanted: str, name: str) -> float | None:
    """How well `name` fits `wanted` (casefolded); None if its letters are not in it in order.

    Letters together, at the start of words and in the last part of the path count more; of names
    that fit alike the shorter is better.
    """
    path = name.rstrip("/").casefold()
    start = path.rfind("/") + 1
    whole = path.find(wanted, start)
    if whole < 0:
        whole = path.find(wanted)
    if whole >= 0:
        at_word = whole in {0, start} or path[whole - 1] in _BOUNDARY
        score = 100.0 + 50.0 * (whole >= start) + 25.0 * at_word
        return score + 25.0 * (path[start:] == wanted) - len(path) / 100
    return _scattered(wanted, path, start)


def _scattered(wanted: str, path: str, start: int) -> float | None:
    score, place, last = 0.0, 0, -2
    for letter in wanted:
        place = path.find(letter, place)
        if place < 0:
            return None
        score += 1.0 + 2.0 * (place == last + 1) + (place >= start)
        score += 2.0 * (place == 0 or path[place - 1] in _BOUNDARY)
        last = place
        place += 1
    return score / len(wanted) - len(path) / 1_000
