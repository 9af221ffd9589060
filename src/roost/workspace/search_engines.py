"""The two ways to search: ripgrep, and Python where that is not installed."""

import asyncio
import math
import os
import re
import sys
import tempfile
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from threading import Event
from typing import Final, NamedTuple

import msgspec

from roost.core.errors import UsageError
from roost.workspace.globs import Accept
from roost.workspace.program import run_program
from roost.workspace.walk import Walk

_MAX_FILES: Final = 200_000
_MAX_OUTPUT: Final = 16 * 1024 * 1024
_MAX_COLUMNS: Final = 20_000
_WORKER: Final = Path(__file__).with_name("grep_worker.py")
_CLASSES: Final = {
    "[:alpha:]": "a-zA-Z",
    "[:digit:]": "0-9",
    "[:alnum:]": "a-zA-Z0-9",
    "[:upper:]": "A-Z",
    "[:lower:]": "a-z",
    "[:space:]": r"\s",
    "[:xdigit:]": "0-9a-fA-F",
    "[:punct:]": r"!-/:-@\[-`{-~",
    "[:word:]": r"\w",
}


class Listing(NamedTuple):
    """Paths relative to the root of a search."""

    paths: list[str]
    complete: bool


class RawLine(NamedTuple):
    """A matching line as an engine reports it."""

    path: str
    line: int
    column: int
    """Of the match, in bytes, from 1."""
    text: bytes


class PatternRefusedError(UsageError):
    """The engine cannot read the regular expression."""


class _Names:
    """Collects NUL-terminated paths from a stream."""

    def __init__(self, accept: Accept) -> None:
        self.paths: list[str] = []
        self.rest = b""
        self._accept = accept

    def add(self, data: bytes) -> bool:
        """Take in more of the stream; True once there are more paths than anybody needs."""
        *names, self.rest = (self.rest + data).split(b"\x00")
        decoded = (os.fsdecode(name.removeprefix(b"./")) for name in names)
        self.paths += filter(self._accept, decoded)
        return len(self.paths) > _MAX_FILES


class Ripgrep:
    """Searches with the program `rg` at `path`."""

    def __init__(self, path: str) -> None:
        self._path = path

    async def files(self, root: Path, accept: Accept, deadline: float) -> Listing:
        """The files below `root` that `accept` takes."""
        names = _Names(accept)
        code = await self._run(root, ["--files", "--null", "./"], names, deadline)
        return Listing(names.paths, code is not None)

    async def matching_files(
        self, root: Path, pattern: str, accept: Accept, deadline: float
    ) -> Listing:
        """Those that also hold a line matching `pattern`. Raises `PatternRefusedError`."""
        names = _Names(accept)
        arguments = ["--files-with-matches", "--null", f"--regexp={pattern}", "./"]
        code = await self._run(root, arguments, names, deadline)
        if code == 2 and names.rest:
            raise PatternRefusedError(names.rest.decode("utf-8", "replace").strip())
        return Listing(names.paths, code is not None)

    async def lines(
        self, root: Path, pattern: str, files: Sequence[str], *, limit: int, deadline: float
    ) -> tuple[list[RawLine], bool]:
        """The matching lines of `files` in their order, and whether the time sufficed."""
        collected = _Lines(limit)
        # One thread keeps the order; preview columns keep a line of 1 GB from being printed.
        arguments = [
            "--line-number",
            "--column",
            "--null",
            "--with-filename",
            "--no-heading",
            "--threads=1",
            f"--max-count={limit}",
            f"--max-columns={_MAX_COLUMNS}",
            "--max-columns-preview",
            f"--regexp={pattern}",
            "--",
            *(f"./{file}" for file in files),
        ]
        code = await self._run(root, arguments, collected, deadline)
        if code == 2 and not collected.lines and collected.complaint:
            raise PatternRefusedError(collected.complaint.strip())
        return collected.lines[:limit], code is not None or collected.enough

    async def _run(
        self, root: Path, arguments: list[str], sink: "_Names | _Lines", deadline: float
    ) -> int | None:
        return await run_program(
            [self._path, *_common(root), *arguments],
            cwd=root,
            timeout=deadline - time.monotonic(),
            enough=sink.add,
        )


def _common(root: Path) -> list[str]:
    options = [
        "--no-config",
        "--hidden",
        "--no-messages",
        "--color=never",
        "--crlf",
        "--glob=!.git",
        "--no-ignore-global",
    ]
    if not any((folder / ".git").exists() for folder in (root, *root.parents)):
        # Without a repository no border would keep a ~/.gitignore from hiding everything.
        options += ["--no-require-git", "--no-ignore-parent"]
    return options


class _Lines:
    """Collects `PATH NUL LINE:COLUMN:TEXT` lines from a stream."""

    def __init__(self, limit: int) -> None:
        self.lines: list[RawLine] = []
        self.rest = b""
        self.enough = False
        self.complaint = ""
        """What is no such line: an error message."""
        self._limit = limit
        self._size = 0

    def add(self, data: bytes) -> bool:
        """Take in more of the stream; True once the limit is reached."""
        *rows, self.rest = (self.rest + data).split(b"\n")
        for row in rows:
            parsed = _parsed(row)
            if parsed is None:
                self.complaint += row.decode("utf-8", "replace") + "\n"
            else:
                self.lines.append(parsed)
        self._size += len(data)
        self.enough = len(self.lines) >= self._limit or self._size > _MAX_OUTPUT
        return self.enough


def _parsed(row: bytes) -> RawLine | None:
    path, _, found = row.partition(b"\x00")
    line, _, found = found.partition(b":")
    column, _, text = found.partition(b":")
    if not line.isdigit() or not column.isdigit():
        return None
    return RawLine(os.fsdecode(path.removeprefix(b"./")), int(line), int(column), text)


class PythonSearch:
    """Searches without any other program."""

    async def files(self, root: Path, accept: Accept, deadline: float) -> Listing:
        """The files below `root` that `accept` takes."""
        stop = Event()
        walk = Walk(root, deadline, stop)
        try:
            paths = await asyncio.to_thread(_accepted, walk.files(), accept)
        finally:
            stop.set()
        return Listing(paths, walk.complete and len(paths) <= _MAX_FILES)

    async def lines(
        self, root: Path, pattern: str, files: Iterable[str], *, limit: int, deadline: float
    ) -> tuple[list[RawLine], bool]:
        """The matching lines of `files` in their order, and whether the time sufficed."""
        collected = _Lines(limit)
        task = {
            "pattern": plain_pattern(pattern),
            "limit": limit,
            "chars": _MAX_COLUMNS,
            "seconds": max(1, math.ceil(deadline - time.monotonic()) + 1),
        }
        with tempfile.TemporaryFile() as stdin:
            stdin.write(msgspec.json.encode(task) + b"\n")
            stdin.writelines(os.fsencode(file) + b"\x00" for file in files)
            stdin.seek(0)
            code = await run_program(
                [sys.executable, "-I", "-S", "-W", "ignore", str(_WORKER)],
                cwd=root,
                timeout=deadline - time.monotonic(),
                enough=collected.add,
                stdin=stdin,
            )
        return collected.lines[:limit], code is not None or collected.enough


def plain_pattern(pattern: str) -> str:
    """`pattern` as Python's `re` reads it. Raises `PatternRefusedError`."""
    for name, characters in _CLASSES.items():
        pattern = pattern.replace(name, characters)
    try:
        with warnings.catch_warnings(action="ignore"):
            re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise PatternRefusedError(str(error)) from error
    return pattern


def _accepted(paths: Iterator[str], accept: Accept) -> list[str]:
    found: list[str] = []
    for path in paths:
        if accept(path):
            found.append(path)
            if len(found) > _MAX_FILES:
                break
    return found
