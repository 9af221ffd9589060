"""What clients see of an actor: the one place that turns its row into a status, and tells it."""

from typing import Final

from roost.actors.models import (
    Actor,
    BusyStatus,
    IdleStatus,
    NoticeStatus,
    RetryStatus,
    SessionStatus,
)
from roost.db.transaction import Transaction
from roost.events.types import Event

WAITING: Final = "Waiting for mail"


def status_of(actor: Actor) -> SessionStatus:
    """The state of an actor as clients see it."""
    if (retry := actor.retry) is not None:
        return RetryStatus(retry.attempt, retry.message, retry.next, retry.tries)
    if actor.status == "idle":
        return IdleStatus()
    return BusyStatus() if actor.waiting_until is None else NoticeStatus(WAITING)


def tell_status(tx: Transaction, actor: Actor) -> None:
    """Emit the state of `actor`, and of its session if it fronts it. The one writer of status."""
    status = status_of(actor)
    tx.emit(
        Event(
            "actor.status",
            {"sessionID": actor.session_id, "actorID": actor.actor_id, "status": status},
            session_id=actor.session_id,
        )
    )
    if not actor.fronts:
        return
    tx.emit(
        Event(
            "session.status",
            {"sessionID": actor.session_id, "status": status},
            session_id=actor.session_id,
        )
    )
    if isinstance(status, IdleStatus):
        tx.emit(Event("session.idle", {"sessionID": actor.session_id}, session_id=actor.session_id))
