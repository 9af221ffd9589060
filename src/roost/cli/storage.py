"""What every command but `run` starts with: the user's folders, the log, the database."""

import asyncio
import os
from collections.abc import Callable, Coroutine, Generator, Mapping
from contextlib import contextmanager
from typing import Any

from msgspec import Struct

from roost.cli.failures import tell
from roost.cli.log import Log, LogOptions, logging_to
from roost.cli.secrets import secrets_in
from roost.cli.states import Watch, owners_folder
from roost.config.paths import Paths, roost_paths
from roost.core.text import terminal_safe
from roost.db.database import Database
from roost.events.bus import Bus


class Home(Struct, frozen=True):
    """The environment of a command, the user's folders, the running log."""

    environ: Mapping[str, str]
    paths: Paths
    log: Log

    def watch(self) -> Watch:
        """Tells which processes of the user live."""
        return Watch(owners_folder(self.paths.state))


@contextmanager
def at_home(given: Mapping[str, Any]) -> Generator[Home]:
    """The user's folders, made if need be, with the log that the command line asks for.

    Raises `ConfigError` for folders that cannot be used.
    """
    environ = dict(os.environ)
    paths = roost_paths(environ)
    paths.prepare()
    options = LogOptions.of(given, environ)
    with logging_to(paths.data, options, secrets=secrets_in(environ)) as log:
        yield Home(environ, paths, log)


@contextmanager
def database_of(home: Home) -> Generator[Database]:
    """The user's database, without anything that runs actors. Raises `StorageError`."""
    database = Database.open(home.paths.database, Bus())
    tell_notes(database)
    try:
        yield database
    finally:
        database.close()


def tell_notes(database: Database) -> None:
    """What the user must hear of the database itself, for example that a damaged one lies aside."""
    for note in database.notes:
        tell(terminal_safe(note) + "\n")


def run_at_home(given: Mapping[str, Any], work: Callable[[Home], Coroutine[Any, Any, int]]) -> int:
    """Run `work` on an event loop and give its exit code."""
    with at_home(given) as home:
        return asyncio.run(work(home))
