"""What becomes of an actor that was to run, when that is not wanted any more.

One that was stopped before it began is usually taken up and ended by the process that would have
run it. Where there is none the mark would lie in wait, and stop whatever is said to it next.
"""

from typing import Final

from roost.actors import claim as claims
from roost.actors import store
from roost.actors.limits import ActorLimits
from roost.actors.models import Budgets, Ending
from roost.actors.settle import settle
from roost.db.transaction import Transaction
from roost.inbox import changes
from roost.inbox.drain import drain
from roost.inbox.models import Address, InboxRow
from roost.sessions.models import ModelName

_OWNER: Final = "nobody"
"""Owns the turn within the transaction that begins and ends it."""


def end_unheard(tx: Transaction, address: Address) -> bool:
    """End the turn that an actor was to run and that was stopped before; False if none is due.

    What waited becomes messages of a turn that is cancelled, its parent is told, and the actor
    sleeps. Nothing else was run, so no hook is asked.
    """
    actor = store.find(tx, address)
    if actor is None or actor.status != "pending" or actor.cancel is None:
        return False
    claim = claims.claim(
        tx,
        address,
        owner=_OWNER,
        is_dead=lambda _: True,
        budgets=Budgets(),
        limits=ActorLimits(),
    )
    if claim is None:
        return True  # nothing waited for it, and by now it is at rest
    model = ModelName.of(actor.model or "", actor.variant)
    while drain(tx, address, claim.turn.id, agent=actor.agent, model=model):
        pass
    settle(tx, claim, Ending(outcome="cancelled"))
    return True


def withdraw(tx: Transaction, inbox_id: str) -> InboxRow:
    """Take back what an actor has not heard yet; one that was to run for it alone sleeps.

    Raises as `inbox.changes.withdraw` does.
    """
    row = changes.withdraw(tx, inbox_id)
    claims.rest_unless_due(tx, row.receiver)
    return row
