"""Ends a turn, or refuses to: mail that arrived meanwhile is seen in the same transaction."""

import msgspec

from roost.actors import store
from roost.actors.models import Claim, Ending, Settled
from roost.core.clock import now_ms
from roost.core.failpoints import failpoint
from roost.db.transaction import Transaction
from roost.events.types import Event
from roost.inbox import store as inbox
from roost.sessions import store as sessions


def settle(tx: Transaction, claim: Claim, ending: Ending) -> Settled:
    """Set the actor idle and end its turn.

    After a success with mail waiting nothing is written and `more` comes back: the turn goes on.
    After any other outcome the turn ends all the same, and `pending` says that a new one is due.
    Raises `StaleFenceError`.
    """
    actor = store.check_fence(tx, claim)
    failpoint("settle.before")
    waiting = inbox.has_mail(tx, claim.address)
    if waiting and ending.outcome == "success":
        return "more"
    now = now_ms()
    tx.run(
        "UPDATE turn SET phase = 'ended', outcome = ?, result_message_id = ?, error = ?,"
        " ended = ? WHERE id = ?",
        (
            ending.outcome,
            ending.result_message_id,
            msgspec.json.encode(ending.error).decode() if ending.error else None,
            now,
            claim.turn.id,
        ),
    )
    status = "pending" if waiting else "idle"
    tx.run(
        "UPDATE actor SET status = ?, owner = NULL, cancel = NULL, retry = NULL,"
        " last_activity = ? WHERE session_id = ? AND actor_id = ?",
        (status, now, actor.session_id, actor.actor_id),
    )
    failpoint("settle.written")
    tx.emit(
        Event(
            "turn.ended",
            {
                "sessionID": actor.session_id,
                "actorID": actor.actor_id,
                "turnID": claim.turn.id,
                "outcome": ending.outcome,
                "messageID": ending.result_message_id,
                "error": ending.error,
            },
            session_id=actor.session_id,
        )
    )
    store.tell_status(tx, msgspec.structs.replace(actor, status=status, retry=None))
    sessions.touch(tx, actor.session_id, now)
    return "pending" if waiting else "idle"
