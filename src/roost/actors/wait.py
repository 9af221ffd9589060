"""Waits for a turn of another actor: by the news of this process and by looking again, since the
other may run elsewhere.

A wait is bound to the number of a turn, so one that is woken again reports its own new outcome.
"""

import asyncio
import time
from typing import Final, Literal

from msgspec import Struct

from roost.actors import store, turn_store
from roost.actors.fenced import write_fenced
from roost.actors.liveness import sign_ms
from roost.actors.models import Claim, Turn
from roost.db.database import Database
from roost.db.transaction import Reader
from roost.events.bus import Bus
from roost.events.types import Event
from roost.inbox import store as inbox
from roost.inbox.models import Address

POLL_SECONDS: Final = 2.0
"""How often the end of a turn in another process is looked for."""
SIGN_SECONDS: Final = 60.0
"""How often, at most, one who waits gives a sign of life, while the one it waits for gives them."""
_NEWS: Final = frozenset({"turn.delivered", "turn.ended", "inbox.arrived", "actor.cancelling"})

How = Literal["ended", "timeout", "steered", "asked", "cancelled"]


class Waited(Struct, frozen=True):
    """How the wait ended; the turn is given in every case where it has begun."""

    how: How
    turn: Turn | None


class Look(Struct, frozen=True):
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
    deadline = time.monotonic() + seconds
    sessions = {waiting.address.session_id, other.session_id}
    signs = _Signs(sign_ms(waiting, round(SIGN_SECONDS * 1000)) / 1000)
    with bus.subscribe(lambda event: _concerns(event, sessions)) as news:
        while True:
            look = await database.read(lambda db: _look(db, waiting, other, number))
            if look.how is not None:
                return Waited(look.how, look.turn)
            if (left := deadline - time.monotonic()) <= 0:
                return Waited("timeout", look.turn)
            if signs.due(look.stirred):
                await write_fenced(database, waiting, lambda tx: store.note_activity(tx, waiting))
            try:
                await asyncio.wait_for(news.batch(), min(left, POLL_SECONDS))
            except TimeoutError:
                continue


class _Signs:
    """When the one who waits gives a sign of life of its own."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._last = time.monotonic()
        self._stirred: int = 0

    def due(self, stirred: int) -> bool:
        """Whether it is time, and the other has stirred since the last time."""
        if time.monotonic() - self._last < self._seconds or stirred == self._stirred:
            return False
        self._last, self._stirred = time.monotonic(), stirred
        return True


def _concerns(event: Event, sessions: set[str]) -> bool:
    return event.type in _NEWS and event.session_id in sessions


def _look(db: Reader, waiting: Claim, other: Address, number: int) -> Look:
    own = store.check_fence(db, waiting)
    actor = store.get(db, other)
    turn = turn_store.find_turn(db, other, number)
    how: How | None = None
    if turn is not None and turn.outcome is not None:
        how = "ended"
    elif own.cancel is not None:
        how = "cancelled"
    elif inbox.has_prompt(db, waiting.address):
        how = "steered"
    elif inbox.has_request(db, waiting.address):
        how = "asked"
    return Look(how, turn, actor.last_activity)
