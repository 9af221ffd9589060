"""`roost actors`: who is at work, once or again every second."""

import asyncio
import os
import shutil
import sys
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

from roost.cli.actors.crew import Member, crew
from roost.cli.actors.tree import tree_lines
from roost.cli.failures import tell
from roost.cli.sessions.naming import named
from roost.cli.states import Watch
from roost.cli.storage import Home, database_of, run_at_home
from roost.cli.table import as_json, cut_to, cut_words
from roost.cli.terminal import columns_of, is_terminal, look_of
from roost.db.database import Database
from roost.sessions import store as sessions

SECONDS: Final = 1.0
"""Between two pictures of `--watch`."""
NOBODY: Final = "Nobody is at work; --all shows those that sleep, too."
NOT_EVEN_ASLEEP: Final = "There are no actors yet."


class ActorsOptions(Struct, frozen=True, kw_only=True):
    """The command line of `roost actors`."""

    session: str | None = None
    all: bool = False
    max_count: int = 20
    format: Literal["text", "json"] = "text"
    watch: bool = False


def execute(given: dict[str, Any]) -> int:
    """Print the tree. Raises `NotFoundError` and `UsageError` for the session."""
    options = msgspec.convert(given, ActorsOptions)
    return run_at_home(given, lambda home: _list(home, options))


async def _list(home: Home, options: ActorsOptions) -> int:
    watch = home.watch()
    with database_of(home) as database:
        if options.watch and options.format == "text" and is_terminal(sys.stdout):
            await _follow(database, watch, options)
        else:
            _print(await _read(database, watch, options), options)
            await _tell_of_others(database, options)
    return 0


async def _tell_of_others(database: Database, options: ActorsOptions) -> None:
    """Say that there are more sessions than those whose sleeping actors are shown."""
    if options.all and options.session is None:
        there_are = await database.read(sessions.count)
        if there_are > options.max_count:
            tell(f"the actors of {cut_words(options.max_count, there_are, 'session')}")


async def _read(database: Database, watch: Watch, options: ActorsOptions) -> list[Member]:
    word = options.session
    session = None if word is None else await database.read(lambda db: named(db, word))
    return await database.read(
        lambda db: crew(
            db,
            watch,
            session_id=session.id if session else None,
            sleeping=options.all,
            most=options.max_count,
        )
    )


def _print(members: list[Member], options: ActorsOptions) -> None:
    if options.format == "json":
        print(as_json([details(member) for member in members]))
    elif members:
        print("\n".join(_lines(members)))
    else:
        tell(f"{_nobody(options)}\n")


def _nobody(options: ActorsOptions) -> str:
    return NOT_EVEN_ASLEEP if options.all else NOBODY


def details(member: Member) -> dict[str, Any]:
    """An actor as the server's routes show it, with what a list adds."""
    return {
        **msgspec.to_builtins(member.view),
        "title": member.title,
        "directory": member.directory,
        "process": member.process,
        "state": member.state,
        "requests": member.requests,
        "wants": member.wants,
    }


def _lines(members: list[Member]) -> list[str]:
    look = look_of(sys.stdout, os.environ)
    width = columns_of(sys.stdout)
    lines = tree_lines(members, unicode=look.unicode, width=width)
    return lines if width is None else [cut_to(line, width) for line in lines]


async def _follow(database: Database, watch: Watch, options: ActorsOptions) -> None:
    """Draw again every second, over the picture before, until the user ends it."""
    drawn = 0
    while True:
        members = await _read(database, watch, options)
        lines = _lines(members) if members else [_nobody(options)]
        room = max(2, shutil.get_terminal_size().lines - 1)
        if len(lines) > room:
            lines = [*lines[: room - 1], f"… {len(lines) - room + 1} more"]
        back = f"\x1b[{drawn}F" if drawn else ""
        sys.stdout.write(f"{back}\x1b[J" + "\n".join(lines) + "\n")
        sys.stdout.flush()
        drawn = len(lines)
        await asyncio.sleep(SECONDS)
