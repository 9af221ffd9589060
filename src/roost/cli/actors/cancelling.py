"""`roost actors cancel`: stops an actor wherever it runs."""

import asyncio
import time
from typing import Any, Final

import msgspec
from msgspec import Struct

from roost.actors import claim as claims
from roost.actors import store as actors
from roost.actors.cancel import stop
from roost.actors.limits import ActorLimits
from roost.actors.models import Actor
from roost.actors.owner import has_died, process_number
from roost.cli.actors.naming import named_actor
from roost.cli.failures import tell
from roost.cli.states import Watch
from roost.cli.storage import Home, database_of, run_at_home
from roost.db.database import Database
from roost.db.transaction import Reader, Transaction
from roost.inbox.models import Address

STOP_SECONDS: Final = 6.0
"""How long the end is waited for: other processes look for stops every two seconds."""
_LOOK_SECONDS: Final = 0.1


class CancelOptions(Struct, frozen=True, kw_only=True):
    """The command line of `roost actors cancel`."""

    actor: str
    session: str | None = None
    force: bool = False
    tree: bool = False


def execute(given: dict[str, Any]) -> int:
    """Stop an actor. Raises `NotFoundError` and `UsageError` for one that is not clear."""
    options = msgspec.convert(given, CancelOptions)
    return run_at_home(given, lambda home: _cancel(home, options))


async def _cancel(home: Home, options: CancelOptions) -> int:
    watch = home.watch()
    with database_of(home) as database:
        marked = await database.write(lambda tx: _stop(tx, options, watch))
        if not marked:
            print(f"{options.actor} is not at work")
            return 0
        await _wait(database, [one.address for one in marked])
        for line in await database.read(lambda db: [_line(db, one, watch) for one in marked]):
            print(line)
        if not options.force and await database.read(lambda db: _is_stopping(db, marked)):
            tell("What is stopping finishes its last step first; --force stops it at once.\n")
    return 0


def _is_stopping(db: Reader, marked: list[Actor]) -> bool:
    found = (actors.find(db, one.address) for one in marked)
    return any(one.cancel is not None and one.status == "running" for one in found if one)


def _stop(tx: Transaction, options: CancelOptions, watch: Watch) -> list[Actor]:
    actor = named_actor(tx, options.actor, options.session)
    mode = "forced" if options.force else "graceful"
    marked = stop(tx, actor.address, mode, tree=options.tree, due=True)
    for one in marked:
        # Whose process is gone nobody would stop: its turn is closed here, as cancelled.
        if one.status == "running":
            claims.recover_actor(
                tx, one.address, lambda owner: has_died(watch.owners, owner), ActorLimits()
            )
    return marked


async def _wait(database: Database, stopped: list[Address]) -> None:
    """Return when all have stopped, or the time is up."""

    def left(db: Reader) -> bool:
        found = (actors.find(db, one) for one in stopped)
        return any(one is not None and one.cancel is not None for one in found)

    end = time.monotonic() + STOP_SECONDS
    while await database.read(left):
        if time.monotonic() > end:
            return
        await asyncio.sleep(_LOOK_SECONDS)


def _line(db: Reader, marked: Actor, watch: Watch) -> str:
    name = f"{marked.session_id}/{marked.actor_id}"
    now = actors.find(db, marked.address)
    if now is None or now.cancel is None:
        return f"{name} has stopped"
    if now.status == "pending":
        return f"{name} was still to run; it ends as soon as a process takes its session up"
    number = process_number(watch.owners, now.owner) if now.owner else None
    who = f"process {number}" if number else "its process"
    return f"{name} is stopping; {who} runs it"
