"""Tells whether a running actor still makes progress, and its parent when it does not.

Silence is never taken for death: a stalled actor is left alone. Its parent is told once an episode,
and the episode ends with the actor's next sign of life. What the parent has not heard yet of an
earlier episode says the newest instead: one row an actor.
"""

from collections.abc import Iterable
from typing import Final

import msgspec

from roost.actors import store, turn_store
from roost.actors.models import Actor, Claim
from roost.actors.report import notice_about
from roost.actors.send import send
from roost.core.clock import now_ms
from roost.core.failpoints import failpoint
from roost.db.transaction import Transaction
from roost.events.types import Event
from roost.inbox import changes
from roost.inbox.models import Letter
from roost.inbox.notices import NoticeBody

_KEY: Final = "stall:"
_SIGNS: Final = 4
"""Signs of life that one at work gives, at least, in the time after which it counts as silent."""


def sign_ms(claim: Claim, usual: int) -> int:
    """After how many milliseconds an actor at work gives its next sign of life: `usual`, or sooner
    where a short silence is reported already.
    """
    return min(usual, claim.limits.stall_seconds * 1000 // _SIGNS)


def is_watched(actor: Actor) -> bool:
    """Whether somebody is told when the actor falls silent.

    One that waits for mail is silent by intent.
    """
    waits = actor.waiting_until is not None
    return actor.background and actor.parent is not None and actor.status == "running" and not waits


def is_stalled(actor: Actor, now: int, limit: int) -> bool:
    """Whether a watched actor has given no sign of life for `limit` seconds, as nobody knows."""
    silent = now - actor.last_activity > limit * 1000
    return is_watched(actor) and actor.stalled is None and silent


def tell_of_stalls(tx: Transaction, actors: Iterable[Actor]) -> None:
    """Send the parents of `actors` a notice; nothing for one that has stirred meanwhile."""
    for seen in actors:
        actor = store.find(tx, seen.address)
        if actor is None or actor.stalled is not None or actor.last_activity != seen.last_activity:
            continue
        if actor.current_turn == seen.current_turn and actor.status == "running":
            _tell(tx, actor)


def _tell(tx: Transaction, actor: Actor) -> None:
    now = now_ms()
    parent = store.find(tx, actor.parent) if actor.parent else None
    if parent is None:
        return
    seconds = (now - actor.last_activity) // 1000
    store.set_stalled(tx, actor, now)
    notice = msgspec.structs.replace(
        notice_about(actor, "stalled"),
        turn_id=actor.current_turn or "",
        turn=actor.turns,
        seconds=seconds,
    )
    if not changes.renew(tx, parent.address, actor.address, _KEY, notice):
        send(tx, _letter(tx, parent, actor, notice))
    failpoint("stall.told")
    about = {
        "sessionID": actor.session_id,
        "actorID": actor.actor_id,
        "lastActivity": actor.last_activity,
        "seconds": seconds,
    }
    tx.emit(Event("actor.stalled", about, session_id=actor.session_id))


def _letter(tx: Transaction, parent: Actor, actor: Actor, notice: NoticeBody) -> Letter:
    turn_id = actor.current_turn
    return Letter(
        receiver=parent.address,
        kind="notice",
        body=notice,
        sender=actor.address,
        sender_turn=turn_id,
        key=f"{_KEY}{turn_id}:{actor.last_activity}",
        wake=parent.cancel is None,
        hops=turn_store.get_turn(tx, turn_id).hops + 1 if turn_id else 1,
    )
