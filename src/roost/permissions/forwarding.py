"""Requests of actors below a session that directs them: the directing actor hears of each.

The request stays one of the child's session: a person answers it from anywhere, in any order. The
directing actor is told once, and may answer what does not need a person. Who answers first counts.
After the deadline, which stands in the row, it is refused. All in the transactions of others.
"""

from datetime import UTC, datetime
from typing import Any, Final

from msgspec import Struct

from roost.actors import family, peers, turn_store
from roost.actors import store as actors
from roost.actors.models import Actor
from roost.actors.send import send
from roost.core.clock import now_ms
from roost.core.errors import ConflictError, NotFoundError, UsageError
from roost.core.failpoints import failpoint
from roost.core.text import cut, echo
from roost.db.transaction import Reader, Transaction
from roost.inbox.models import Address, Letter, NoteBody
from roost.permissions import asks
from roost.permissions.asks import Ask

GRANTED: Final = "granted"
"""Marks the answer to what was agreed to beforehand."""
EXPIRED: Final = "expired"
"""Marks the answer that the deadline gave."""
OPAQUE: Final = "opaque"
"""In the metadata of a request whose meaning its text does not tell: no agreement counts for it
that was given before."""
_SHOWN: Final = 2_000
"""Characters of what is asked for that the directing actor reads."""


class ForwardTerms(Struct, frozen=True):
    """How requests of an actor are forwarded."""

    seconds: int
    """How long one waits for an answer."""
    hops: int
    """The most messages from actor to actor, after which mail does not wake."""


def director(db: Reader, actor: Actor) -> Actor | None:
    """The actor of another session that directs the one that `actor` works in."""
    above = family.ancestors(db, actor)
    return next((one for one in above if one.session_id != actor.session_id), None)


def open_permission(
    tx: Transaction,
    address: Address,
    turn_id: str,
    shown: dict[str, Any],
    *,
    forced: bool,
    terms: ForwardTerms,
) -> Ask | None:
    """Store a request, and tell the actor that directs the session, if one does; None if that one
    agreed beforehand. `forced`: only a person may agree.
    """
    actor = actors.get(tx, address)
    head = director(tx, actor)
    if head is None:
        return asks.open_ask(tx, address, turn_id, "permission", shown, forced=forced)
    opaque = bool(shown.get("metadata", {}).get(OPAQUE))
    granted = peers.is_granted(tx, head.session_id, address.session_id)
    if granted and not forced and not opaque:
        return None
    deadline = now_ms() + terms.seconds * 1000
    ask = asks.open_ask(tx, address, turn_id, "permission", shown, forced=forced, deadline=deadline)
    failpoint("forward.asked")
    _tell(tx, head, actor, ask, terms)
    return ask


def _tell(tx: Transaction, head: Actor, actor: Actor, ask: Ask, terms: ForwardTerms) -> None:
    hops = turn_store.get_turn(tx, ask.turn_id).hops + 1 if ask.turn_id else 1
    letter = Letter(
        receiver=head.address,
        kind="permission",
        body=NoteBody(
            _words(actor, ask, terms.seconds), subject=f"request {ask.id}", origin="permission"
        ),
        sender=actor.address,
        sender_turn=ask.turn_id,
        key=asks.notice_key(ask.id),
        wake=head.cancel is None and hops <= terms.hops,
        hops=hops,
    )
    send(tx, letter)
    failpoint("forward.told")


def _words(actor: Actor, ask: Ask, seconds: int) -> str:
    asked = ask.request
    metadata: dict[str, Any] = asked.get("metadata", {})
    until = datetime.fromtimestamp((ask.deadline or 0) / 1000, UTC)
    who = f"{actor.actor_id} ({actor.agent}) in session {actor.session_id}"
    about = f', "{actor.description}",' if actor.description else ""
    patterns = ", ".join(map(str, asked.get("patterns", ())))
    lines = [
        f"{who}{about} asks for a permission and waits.",
        f"Request: {ask.id}",
        f"Permission: {asked.get('permission')}: {cut(patterns, _SHOWN)}",
    ]
    lines += [f"What: {cut(str(title), _SHOWN)}"] if (title := metadata.get("title")) else []
    lines += [f"Why it asks: {reason}"] if (reason := metadata.get("reason")) else []
    lines.append(
        f"Unless it is answered until {until:%H:%M:%S} UTC ({seconds} s after it was asked) it is"
        " refused."
    )
    if ask.forced:
        lines.append("Only a person can agree to this. You cannot; tell the user if it matters.")
    else:
        lines.append(
            "The user can answer it. Where the user's wishes leave no doubt you may: `session`"
            f' with action approve and request_id "{ask.id}".'
        )
    return "\n".join(lines)


def expire(tx: Transaction, ask: Ask, seconds: int) -> None:
    """Refuse a request that nobody has answered in time; nothing if somebody has."""
    who = "a person has to agree to this each time, and nobody" if ask.forced else "nobody"
    words = f"{who} answered within {seconds} s"
    try:
        asks.answer(tx, ask.id, "permission", {"reply": "reject", "message": words, EXPIRED: True})
    except ConflictError:
        return


def _of_director(db: Reader, ask: Ask, own: Address) -> bool:
    actor = actors.find(db, Address(ask.session_id, ask.actor_id))
    head = director(db, actor) if actor is not None else None
    return head is not None and head.address == own


def approve(tx: Transaction, ask_id: str, own: Address) -> Ask:
    """The directing actor `own` agrees to one request of a child, once.

    Raises `NotFoundError` for what no child of its asks, `UsageError` for what only a person may
    agree to, `ConflictError` if it was answered before.
    """
    ask = asks.get(tx, ask_id)
    if ask.kind != "permission" or not _of_director(tx, ask, own):
        raise NotFoundError(f"no session of yours asks for {echo(ask_id)}")
    if ask.state == "open" and ask.forced:
        raise UsageError(
            f"{ask_id} is one that only a person can agree to",
            hint="Tell the user what waits, and why it is wanted.",
        )
    return asks.answer(tx, ask_id, "permission", {"reply": "once", "by": own})


def grant(tx: Transaction, own: Address, child_session_id: str) -> list[Ask]:
    """The directing actor `own` agrees to all that a child asks from now on (`*`: that each asks),
    and to what waits now. What waited and is answered so.

    What only a person may agree to is not touched, now or later.
    """
    peers.grant(tx, own.session_id, child_session_id)
    failpoint("forward.granted")
    answered: list[Ask] = []
    for ask in asks.listed(tx, None, "permission"):
        meant = child_session_id in {peers.EVERY_CHILD, ask.session_id}
        opaque = bool(ask.request.get("metadata", {}).get(OPAQUE))
        if meant and not (ask.forced or opaque) and _of_director(tx, ask, own):
            words = {"reply": "once", "by": own, GRANTED: True}
            answered.append(asks.answer(tx, ask.id, "permission", words))
    return answered
