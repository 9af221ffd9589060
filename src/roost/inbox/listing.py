"""All that was said in a session, whatever became of it: the history of its inboxes."""

from roost.db.transaction import Reader
from roost.inbox.models import InboxRow, State
from roost.inbox.store import readable


def listed(
    db: Reader,
    session_id: str | None,
    limit: int = 200,
    *,
    actor_id: str | None = None,
    state: State | None = None,
) -> list[InboxRow]:
    """The newest mail of a session (None: of all), the newest last.

    With `actor_id` only what was said to that actor, with `state` only what is in it. A row of a
    newer program, which this one cannot read, is left out.
    """
    rows = db.all(
        "SELECT * FROM inbox WHERE (? IS NULL OR receiver_session = ?)"
        " AND (? IS NULL OR receiver_actor = ?) AND (? IS NULL OR state = ?)"
        " ORDER BY seq DESC LIMIT ?",
        (session_id, session_id, actor_id, actor_id, state, state, limit),
    )
    return [row for raw in reversed(rows) if (row := readable(raw)) is not None]
