"""Ends a turn, or refuses to: mail that arrived meanwhile is seen in the same transaction."""

from typing import Final

import msgspec

from roost.actors import ending as endings
from roost.actors import store, turn_store
from roost.actors.models import Actor, Claim, Ending, Settled
from roost.actors.status import tell_status
from roost.core.clock import now_ms
from roost.core.failpoints import failpoint
from roost.db.transaction import Transaction
from roost.inbox import store as inbox
from roost.sessions import store as sessions
from roost.sessions.models import MessageError

DELETED: Final = "session {} was deleted while it was at work"
DELETED_HINT: Final = "What it did to files stays."


def settle(tx: Transaction, claim: Claim, ending: Ending) -> Settled:
    """Deliver the outcome of a turn, end it and set its actor idle.

    After a success with mail waiting nothing is written and `more` comes back: the turn goes on.
    After any other outcome the turn ends all the same, and `pending` says that a new one is due.
    With `ending.finalize` the outcome is delivered and the turn goes on; settling it again ends
    it and changes nothing of what was delivered. Raises `StaleFenceError`.
    """
    actor = store.check_fence(tx, claim)
    failpoint("settle.before")
    known = sessions.find(tx, actor.session_id) is not None
    if not known:  # deleted by a program that does not keep to the rules of the database
        ending = msgspec.structs.replace(ending, outcome="failure", error=_deleted(actor))
    delivered = turn_store.get_turn(tx, claim.turn.id).outcome is not None
    if not delivered:
        if ending.outcome == "success" and inbox.has_mail(tx, claim.address):
            return "more"
        endings.deliver(tx, actor, claim.turn.id, ending, claim.limits)
    if ending.finalize:
        if not delivered:
            endings.tell_finalizing(tx, actor, claim.turn.id, ending)
        return "finalizing"
    endings.close(tx, actor, claim.turn.id)
    status = _sleep(tx, actor, ending)
    if known and not actor.aside:
        sessions.touch(tx, actor.session_id, now_ms())
    return status


def _deleted(actor: Actor) -> MessageError:
    return MessageError("UnknownError", {"message": DELETED.format(actor.session_id)})


def _sleep(tx: Transaction, actor: Actor, ending: Ending) -> Settled:
    now = now_ms()
    status = "pending" if inbox.has_mail(tx, actor.address) else "idle"
    resting = msgspec.structs.replace(
        actor, status=status, cancel=None, retry=None, last_activity=now
    )
    store.set_at_rest(tx, resting)
    if ending.outcome != "interrupted" and actor.resumed:
        store.set_resumed(tx, actor, 0)
    failpoint("settle.written")
    tell_status(tx, resting)
    return status
