"""`roost log`: what the processes of the user wrote down, and what they write now."""

import asyncio
import os
import sys
from datetime import datetime
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

from roost.cli.failures import tell
from roost.cli.log import Level
from roost.cli.logs.lines import as_text
from roost.cli.logs.reading import Choice, Line, Tail, newest
from roost.cli.storage import Home, run_at_home
from roost.cli.terminal import Colour, Look, is_terminal, look_of
from roost.core import log_fields
from roost.core.text import terminal_safe

POLL_SECONDS: Final = 0.3
_COLOURS: Final[dict[str, Colour]] = {"ERROR": "red", "WARN": "yellow", "DEBUG": "dim"}
_ID: Final = 12
"""Characters of an id that a terminal shows: enough to name it."""
_HEAD: Final = frozenset({"time", "level", "logger", "message", "pid", "error", *log_fields.NAMES})


class LogCommandOptions(Struct, frozen=True, kw_only=True):
    """The command line of `roost log`."""

    max_count: int = 50
    session: str | None = None
    """Its id, or the beginning of it."""
    level: Level = "DEBUG"
    follow: bool = False
    format: Literal["text", "json"] = "text"


def execute(given: dict[str, Any]) -> int:
    """Print lines of the log, the newest last."""
    options = msgspec.convert(given, LogCommandOptions)
    return run_at_home(given, lambda home: _show(home, options))


async def _show(home: Home, options: LogCommandOptions) -> int:
    choice = Choice(level=options.level, session=options.session)
    printer = _Printer(options.format)
    tail = Tail(home.log.path)
    lines = newest(tail.new_lines(), options.max_count, choice)
    printer.show(lines)
    if not lines and not options.follow:
        tell(f"There is nothing of that kind in {home.log.path}.\n")
    while options.follow:
        await asyncio.sleep(POLL_SECONDS)
        printer.show([line for line in tail.new_lines() if choice.wants(line)])
    return 0


class _Printer:
    def __init__(self, shape: Literal["text", "json"]) -> None:
        self._shape = shape
        self._is_terminal = is_terminal(sys.stdout)
        self._look = look_of(sys.stdout, os.environ)

    def show(self, lines: list[Line]) -> None:
        if lines:
            print("\n".join(map(self._shown, lines)), flush=True)

    def _shown(self, line: Line) -> str:
        if self._shape == "json":
            told = line.fields if line.fields is not None else {"message": line.raw}
            return msgspec.json.encode(told).decode()
        if line.fields is None:
            return terminal_safe(line.raw)
        if not self._is_terminal:
            return terminal_safe(line.raw if "pid" not in line.fields else as_text(line.fields))
        return _for_people(line.fields, self._look)


def _for_people(fields: dict[str, Any], look: Look) -> str:
    """A line in local time with short ids, which are enough to name a session or a turn."""
    level = str(fields.get("level", ""))
    ids = [f"{fields[name]!s:.{_ID}}" for name in log_fields.NAMES if name in fields]
    rest = [f"{name}={value}" for name, value in fields.items() if name not in _HEAD]
    about = look.paint(
        terminal_safe("  ".join(filter(None, [" ".join(rest), "/".join(ids)]))), "dim"
    )
    head = f"{look.paint(_local(str(fields.get('time', ''))), 'dim')} {level:<5}"
    words = terminal_safe(f"{fields.get('message', '')}")
    if colour := _COLOURS.get(level):
        words = look.paint(words, colour)
    error = terminal_safe(str(fields.get("error", "")))
    below = "".join(f"\n    {line}" for line in error.split("\n")) if error else ""
    return f"{head} {words}{f'  {about}' if about else ''}{below}"


def _local(moment: str) -> str:
    try:
        return f"{datetime.fromisoformat(moment).astimezone():%m-%d %H:%M:%S}"
    except ValueError:
        return moment
