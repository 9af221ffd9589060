"""The SQL of sessions. Every write emits the event that tells clients of it."""

import re
import sqlite3
from collections.abc import Collection
from typing import Any, Final, TypeVar

import msgspec

from roost import __version__
from roost.core.clock import now_ms
from roost.core.errors import ConflictError, NotFoundError
from roost.core.ids import new_id
from roost.core.text import echo
from roost.db.transaction import Reader, Transaction
from roost.events.types import Event
from roost.sessions.models import ChangeTotals, NewSession, Reverted, Session, SessionTime
from roost.sessions.unreadable import ASK_FOR_ALL, FAULTS, rules_of

_COLUMNS: Final = (
    "id, slug, project_id, directory, title, version, created, updated, archived, parent_id,"
    " permission, revision, goal, summary, revert"
)
_STORED: Final = _COLUMNS.removesuffix(", goal, summary, revert")
"""Those that a new session begins with."""
NEW_TITLE: Final = "New session"
_ASKS: Final = "its permission rules cannot be read, so everything is asked for"
T = TypeVar("T")


def create(tx: Transaction, new: NewSession) -> Session:
    """Store a session without actors and tell clients."""
    now = now_ms()
    session = Session(
        id=new_id("session"),
        slug="",
        project_id=new.project_id,
        directory=new.directory,
        title=new.title or NEW_TITLE,
        version=__version__,
        time=SessionTime(created=now, updated=now),
        parent_id=new.parent_id,
        permission=new.permission,
    )
    session = msgspec.structs.replace(session, slug=session.id[-8:].lower())
    insert(tx, session, "user" if new.title else "fallback")
    return session


def insert(tx: Transaction, session: Session, title_source: str = "user") -> None:
    """Store `session` as it is. Raises `ConflictError` if its id is taken."""
    if tx.one("SELECT 1 FROM session WHERE id = ?", (session.id,)):
        raise ConflictError(f"session {session.id} is there already")
    permission = msgspec.json.encode(session.permission).decode() if session.permission else None
    tx.run(
        f"INSERT INTO session ({_STORED}, title_source) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)",
        (
            session.id,
            session.slug,
            session.project_id,
            session.directory,
            session.title,
            session.version,
            session.time.created,
            session.time.updated,
            session.time.archived,
            session.parent_id,
            permission,
            session.revision,
            title_source,
        ),
    )
    _tell(tx, "session.created", session)


def _tell(tx: Transaction, type_: str, session: Session) -> None:
    tx.emit(
        Event(
            type_,
            {"sessionID": session.id, "info": session},
            session_id=session.id,
            directory=session.directory,
        )
    )


def _from_row(row: sqlite3.Row) -> Session:
    damage = ""
    try:
        permission = rules_of(row["permission"])
    except FAULTS:
        permission, damage = ASK_FOR_ALL, _ASKS
    return Session(
        id=row["id"],
        slug=row["slug"],
        project_id=row["project_id"],
        directory=row["directory"],
        title=row["title"],
        version=row["version"],
        time=SessionTime(row["created"], row["updated"], row["archived"]),
        parent_id=row["parent_id"],
        permission=permission,
        revision=row["revision"],
        summary=_shown(row["summary"], ChangeTotals),
        revert=_shown(row["revert"], Reverted),
        goal=_shown(row["goal"], dict[str, Any]),
        damage=damage,
    )


def _shown(data: str | None, kind: type[T]) -> T | None:
    """What the session shows of its goal, its changes, its revert; not what cannot be read."""
    try:
        return msgspec.json.decode(data, type=kind) if data else None
    except FAULTS:
        return None


def _as_json(value: object) -> str | None:
    return None if value is None else msgspec.json.encode(value).decode()


def find(db: Reader, session_id: str) -> Session | None:
    """The session of that id, or None."""
    row = db.one(f"SELECT {_COLUMNS} FROM session WHERE id = ?", (session_id,))
    return _from_row(row) if row else None


def get(db: Reader, session_id: str) -> Session:
    """The session of that id. Raises `NotFoundError`."""
    if (session := find(db, session_id)) is None:
        raise NotFoundError(
            f"there is no session {echo(session_id)}", hint="See `roost sessions list --all`."
        )
    return session


def listed(
    db: Reader,
    *,
    directory: str | None = None,
    project_id: str | None = None,
    roots: bool = False,
    search: str | None = None,
    since: int | None = None,
    limit: int = 100,
) -> list[Session]:
    """Sessions that match everything given, the last used first.

    `roots` leaves out sessions with a parent; `since` is milliseconds since the epoch.
    """
    where, values = _matching(directory, project_id, search, since, roots=roots)
    rows = db.all(
        f"SELECT {_COLUMNS} FROM session {where} ORDER BY updated DESC, id LIMIT ?",
        (*values, limit),
    )
    return [_from_row(row) for row in rows]


def count(
    db: Reader,
    *,
    project_id: str | None = None,
    roots: bool = False,
    search: str | None = None,
    since: int | None = None,
) -> int:
    """How many sessions there are that `listed` would give without a limit."""
    where, values = _matching(None, project_id, search, since, roots=roots)
    row = db.one(f"SELECT count(*) AS n FROM session {where}", tuple(values))
    return row["n"] if row else 0


def _matching(
    directory: str | None,
    project_id: str | None,
    search: str | None,
    since: int | None,
    *,
    roots: bool,
) -> tuple[str, list[object]]:
    """The condition for sessions, and the values in it."""
    conditions: list[tuple[str, object]] = []
    if directory is not None:
        conditions.append(("directory = ?", directory))
    if project_id is not None:
        conditions.append(("project_id = ?", project_id))
    if search:
        pattern = re.sub(r"([\\%_])", r"\\\1", search.lower())
        conditions.append(("lower(title) LIKE ? ESCAPE '\\'", f"%{pattern}%"))
    if since is not None:
        conditions.append(("updated >= ?", since))
    texts = [text for text, _ in conditions] + ["parent_id IS NULL"] * roots
    return f"WHERE {' AND '.join(texts)}" if texts else "", [value for _, value in conditions]


def beginning_with(db: Reader, start: str, limit: int) -> list[Session]:
    """At most `limit` sessions whose id begins with `start`, the last used first."""
    rows = db.all(
        f"SELECT {_COLUMNS} FROM session WHERE substr(id, 1, ?) = ?"
        " ORDER BY updated DESC, id LIMIT ?",
        (len(start), start, limit),
    )
    return [_from_row(row) for row in rows]


def children(db: Reader, session_id: str) -> list[Session]:
    """The sessions whose parent this is, oldest first."""
    rows = db.all(
        f"SELECT {_COLUMNS} FROM session WHERE parent_id = ? ORDER BY created, id", (session_id,)
    )
    return [_from_row(row) for row in rows]


def ids_within(db: Reader, top: str) -> list[str]:
    """The ids of a session and of all below it."""
    rows = db.all(
        "WITH RECURSIVE below (id) AS ("
        " SELECT ? UNION SELECT s.id FROM session s JOIN below b ON s.parent_id = b.id)"
        " SELECT id FROM below",
        (top,),
    )
    return [row["id"] for row in rows]


def titles(db: Reader, ids: Collection[str]) -> dict[str, str]:
    """The titles of those sessions that are there, by id."""
    places = ", ".join("?" for _ in ids)
    rows = db.all(f"SELECT id, title FROM session WHERE id IN ({places})", tuple(ids))
    return {row["id"]: row["title"] for row in rows}


def is_within(db: Reader, session_id: str, top: str) -> bool:
    """Whether a session is `top`, or lies below it."""
    row = db.one(
        "WITH RECURSIVE above (id) AS ("
        " SELECT ? UNION SELECT s.parent_id FROM session s JOIN above a ON s.id = a.id"
        " WHERE s.parent_id IS NOT NULL)"
        " SELECT 1 FROM above WHERE id = ?",
        (session_id, top),
    )
    return row is not None


def project_of_directory(db: Reader, directory: str) -> str | None:
    """The project id of the session last used in a directory, or None."""
    row = db.one(
        "SELECT project_id FROM session WHERE directory = ? ORDER BY updated DESC LIMIT 1",
        (directory,),
    )
    return None if row is None else str(row["project_id"])


def touch(tx: Transaction, session_id: str, now: int) -> None:
    """Note that something happened in the session."""
    tx.run("UPDATE session SET updated = ? WHERE id = ?", (now, session_id))
    _tell(tx, "session.updated", get(tx, session_id))


def set_title(
    tx: Transaction, session_id: str, title: str, *, source: str, revision: int | None = None
) -> Session:
    """Rename the session.

    With `revision` the change is refused with `ConflictError` if somebody else renamed it since.
    `source` is `user`, `prompt` (its first words) or `model`. A title that a person chose is
    replaced by a person only.
    """
    row = tx.one("SELECT revision, title_source FROM session WHERE id = ?", (session_id,))
    if row is None:
        raise NotFoundError(f"there is no session {session_id}")
    if revision is not None and row["revision"] != revision:
        raise ConflictError(f"session {session_id} was renamed meanwhile")
    if source == "user" or row["title_source"] != "user":
        tx.run(
            "UPDATE session SET title = ?, title_source = ?, revision = revision + 1, updated = ?"
            " WHERE id = ?",
            (title, source, now_ms(), session_id),
        )
        _tell(tx, "session.updated", get(tx, session_id))
    return get(tx, session_id)


def set_archived(tx: Transaction, session_id: str, archived: int | None) -> Session:
    """Move the session out of (or back into) the list of current ones."""
    tx.run("UPDATE session SET archived = ? WHERE id = ?", (archived, session_id))
    session = get(tx, session_id)
    _tell(tx, "session.updated", session)
    return session


def set_permission(tx: Transaction, session_id: str, rules: list[dict[str, str]]) -> Session:
    """Append `rules` to the session's own permission rules."""
    known = get(tx, session_id).permission or []
    tx.run(
        "UPDATE session SET permission = ? WHERE id = ?",
        (msgspec.json.encode(known + rules).decode(), session_id),
    )
    session = get(tx, session_id)
    _tell(tx, "session.updated", session)
    return session


def set_goal(tx: Transaction, session_id: str, goal: dict[str, Any] | None) -> None:
    """Show `goal` as the one in force. Its own package keeps it, and tells each change here."""
    tx.run("UPDATE session SET goal = ? WHERE id = ?", (_as_json(goal or None), session_id))
    _tell(tx, "session.updated", get(tx, session_id))


def set_summary(tx: Transaction, session_id: str, totals: ChangeTotals | None) -> None:
    """Show what the session changed in files."""
    tx.run("UPDATE session SET summary = ? WHERE id = ?", (_as_json(totals), session_id))
    _tell(tx, "session.updated", get(tx, session_id))


def set_reverted(
    tx: Transaction, session_id: str, reverted: Reverted | None, seq: int | None
) -> Session:
    """Show from where on the session is taken back, the message `seq`; None: it is not."""
    tx.run(
        "UPDATE session SET revert = ?, reverted_from = ? WHERE id = ?",
        (_as_json(reverted), seq, session_id),
    )
    session = get(tx, session_id)
    _tell(tx, "session.updated", session)
    return session


def delete(tx: Transaction, session_id: str) -> None:
    """Remove the session with all that belongs to it, its child sessions included."""
    for child in children(tx, session_id):
        delete(tx, child.id)
    session = get(tx, session_id)
    tx.run("DELETE FROM session WHERE id = ?", (session_id,))
    _tell(tx, "session.deleted", session)


def is_unnamed(db: Reader, session_id: str) -> bool:
    """Whether the session still has the title that every new one has."""
    row = db.one("SELECT title_source FROM session WHERE id = ?", (session_id,))
    return row is not None and row["title_source"] == "fallback"
