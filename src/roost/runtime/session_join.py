"""Waits for several sessions at once: until all are at rest, or something else matters more."""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from roost.actors import store, turn_store
from roost.actors.ending import notice_key
from roost.actors.models import Actor, Claim
from roost.actors.wait import POLL_SECONDS, JoinHow, about, signs, wanted
from roost.db.database import Database
from roost.db.transaction import Reader, Transaction
from roost.db.watching import until
from roost.events.bus import Bus
from roost.inbox.changes import consume
from roost.runtime.session_views import find_child, read_view
from roost.tools.actor_port import Stored
from roost.tools.session_port import Joined, SessionView

_NEWS: Final = frozenset({"actor.status", "turn.ended", "inbox.arrived", "actor.cancelling"})
_WINDOW: Final = 0.01
"""Seconds in which news of several sessions counts as one."""


class _Look(Struct, frozen=True):
    how: JoinHow | None
    stirred: int
    """The last sign of life of any of them."""


async def join(
    database: Database, bus: Bus, claim: Claim, session_ids: Sequence[str], seconds: float
) -> Joined:
    """Wait until every session of the caller among these is at rest, for `seconds` at most.

    Ends early when a person speaks to the caller, when it is to stop, and when news comes that a
    session asks for a permission. Raises `StaleFenceError` when its turn is lost.
    """
    give_sign = signs(database, claim)
    look = await until(
        database,
        bus,
        lambda db: _look(db, claim, session_ids),
        lambda look: look.how is not None,
        concerns=about({claim.address.session_id, *session_ids}, _NEWS),
        poll=POLL_SECONDS,
        seconds=seconds,
        window=_WINDOW,
        each=lambda look: give_sign(look.stirred),
    )
    how = look.how or "timeout"
    return await database.read(lambda db: _joined(db, claim, session_ids, how))


def _known(db: Reader, claim: Claim, session_ids: Sequence[str]) -> dict[str, Actor]:
    found = {one: find_child(db, claim.address, one) for one in session_ids}
    return {one: actor for one, actor in found.items() if actor is not None}


def _look(db: Reader, claim: Claim, session_ids: Sequence[str]) -> _Look:
    own = store.check_fence(db, claim)
    known = _known(db, claim, session_ids).values()
    rest = all(actor.status == "idle" for actor in known)
    stirred = max((actor.last_activity for actor in known), default=0)
    return _Look("rest" if rest else wanted(db, own), stirred)


def _joined(db: Reader, claim: Claim, session_ids: Sequence[str], how: JoinHow) -> Joined:
    known = _known(db, claim, session_ids)
    views = tuple(read_view(db, actor, with_result=True) for actor in known.values())
    unknown = tuple(one for one in session_ids if one not in known)
    return Joined(how, views, unknown, _spends(db, claim, views))


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
