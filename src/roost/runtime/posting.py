"""What one actor says to another: bounded by hops and by what waits already."""

from typing import Final

from roost.actors import store, turn_store
from roost.actors.models import Actor, Claim
from roost.actors.send import send
from roost.db.transaction import Transaction
from roost.inbox import store as inbox
from roost.inbox.models import Letter, NoteBody
from roost.tools.actor_port import Sent

SENDER_LIMIT: Final = 100
"""Messages of one sender that may wait for one receiver."""


def post(
    tx: Transaction,
    claim: Claim,
    receiver: Actor,
    words: str,
    *,
    subject: str = "",
    reply_to: str | None = None,
) -> Sent:
    """Send `words` to `receiver`, in the turn of `claim`; an idle one is woken by it.

    What is not accepted says so in the receipt. Raises `StaleFenceError`.
    """
    store.check_fence(tx, claim)
    hops = turn_store.get_turn(tx, claim.turn.id).hops + 1
    if refusal := _refusal(tx, claim, receiver, hops):
        return Sent(None, refusal)
    letter = Letter(
        receiver=receiver.address,
        kind="message",
        body=NoteBody(words, subject=subject),
        sender=claim.address,
        sender_turn=claim.turn.id,
        reply_to=reply_to,
        hops=hops,
    )
    return Sent(send(tx, letter).id, busy=receiver.status == "running")


def _refusal(tx: Transaction, claim: Claim, receiver: Actor, hops: int) -> str:
    limit = claim.limits.hops
    if hops > limit:
        return (
            f"not accepted: {limit} messages went from actor to actor without a person among"
            " them. End your turn with a report."
        )
    if inbox.count_queued(tx, receiver.address, claim.address) >= SENDER_LIMIT:
        return (
            f"not accepted: {SENDER_LIMIT} messages of yours wait for {receiver.actor_id}."
            " Wait until it has read some."
        )
    return ""
