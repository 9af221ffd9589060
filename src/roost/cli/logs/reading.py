"""Reads the log: its newest lines, and what is added to it, whoever writes it."""

import contextlib
import os
import re
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct

from roost.cli.logs.file import files_of

_RANKS: Final = {"DEBUG": 0, "INFO": 1, "WARN": 2, "ERROR": 3}
_AS_TEXT: Final = re.compile(
    r"(?P<time>\d{4}-\S+Z) (?P<level>DEBUG|INFO|WARN|ERROR) +(?P<logger>[^ :]+): (?P<message>.*)"
)
_ID: Final = re.compile(r"  ?(session|actor|turn|step)=(\S+)")
_decoder: Final = msgspec.json.Decoder(dict[str, Any])
BLOCK: Final = 1_048_576
"""Bytes that are read at once."""


class Line(Struct, frozen=True):
    """One line of the log."""

    raw: str
    fields: dict[str, Any] | None
    """None: it goes on with the one before it, or is what a dying interpreter wrote."""


def parse(raw: str) -> Line:
    """A line of either format."""
    if raw.startswith("{"):
        try:
            return Line(raw, _decoder.decode(raw))
        except (msgspec.DecodeError, RecursionError):
            return Line(raw, None)
    if (found := _AS_TEXT.match(raw)) is None:
        return Line(raw, None)
    ids = {one[1]: one[2] for one in _ID.finditer(found["message"])}
    return Line(raw, {**found.groupdict(), **ids})


class Choice:
    """Which lines are wanted. What goes on with a line is wanted if that is."""

    def __init__(self, *, level: str = "DEBUG", session: str | None = None) -> None:
        self._rank = _RANKS[level]
        self._starts = () if session is None else (session, f"ses_{session}")
        self._last = session is None

    def wants(self, line: Line) -> bool:
        """Whether `line` is to be shown. To be asked of each line in order."""
        if line.fields is not None:
            important = _RANKS.get(str(line.fields.get("level")), 0) >= self._rank
            about = str(line.fields.get("session", ""))
            self._last = important and (not self._starts or about.startswith(self._starts))
        return self._last


def newest(lines: Iterable[Line], count: int, choice: Choice) -> list[Line]:
    """The last `count` records that are wanted, each with what goes on with it."""
    found: deque[list[Line]] = deque(maxlen=count)
    for line in filter(choice.wants, lines):
        if line.fields is not None or not found:
            found.append([])
        found[-1].append(line)
    return [line for record in found for line in record]


class Tail:
    """The lines of a log, those that are there and those that come, across the files that are set
    aside meanwhile.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None
        self._rest = b""
        self._read_before: set[tuple[int, int]] = set()
        """Device and number of the files that were begun."""

    def new_lines(self) -> Iterator[Line]:
        """The lines that are whole by now and were not given before."""
        newer = self._newer()
        yield from self._read()
        for path in newer:
            self._turn_to(path)
            yield from self._read()

    def _newer(self) -> list[Path]:
        """The files that were not read yet, the oldest first."""
        files: list[tuple[Path, tuple[int, int]]] = []
        for path in files_of(self._path):
            with contextlib.suppress(FileNotFoundError):
                found = path.stat()
                files.append((path, (found.st_dev, found.st_ino)))
        there = {identity for _, identity in files}
        self._read_before &= there  # the number of one that is gone may be another one's by now
        newer = [path for path, identity in files if identity not in self._read_before]
        self._read_before |= there
        return newer[::-1]

    def _turn_to(self, path: Path) -> None:
        self.close()
        with contextlib.suppress(FileNotFoundError):  # it was set aside once more, and is gone
            self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def _read(self) -> Iterator[Line]:
        while self._descriptor is not None and (data := os.read(self._descriptor, BLOCK)):
            *whole, self._rest = (self._rest + data).split(b"\n")
            for line in whole:
                yield parse(line.decode("utf-8", "replace"))

    def close(self) -> None:
        """Let go of the file."""
        if self._descriptor is not None:
            os.close(self._descriptor)
        self._descriptor = None
        self._rest = b""
