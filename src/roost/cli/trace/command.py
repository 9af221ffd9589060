"""`roost trace`: shows turns once, or one as it grows."""

import os
import shutil
import sys
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

from roost.cli.failures import tell
from roost.cli.secrets import redact, secrets_in, secrets_of
from roost.cli.states import Watch
from roost.cli.storage import Home, database_of, run_at_home
from roost.cli.terminal import is_terminal, look_of
from roost.cli.trace.choosing import Wish, find, find_all
from roost.cli.trace.following import Follower
from roost.cli.trace.reading import Rows
from roost.cli.trace.showing import JsonLines, Screen, Text
from roost.cli.trace.timeline import timeline
from roost.cli.trusting import load_config
from roost.core.clock import now_ms
from roost.core.errors import RoostError, UsageError

WIDTH: Final = 120
"""Cells of a line where nobody says how many there are."""


class TraceOptions(Struct, frozen=True, kw_only=True):
    """The command line of `roost trace`."""

    what: str | None = None
    session: str | None = None
    actor: str | None = None
    follow: bool = False
    all: bool = False
    format: Literal["text", "json"] = "text"
    dir: str | None = None

    @property
    def wish(self) -> Wish:
        """Which turn is meant."""
        return Wish(what=self.what, session=self.session, actor=self.actor, dir=self.dir)


def execute(given: dict[str, Any]) -> int:
    """Print the timeline. Raises `NotFoundError` and `UsageError`."""
    options = msgspec.convert(given, TraceOptions)
    if options.follow and options.all:
        raise UsageError("--follow shows one turn", hint="Leave out --all.")
    return run_at_home(given, lambda home: _show(home, options))


async def _show(home: Home, options: TraceOptions) -> int:
    watch = home.watch()
    with database_of(home) as database:
        wish = options.wish
        if not options.follow:
            found = await database.read(
                lambda db: find_all(db, wish) if options.all else [find(db, wish)]
            )
            screen = _screen(options, found, home)
            for rows in found:
                line = timeline(rows, alive=is_alive(watch, rows), now=now_ms())
                screen.begin(line.head)
                screen.add(line.entries)
                screen.end(line.head)
            return 0
        first = await database.read(lambda db: find(db, wish))
        screen = _screen(options, [first], home)
        await Follower(database, screen, lambda rows: is_alive(watch, rows)).follow(first)
    return 0


def is_alive(watch: Watch, rows: Rows) -> bool:
    """Whether a process is there that goes on with the turn."""
    actor = rows.actor
    return actor is not None and actor.current_turn == rows.turn.id and watch.is_running(actor)


def _screen(options: TraceOptions, found: list[Rows], home: Home) -> Screen:
    secrets = _secrets(found, home)

    def hide(text: str) -> str:
        return redact(text, secrets)

    if options.format == "json":
        return JsonLines(hide)
    look, follows = look_of(sys.stdout, os.environ), options.follow
    return Text(_size, look, hide, follows=follows, live=follows and is_terminal(sys.stdout))


def _size() -> os.terminal_size:
    return shutil.get_terminal_size((WIDTH, 24))


def _secrets(found: list[Rows], home: Home) -> frozenset[str]:
    """What must not be shown: the keys in the environment, and those of the projects' providers."""
    known = secrets_in(home.environ)
    for folder in {Path(rows.session.directory) for rows in found}:
        known |= _of_project(folder, home)
    return known


def _of_project(folder: Path, home: Home) -> frozenset[str]:
    try:
        loaded = load_config(folder, home.environ, home.paths)
    except RoostError as error:
        tell(f"note: keys in the configuration of {folder} are not known: {error.message}\n")
        return frozenset()
    return secrets_of(loaded.config, home.environ)
