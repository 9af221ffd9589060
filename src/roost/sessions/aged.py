"""The SQL of sessions that are old. Times are milliseconds since the epoch."""

from typing import Final

from roost.db.transaction import Reader

_OLD: Final = "updated < ? AND NOT EXISTS (SELECT 1 FROM session b WHERE b.parent_id = session.id)"


def directories(db: Reader) -> list[str]:
    """Every directory that has sessions."""
    return [row["directory"] for row in db.all("SELECT DISTINCT directory FROM session")]


def ids_in(db: Reader, directory: str) -> set[str]:
    """The sessions of a directory."""
    return {row["id"] for row in db.all("SELECT id FROM session WHERE directory = ?", (directory,))}


def unused(db: Reader, directory: str, before: int) -> list[str]:
    """Sessions of a directory that have none below them and were not used since `before`, the
    oldest first.
    """
    sql = f"SELECT id FROM session WHERE directory = ? AND {_OLD} ORDER BY updated"
    return [row["id"] for row in db.all(sql, (directory, before))]


def is_unused(db: Reader, session_id: str, before: int) -> bool:
    """Whether a session is such a one."""
    sql = f"SELECT 1 FROM session WHERE id = ? AND {_OLD}"
    return db.one(sql, (session_id, before)) is not None
