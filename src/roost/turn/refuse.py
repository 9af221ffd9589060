"""Ends a turn that cannot even begin, together with the mail that it was for.

For example the folder is gone or its configuration is faulty. Left in the queue, the mail would
wake the actor again and again.
"""

from roost.actors.models import Claim, Ending
from roost.actors.settle import settle
from roost.actors.store import tell_error
from roost.core.errors import RoostError
from roost.db.transaction import Transaction
from roost.inbox.drain import drain
from roost.sessions.models import MessageError, ModelName


def refuse(tx: Transaction, claim: Claim, error: RoostError) -> None:
    """Deliver what is queued and settle the turn as failed by `error`."""
    words = f"{error.message}. {error.hint}" if error.hint else error.message
    shown = MessageError("UnknownError", {"message": words})
    actor = claim.actor
    model = ModelName.of(actor.model or "", actor.variant)
    drain(tx, claim.address, claim.turn.id, agent=actor.agent, model=model)
    tell_error(tx, claim.address, shown)
    settle(tx, claim, Ending(outcome="failure", error=shown))
