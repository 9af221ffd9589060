"""All that was said in a session, whatever became of it: the history of its inboxes."""

from typing import Final

from roost.db.transaction import Reader
from roost.inbox.models import InboxRow, State
from roost.inbox.store import readable

_MATCHING: Final = (
    "(? IS NULL OR receiver_session = ?) AND (? IS NULL OR receiver_actor = ?)"
    " AND (? IS NULL OR state = ?)"
)


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
        f"SELECT * FROM inbox WHERE {_MATCHING} ORDER BY seq DESC LIMIT ?",
        (*_values(session_id, actor_id, state), limit),
    )
    return [row for raw in reversed(rows) if (row := readable(raw)) is not None]


def beginning_with(db: Reader, start: str, limit: int) -> list[InboxRow]:
    """At most `limit` rows whose id begins with `start`, those that wait and the newest first."""
    rows = db.all(
        "SELECT * FROM inbox WHERE substr(id, 1, ?) = ?"
        " ORDER BY state = 'queued' DESC, seq DESC LIMIT ?",
        (len(start), start, limit),
    )
    return [row for raw in rows if (row := readable(raw)) is not None]


def count(
    db: Reader, session_id: str, *, actor_id: str | None = None, state: State | None = None
) -> int:
    """How many rows `listed` would find without a limit, readable or not."""
    sql = f"SELECT count(*) AS n FROM inbox WHERE {_MATCHING}"
    row = db.one(sql, _values(session_id, actor_id, state))
    return int(row["n"]) if row else 0


def _values(*wanted: str | None) -> tuple[str | None, ...]:
    """What fills `_MATCHING`: each twice."""
    return tuple(value for value in wanted for _ in range(2))
