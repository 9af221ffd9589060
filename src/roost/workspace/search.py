"""Finding files by name and lines by content, newest files first.

ripgrep does the work where it is installed, Python elsewhere; both find the same. Hidden files are
searched; what `.gitignore` and its like name, `.git` and binary files are not.
"""

import asyncio
import shutil
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from msgspec import Struct

from roost.core.errors import NotFoundError, UsageError
from roost.core.text import clean, cut
from roost.workspace.globs import Accept, matcher
from roost.workspace.search_engines import (
    Listing,
    PatternRefusedError,
    PythonSearch,
    RawLine,
    Ripgrep,
    plain_pattern,
)

_LINE_CHARS: Final = 2000


class FoundFiles(Struct, frozen=True):
    """Files by name."""

    paths: tuple[Path, ...]
    """Absolute, the most recently changed first."""
    more: bool
    """There are more than the limit."""
    complete: bool
    """False if the time ran out; then newer files may be missing, too."""


class FoundLine(Struct, frozen=True):
    """A line that matches."""

    path: Path
    line: int
    text: str
    """Without its end; of a very long line the part around the match."""


class FoundLines(Struct, frozen=True):
    """Lines by content, grouped by file, the most recently changed file first."""

    lines: tuple[FoundLine, ...]
    more: bool
    complete: bool


def ripgrep_program() -> str | None:
    """The path of ripgrep: from the PATH, else beside the Python that runs Roost; or None."""
    return shutil.which("rg") or shutil.which("rg", path=str(Path(sys.executable).parent))


class Search:
    """The two searches. `ripgrep` is the path of the program, or None to do without."""

    def __init__(self, ripgrep: str | None) -> None:
        self._ripgrep = Ripgrep(ripgrep) if ripgrep else None
        self._python = PythonSearch()

    @classmethod
    def installed(cls) -> "Search":
        """A search with ripgrep if it is there."""
        return cls(ripgrep_program())

    async def glob(
        self, root: Path, pattern: str, *, limit: int = 100, timeout: float = 20.0
    ) -> FoundFiles:
        """The files below `root` that match `pattern` (see `globs.matcher`).

        Raises `UsageError` for a wrong pattern and `NotFoundError` for a root that is no folder.
        """
        if not root.is_dir():
            raise NotFoundError(f"{root} is not a folder", hint="Check the path.")
        accept = matcher(pattern.removeprefix(f"{root}/"))
        engine = self._ripgrep or self._python
        listing = await engine.files(root, accept, time.monotonic() + timeout)
        ordered = await asyncio.to_thread(_newest_first, root, listing.paths)
        return FoundFiles(
            paths=tuple(root / path for path in ordered[:limit]),
            more=len(ordered) > limit,
            complete=listing.complete,
        )

    async def grep(
        self,
        root: Path,
        pattern: str,
        *,
        include: str | None = None,
        limit: int = 100,
        timeout: float = 20.0,
    ) -> FoundLines:
        """The lines below `root`, a folder or a file, that match the regular expression `pattern`.

        `include` is a file pattern. Raises `UsageError` for a wrong pattern and `NotFoundError`.
        """
        if not pattern:
            raise UsageError("the pattern is empty", hint="Give a regular expression.")
        if "\n" in pattern or "\x00" in pattern:
            raise UsageError("the pattern spans lines", hint="Search for one line of it.")
        if not root.exists():
            raise NotFoundError(f"{root} does not exist", hint="Check the path.")
        query = _Query(
            folder=root if root.is_dir() else root.parent,
            file=None if root.is_dir() else root.name,
            pattern=pattern,
            accept=matcher(include) if include else _everything,
            limit=limit + 1,
            deadline=time.monotonic() + timeout,
        )
        raw, complete = await self._found(query)
        return FoundLines(
            lines=tuple(_shown(query.folder, line) for line in raw[:limit]),
            more=len(raw) > limit,
            complete=complete,
        )

    async def _found(self, query: "_Query") -> tuple[list[RawLine], bool]:
        try:
            if self._ripgrep is not None:
                return await _by_ripgrep(self._ripgrep, query)
            return await _by_python(self._python, query)
        except PatternRefusedError as refusal:
            wrong = UsageError(
                f"the pattern is no regular expression: {refusal.message}",
                hint=r"Write a backslash before ( ) [ ] { } . * + ? | that are meant literally.",
            )
            if self._ripgrep is None:
                raise wrong from refusal
            # ripgrep knows no look-around and no back-references; Python does.
            try:
                return await _by_python(self._python, query)
            except PatternRefusedError:
                raise wrong from refusal


class _Query(Struct, frozen=True):
    folder: Path
    file: str | None
    """The only file to search, if one was named."""
    pattern: str
    accept: Accept
    limit: int
    deadline: float


async def _by_ripgrep(ripgrep: Ripgrep, query: _Query) -> tuple[list[RawLine], bool]:
    files = Listing([query.file], complete=True) if query.file else None
    if files is None:
        files = await ripgrep.matching_files(
            query.folder, query.pattern, query.accept, query.deadline
        )
    if not files.paths:
        return [], files.complete
    ordered = await asyncio.to_thread(_newest_first, query.folder, files.paths)
    # Every file holds at least one match, so no more files than lines are needed.
    lines, complete = await ripgrep.lines(
        query.folder,
        query.pattern,
        ordered[: query.limit],
        limit=query.limit,
        deadline=query.deadline,
    )
    return lines, complete and files.complete


async def _by_python(python: PythonSearch, query: _Query) -> tuple[list[RawLine], bool]:
    plain_pattern(query.pattern)
    files = Listing([query.file], complete=True) if query.file else None
    if files is None:
        files = await python.files(query.folder, query.accept, query.deadline)
    ordered = await asyncio.to_thread(_newest_first, query.folder, files.paths)
    lines, complete = await python.lines(
        query.folder, query.pattern, ordered, limit=query.limit, deadline=query.deadline
    )
    return lines, complete and files.complete


def _everything(_: str) -> bool:
    return True


def _newest_first(root: Path, paths: Iterable[str]) -> list[str]:
    stamped: list[tuple[int, str]] = []
    for path in paths:
        try:
            stamped.append((-(root / path).stat().st_mtime_ns, path))
        except OSError:
            continue  # deleted since it was found
    return [path for _, path in sorted(stamped)]


def _shown(folder: Path, raw: RawLine) -> FoundLine:
    text = raw.text.removesuffix(b"\r").decode("utf-8", "replace")
    before = len(raw.text[: raw.column - 1].decode("utf-8", "replace"))
    if before > _LINE_CHARS // 2 and len(text) > _LINE_CHARS:
        text = "…" + text[before - _LINE_CHARS // 4 :]
    return FoundLine(folder / raw.path, raw.line, cut(clean(text), _LINE_CHARS))
