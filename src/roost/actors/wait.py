"""Waits for a turn of another actor: by the news of this process and by looking again, since the
other may run elsewhere.

A wait is bound to the number of a turn, so one that is woken again reports its own new outcome.
"""

import time
from collections.abc import Awaitable, Callable
from typing import Final, Literal

from msgspec import Struct

from roost.actors import store, turn_store
from roost.actors.fenced import write_fenced
from roost.actors.liveness import sign_ms
from roost.actors.models import Actor, Claim, Turn
from roost.db.database import Database
from roost.db.transaction import Reader
from roost.db.watching import until
from roost.events.bus import Bus
from roost.events.types import Event
from roost.inbox import store as inbox
from roost.inbox.models import Address

POLL_SECONDS: Final = 2.0
"""How often the end of a turn in another process is looked for."""
SIGN_SECONDS: Final = 60.0
"""How often, at most, one who waits gives a sign of life, while the one it waits for gives them."""
_NEWS: Final = frozenset({"turn.delivered", "turn.ended", "inbox.arrived", "actor.cancelling"})

Wanted = Literal["steered", "asked", "cancelled"]
"""Why a wait ends before what it is for. `steered`: a person spoke to the one who waits; `asked`: a
session that it directs asks it for a permission; `cancelled`: it was asked to stop."""
How = Literal["ended", "timeout", Wanted]
"""How a wait for a turn ends. `ended`: the turn has its outcome."""
JoinHow = Literal["rest", "timeout", Wanted]
"""How a wait for several sessions ends. `rest`: none of them works."""


class Waited(Struct, frozen=True):
    """How the wait ended; the turn is given in every case where it has begun."""

    how: How
    turn: Turn | None


class _Look(Struct, frozen=True):
    """What one look at the database shows."""

    how: How | None
    turn: Turn | None
    stirred: int
    """The last sign of life of the other."""


async def wait_for_turn(
    database: Database,
    bus: Bus,
    waiting: Claim,
    other: Address,
    number: int,
    seconds: float,
) -> Waited:
    """Wait until turn `number` of `other` has its outcome, at most so long.

    Ends early when a person speaks to the one who waits or wants it to stop, and when a request for
    a permission reaches it, which it could not answer while it waits. Raises
    `NotFoundError` if the other is removed, `StaleFenceError` when the turn that waits is lost.
    """
    give_sign = signs(database, waiting)
    look = await until(
        database,
        bus,
        lambda db: _look(db, waiting, other, number),
        lambda look: look.how is not None,
        concerns=about({waiting.address.session_id, other.session_id}, _NEWS),
        poll=POLL_SECONDS,
        seconds=seconds,
        each=lambda look: give_sign(look.stirred),
    )
    return Waited(look.how or "timeout", look.turn)


def signs(database: Database, waiting: Claim) -> Callable[[int], Awaitable[None]]:
    """Lets one who waits give signs of life of its own, as often as its limits ask for.

    To be called at every look, with the last sign of life of those that are waited for: there is
    one from the waiting only where they have given one since. Raises `StaleFenceError`.
    """
    every = sign_ms(waiting, round(SIGN_SECONDS * 1000)) / 1000
    last, known = time.monotonic(), 0

    async def give(stirred: int) -> None:
        nonlocal last, known
        if time.monotonic() - last < every or stirred == known:
            return
        last, known = time.monotonic(), stirred
        await write_fenced(database, waiting, lambda tx: store.note_activity(tx, waiting))

    return give


def about(sessions: set[str], kinds: frozenset[str]) -> Callable[[Event], bool]:
    """Whether an event is of one of `kinds`, in one of `sessions`."""
    return lambda event: event.type in kinds and event.session_id in sessions


def wanted(db: Reader, own: Actor) -> Wanted | None:
    """Why an actor that waits is to wait no longer, if it is."""
    if own.cancel is not None:
        return "cancelled"
    if inbox.has_prompt(db, own.address):
        return "steered"
    return "asked" if inbox.has_request(db, own.address) else None


def _look(db: Reader, waiting: Claim, other: Address, number: int) -> _Look:
    own = store.check_fence(db, waiting)
    actor = store.get(db, other)
    turn = turn_store.find_turn(db, other, number)
    ended = turn is not None and turn.outcome is not None
    return _Look("ended" if ended else wanted(db, own), turn, actor.last_activity)
