"""`roost actors cancel`: stops an actor wherever it runs."""

import asyncio
import time
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

from roost.actors import claim as claims
from roost.actors import store as actors
from roost.actors.cancel import stop
from roost.actors.limits import ActorLimits
from roost.actors.models import Actor
from roost.actors.owner import has_died, process_number
from roost.actors.unheard import end_unheard
from roost.cli.actors.naming import named_actor
from roost.cli.failures import tell
from roost.cli.states import Watch
from roost.cli.storage import Home, database_of, run_at_home
from roost.cli.table import as_json
from roost.db.database import Database
from roost.db.transaction import Reader, Transaction

STOP_SECONDS: Final = 6.0
"""How long the end is waited for: other processes look for stops every two seconds."""
_LOOK_SECONDS: Final = 0.1


class CancelOptions(Struct, frozen=True, kw_only=True):
    """The command line of `roost actors cancel`."""

    actor: str
    session: str | None = None
    force: bool = False
    tree: bool = False
    format: Literal["text", "json"] = "text"


class _Stopped(Struct, frozen=True):
    """What has become of one that was told to stop."""

    actor: Actor
    """As it was when it was told."""
    now: Actor | None

    @property
    def name(self) -> str:
        """SESSION/ACTOR."""
        return f"{self.actor.session_id}/{self.actor.actor_id}"

    @property
    def is_over(self) -> bool:
        """It has stopped."""
        return self.now is None or self.now.cancel is None


def execute(given: dict[str, Any]) -> int:
    """Stop an actor; 0 also where it was not at work.

    Raises `NotFoundError` and `UsageError` for one that is not clear.
    """
    options = msgspec.convert(given, CancelOptions)
    return run_at_home(given, lambda home: _cancel(home, options))


async def _cancel(home: Home, options: CancelOptions) -> int:
    watch = home.watch()
    with database_of(home) as database:
        marked = await database.write(lambda tx: _stop(tx, options, watch))
        await _wait(database, marked, watch)
        told = await database.read(
            lambda db: [_Stopped(one, actors.find(db, one.address)) for one in marked]
        )
    if options.format == "json":
        print(as_json([_details(one) for one in told]))
        return 0
    print("\n".join(_line(one, watch) for one in told) or f"{options.actor} is not at work")
    if not options.force and any(_takes_its_last_step(one) for one in told):
        tell("What is stopping finishes its last step first; --force stops it at once.\n")
    return 0


def _takes_its_last_step(one: _Stopped) -> bool:
    return not one.is_over and one.now is not None and one.now.status == "running"


def _stop(tx: Transaction, options: CancelOptions, watch: Watch) -> list[Actor]:
    actor = named_actor(tx, options.actor, options.session)
    if actor is None:
        return []
    mode = "forced" if options.force else "graceful"
    marked = stop(tx, actor.address, mode, tree=options.tree, due=True)
    for one in marked:
        # Whose process is gone nobody would stop: its turn is closed here, as cancelled.
        if one.status == "running":
            claims.recover_actor(
                tx, one.address, lambda owner: has_died(watch.owners, owner), ActorLimits()
            )
    return marked


async def _wait(database: Database, marked: list[Actor], watch: Watch) -> None:
    """Return when all have stopped, or the time is up.

    What nobody has begun is ended here: at once if no process lives that could, or when the time is
    up, since then none takes it up.
    """
    stopped = [one.address for one in marked]

    def left(db: Reader) -> bool:
        found = (actors.find(db, one) for one in stopped)
        return any(one is not None and one.cancel is not None for one in found)

    is_run = watch.others() or any(one.status == "running" for one in marked)
    end = time.monotonic() + (STOP_SECONDS if is_run else 0)
    while await database.read(left):
        if time.monotonic() >= end:
            await database.write(lambda tx: [end_unheard(tx, one) for one in stopped])
            return
        await asyncio.sleep(_LOOK_SECONDS)


def _details(one: _Stopped) -> dict[str, Any]:
    return {
        "sessionID": one.actor.session_id,
        "actorID": one.actor.actor_id,
        "stopped": one.is_over,
    }


def _line(one: _Stopped, watch: Watch) -> str:
    if one.is_over or one.now is None:
        return f"{one.name} has stopped"
    number = process_number(watch.owners, one.now.owner) if one.now.owner else None
    who = f"process {number}" if number else "its process"
    return f"{one.name} is stopping; {who} runs it"
