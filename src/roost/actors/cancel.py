"""Asks a running turn to stop. The mark is a column, so it reaches other processes too."""

import msgspec

from roost.actors import store
from roost.actors.models import Actor, CancelMode
from roost.core.failpoints import failpoint
from roost.db.transaction import Transaction
from roost.events.types import Event
from roost.inbox.models import Address


def request_cancel(
    tx: Transaction, address: Address, mode: CancelMode, turn_id: str | None = None
) -> Actor | None:
    """Mark the running turn of `address`; None when there is none, or it is not `turn_id`.

    Forced outranks graceful; asking twice changes nothing. Queued mail stays.
    """
    actor = store.get(tx, address)
    if actor.status != "running" or turn_id not in {None, actor.current_turn}:
        return None
    wanted: CancelMode = "forced" if "forced" in {mode, actor.cancel} else mode
    if actor.cancel == wanted:
        return actor
    failpoint("cancel.before")
    tx.run(
        "UPDATE actor SET cancel = ? WHERE session_id = ? AND actor_id = ?",
        (wanted, actor.session_id, actor.actor_id),
    )
    tx.emit(
        Event(
            "actor.cancelling",
            {"sessionID": actor.session_id, "actorID": actor.actor_id, "mode": wanted},
            session_id=actor.session_id,
        )
    )
    failpoint("cancel.written")
    return msgspec.structs.replace(actor, cancel=wanted)
