"""Waits for several sessions at once: until all are at rest, or something else matters more."""

import asyncio
import time
from collections.abc import Sequence
from typing import Final, Literal

from msgspec import Struct

from roost.actors import store, turn_store
from roost.actors.ending import notice_key
from roost.actors.fenced import write_fenced
from roost.actors.models import Claim
from roost.actors.wait import SIGN_SECONDS
from roost.db.database import Database
from roost.db.transaction import Reader, Transaction
from roost.events.bus import Bus
from roost.events.types import Event
from roost.inbox import store as inbox
from roost.inbox.changes import consume
from roost.runtime.session_views import find_child, read_view
from roost.tools.actor_port import Stored
from roost.tools.session_port import Joined, SessionView

POLL_SECONDS: Final = 2.0
"""How often the end of a turn in another process is looked for."""
_NEWS: Final = frozenset({"actor.status", "turn.ended", "inbox.arrived", "actor.cancelling"})

How = Literal["rest", "steered", "cancelled", "asked"]


class _Look(Struct, frozen=True):
    how: How | None
    sessions: tuple[SessionView, ...]
    unknown: tuple[str, ...]


async def join(
    database: Database, bus: Bus, claim: Claim, session_ids: Sequence[str], seconds: float
) -> Joined:
    """Wait until every session of the caller among these is at rest, for `seconds` at most.

    Ends early when a person speaks to the caller, when it is to stop, and when news comes that a
    session asks for a permission. Raises `StaleFenceError` when its turn is lost.
    """
    deadline = time.monotonic() + seconds
    signed = time.monotonic()
    concerned = {claim.address.session_id, *session_ids}

    def concerns(event: Event) -> bool:
        return event.type in _NEWS and event.session_id in concerned

    with bus.subscribe(concerns) as news:
        while True:
            look = await database.read(lambda db: _look(db, claim, session_ids))
            left = deadline - time.monotonic()
            if look.how is not None or left <= 0:
                break
            if time.monotonic() - signed > SIGN_SECONDS:
                signed = time.monotonic()
                await write_fenced(database, claim, lambda tx: store.note_activity(tx, claim))
            try:
                await asyncio.wait_for(news.batch(0.01), min(left, POLL_SECONDS))
            except TimeoutError:
                continue
    stored = await database.read(lambda db: _spends(db, claim, look.sessions))
    return Joined(look.how or "timeout", look.sessions, look.unknown, stored)


def _look(db: Reader, claim: Claim, session_ids: Sequence[str]) -> _Look:
    own = store.check_fence(db, claim)
    found = {one: find_child(db, claim.address, one) for one in session_ids}
    known = [actor for actor in found.values() if actor is not None]
    how: How | None = None
    if all(actor.status == "idle" for actor in known):
        how = "rest"
    elif own.cancel is not None:
        how = "cancelled"
    elif inbox.has_prompt(db, claim.address):
        how = "steered"
    elif inbox.has_request(db, claim.address):
        how = "asked"
    return _Look(
        how,
        tuple(read_view(db, actor, with_result=True) for actor in known),
        tuple(one for one, actor in found.items() if actor is None),
    )


def _spends(db: Reader, claim: Claim, views: Sequence[SessionView]) -> Stored:
    """Counts the answer as the notices of the last turns of those at rest, where they wait."""
    keys: list[str] = []
    for view in views:
        actor = view.actor
        if actor.status == "idle" and actor.parent == claim.address and actor.turns:
            address = store.front(db, actor.session_id).address
            turn = turn_store.find_turn(db, address, actor.turns)
            keys += [notice_key(turn.id)] if turn is not None else []

    def stored(tx: Transaction, message_id: str) -> None:
        for key in keys:
            consume(tx, claim.address, key, message_id, claim.turn.id)

    return stored
