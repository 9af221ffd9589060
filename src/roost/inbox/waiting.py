"""The SQL of what waits for an actor, beyond whether anything does."""

from roost.db.transaction import Reader
from roost.inbox.models import Address
from roost.inbox.store import is_there


def first_waking(db: Reader, receiver: Address) -> int | None:
    """The place in the order of all mail of what waits for an actor longest; None if nothing does
    that is worth a turn.
    """
    row = db.one(
        "SELECT min(seq) AS first FROM inbox WHERE receiver_session = ? AND receiver_actor = ?"
        " AND state = 'queued' AND wake = 1",
        (receiver.session_id, receiver.actor_id),
    )
    return row["first"] if row else None


def has_brief(db: Reader, receiver: Address) -> bool:
    """Whether the actor has not heard yet what it was spawned for."""
    return is_there(db, receiver, "state = 'queued' AND kind = 'brief'")
