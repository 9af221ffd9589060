"""`roost sessions delete`: asks first, never takes a session from a process that works in it."""

import asyncio
import sys
import time
from typing import Any, Final

import msgspec
from msgspec import Struct

from roost.actors.cancel import request_cancel
from roost.actors.models import Actor
from roost.actors.owner import process_number
from roost.cli.failures import tell
from roost.cli.sessions.naming import named
from roost.cli.states import Watch
from roost.cli.storage import Home, database_of, run_at_home
from roost.cli.terminal import is_terminal
from roost.core.errors import BusyError, UsageError
from roost.core.text import terminal_safe
from roost.db.database import Database
from roost.db.transaction import Reader, Transaction
from roost.memory.layout import Layout
from roost.runtime.deleting import forget_notes, remove_empty, require_nothing_held, trees_within
from roost.sessions import store as sessions
from roost.sessions.models import Session

STOP_SECONDS: Final = 30.0
"""Longest wait for other processes to stop: twice the lease of one that has gone silent."""
_LOOK_SECONDS: Final = 0.1


class DeleteOptions(Struct, frozen=True, kw_only=True):
    """The command line of `roost sessions delete`."""

    session: str
    yes: bool = False
    force: bool = False


def execute(given: dict[str, Any]) -> int:
    """Delete one session for good.

    Raises `NotFoundError`, `UsageError`, and `BusyError` for one that a process works in.
    """
    options = msgspec.convert(given, DeleteOptions)
    return run_at_home(given, lambda home: _delete(home, options))


async def _delete(home: Home, options: DeleteOptions) -> int:
    watch = home.watch()
    with database_of(home) as database:
        session = await database.read(lambda db: named(db, options.session))
        running = await database.read(lambda db: _running(db, session, watch))
        if running and not options.force:
            raise _busy(session, running, watch)
        trees = await trees_within(database, session.id)
        within = await database.read(lambda db: _tree(db, session.id))
        if not options.force:
            await require_nothing_held(trees, session.id)
        if not options.yes and not _agreed(session):
            tell("nothing was deleted\n")
            return 1
        if options.force:
            await _stop_and_remove(database, session, watch)
        else:
            await database.write(lambda tx: _remove(tx, session, watch))
        await forget_notes(Layout(home.paths.data), within)
        kept = await remove_empty(trees)
    tell(f"deleted {session.id}\n")
    for tree in kept:
        tell(f"note: left {tree}\n")
    return 0


def _remove(tx: Transaction, session: Session, watch: Watch) -> None:
    """In one transaction with the last look, so that nobody can begin to work in between."""
    if running := _running(tx, session, watch):
        raise _busy(session, running, watch)
    sessions.delete(tx, session.id)


def _running(db: Reader, session: Session, watch: Watch) -> list[Actor]:
    return watch.running(db, _tree(db, session.id))


def _tree(db: Reader, session_id: str) -> list[str]:
    """The session and all below it, since they are deleted together."""
    below = [one for child in sessions.children(db, session_id) for one in _tree(db, child.id)]
    return [session_id, *below]


def _busy(session: Session, running: list[Actor], watch: Watch) -> BusyError:
    owners = sorted({actor.owner for actor in running if actor.owner})
    numbers = [n for n in (process_number(watch.owners, owner) for owner in owners) if n]
    who = f"process {', '.join(map(str, numbers))}" if numbers else "another process"
    return BusyError(
        f"{who} is at work in session {session.id}, so it was not deleted",
        hint="Wait for its end or stop it there (Ctrl-C). To stop that work and delete the"
        f" session: roost sessions delete {session.id} --force",
    )


async def _stop_and_remove(database: Database, session: Session, watch: Watch) -> None:
    """Ask whoever works in the session to stop, and delete it as soon as nobody does.

    A process that does not even answer that loses the session when its lease ends. Raises
    `BusyError` when the work goes on all the same.
    """

    def ask_or_remove(tx: Transaction) -> list[Actor]:
        running = _running(tx, session, watch)
        for actor in running:
            request_cancel(tx, actor.address, "forced")
        if not running:
            sessions.delete(tx, session.id)
        return running

    end = time.monotonic() + STOP_SECONDS
    told = False
    while running := await database.write(ask_or_remove):
        if time.monotonic() > end:
            raise _busy(session, running, watch)
        if not told:
            tell("stopping the work in it …\n")
            told = True
        await asyncio.sleep(_LOOK_SECONDS)


def _agreed(session: Session) -> bool:
    """Whether the person at the terminal says yes. Raises `UsageError` when there is none."""
    if not is_terminal(sys.stdin):
        raise UsageError("nobody can be asked whether to delete it", hint="Say so with --yes.")
    tell(f"Delete “{terminal_safe(session.title)}” ({session.id}) for good? [y/N] ")
    return sys.stdin.readline().strip().lower() in {"y", "yes"}
