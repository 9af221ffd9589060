"""What one actor says to another: bounded by hops and by what waits already."""

from pathlib import Path
from typing import Final

from roost.actors import store, turn_store
from roost.actors.models import Actor, Claim
from roost.actors.send import send
from roost.core.errors import UsageError
from roost.core.ids import new_id
from roost.core.text import clean
from roost.db.transaction import Transaction
from roost.inbox import store as inbox
from roost.inbox.models import Letter, NoteBody
from roost.tools.actor_port import Sent
from roost.tools.output import cap

SENDER_LIMIT: Final = 100
"""Messages of one sender that may wait for one receiver."""
NOTHING_SAID: Final = "a message needs words"


def post(
    tx: Transaction,
    claim: Claim,
    receiver: Actor,
    words: str,
    *,
    subject: str = "",
    reply_to: str | None = None,
) -> Sent:
    """Send `words` to `receiver`, in the turn of `claim`; an idle one is woken by it,
    unless it is held (see `Sent.held`).

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
    sent = inbox.get(tx, send(tx, letter).id)
    return Sent(sent.id, busy=sent.wake and receiver.status == "running", held=not sent.wake)


def said(text: str, nothing: str = NOTHING_SAID) -> str:
    """What somebody says, clean. Raises `UsageError` with `nothing` for words that say nothing."""
    if words := clean(text).strip():
        return words
    raise UsageError(nothing)


def words_of(text: str, spill_folder: Path, nothing: str = NOTHING_SAID) -> str:
    """What an actor says as it is sent: clean, and cut to what one reads, with the whole in a file.

    Raises as `said` does.
    """
    return cap(said(text, nothing), spill_folder, new_id("inbox"))[0]


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
