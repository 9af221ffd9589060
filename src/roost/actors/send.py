"""Says something to an actor: the one way in, and the only waking there is."""

import msgspec

from roost.actors import store
from roost.core.errors import NotFoundError
from roost.core.text import echo
from roost.db.transaction import Transaction
from roost.inbox import store as inbox
from roost.inbox.models import Address, Letter, Receipt


def send(tx: Transaction, letter: Letter) -> Receipt:
    """Queue `letter`, mark an idle receiver pending if it is to wake, and tell clients.

    After the commit of a receipt that is `pending` the scheduler must be told. Raises
    `NotFoundError` for an unknown receiver, else as `inbox.store.enqueue` does.
    """
    receiver = store.readiness(tx, letter.receiver)
    if receiver is None:
        raise NotFoundError(
            f"receiver not found: {echo(letter.receiver.actor_id)} in session"
            f" {echo(letter.receiver.session_id)}"
        )
    if receiver.stopped and not _may_wake_stopped(letter, receiver.parent):
        letter = msgspec.structs.replace(letter, wake=False)
    receipt = inbox.enqueue(tx, letter)
    if not (receipt.new and letter.wake and receiver.status == "idle"):
        return receipt
    store.set_pending(tx, letter.receiver)
    return msgspec.structs.replace(receipt, pending=True)


def _may_wake_stopped(letter: Letter, parent: Address | None) -> bool:
    """Whether `letter` wakes an actor that was stopped, or is just being stopped."""
    from_parent = letter.sender is not None and letter.sender == parent
    return letter.kind == "prompt" or (from_parent and letter.kind == "message")
