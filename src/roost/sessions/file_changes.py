"""The SQL of what a session changed in files: each file before its first change and after its last.

All of it could be told from the patches in the session's messages; it is kept so that a step that
changes one file costs as much in a long session as in a short one.
"""

import sqlite3
from collections.abc import Collection, Iterable, Mapping
from typing import Final, Literal

from msgspec import Struct

from roost.db.transaction import Reader, Transaction
from roost.events.types import Event
from roost.sessions import store
from roost.sessions.models import ChangeTotals
from roost.workspace.snapshot_changes import Sides
from roost.workspace.snapshot_models import Entry

LISTED: Final = 1_000
"""Files that a patch or a session names; more belong to it, and are taken back, without a name."""
TOLD: Final = 200
"""Files that an event names: it is sent at every change. Whoever asks is told all."""
_ALONE: Final = 50
"""More files than this are looked for in one reading."""


class FileDiff(Struct, frozen=True, omit_defaults=True):
    """What became of a file, as OpenCode's clients know it."""

    file: str
    """Relative to the project."""
    additions: int
    """Lines; so are `deletions`."""
    deletions: int
    status: Literal["added", "deleted", "modified"]
    patch: str = ""
    """Unified diff; empty in events, for files that are no text, and where it would be too long."""


class ChangedFile(Struct, frozen=True):
    """A file that a session changed."""

    path: str
    sides: Sides
    additions: int
    deletions: int

    @property
    def shown(self) -> FileDiff:
        """The file without its texts."""
        status = "added" if self.sides.before is None else "modified"
        status = status if self.sides.after is not None else "deleted"
        return FileDiff(self.path, self.additions, self.deletions, status)


def of_session(db: Reader, session_id: str, *, limit: int = LISTED) -> list[ChangedFile]:
    """The files that a session changed, by path, at most so many."""
    rows = db.all(
        "SELECT * FROM file_change WHERE session_id = ? ORDER BY path LIMIT ?",
        (session_id, limit),
    )
    return [_from_row(row) for row in rows]


def earlier(db: Reader, session_id: str, paths: Collection[str]) -> dict[str, ChangedFile]:
    """Those of `paths` that the session changed before."""
    if len(paths) > _ALONE:
        every = of_session(db, session_id, limit=-1)
        return {one.path: one for one in every if one.path in paths}
    found: dict[str, ChangedFile] = {}
    for path in paths:
        row = db.one(
            "SELECT * FROM file_change WHERE session_id = ? AND path = ?", (session_id, path)
        )
        if row is not None:
            found[path] = _from_row(row)
    return found


def _from_row(row: sqlite3.Row) -> ChangedFile:
    sides = Sides(
        _entry(row["before_mode"], row["before_id"]), _entry(row["after_mode"], row["after_id"])
    )
    return ChangedFile(row["path"], sides, row["additions"], row["deletions"])


def _entry(mode: int | None, identifier: str | None) -> Entry | None:
    return None if mode is None or identifier is None else Entry(mode, bytes.fromhex(identifier))


def note(tx: Transaction, session_id: str, files: Iterable[ChangedFile]) -> None:
    """Note that a session changed `files` again, and tell clients. What a file was before its first
    change stays as it is known.
    """
    for one in files:
        _put(tx, session_id, one)
    tell(tx, session_id)


def put_back(
    tx: Transaction, session_id: str, paths: Collection[str], known: Mapping[str, ChangedFile]
) -> None:
    """Let what was noted of `paths` be as it is `known`, and tell clients: it was not done."""
    for path in paths:
        tx.run("DELETE FROM file_change WHERE session_id = ? AND path = ?", (session_id, path))
    note(tx, session_id, known.values())


def replace_all(tx: Transaction, session_id: str, files: Iterable[ChangedFile]) -> None:
    """Let `files` be all that a session changed, and tell clients."""
    tx.run("DELETE FROM file_change WHERE session_id = ?", (session_id,))
    note(tx, session_id, files)


def _put(tx: Transaction, session_id: str, one: ChangedFile) -> None:
    before, after = one.sides
    tx.run(
        "INSERT INTO file_change (session_id, path, before_mode, before_id, after_mode, after_id,"
        " additions, deletions) VALUES (?,?,?,?,?,?,?,?) ON CONFLICT (session_id, path) DO UPDATE"
        " SET after_mode = excluded.after_mode, after_id = excluded.after_id,"
        " additions = excluded.additions, deletions = excluded.deletions",
        (session_id, one.path, *_columns(before), *_columns(after), one.additions, one.deletions),
    )
    if before == after:
        tx.run("DELETE FROM file_change WHERE session_id = ? AND path = ?", (session_id, one.path))


def _columns(entry: Entry | None) -> tuple[int | None, str | None]:
    return (None, None) if entry is None else (entry.mode, entry.id.hex())


def tell(tx: Transaction, session_id: str) -> None:
    """Show the sums in the session, and emit `session.diff`."""
    sums = tx.one(
        "SELECT count(*) AS files, sum(additions) AS additions, sum(deletions) AS deletions"
        " FROM file_change WHERE session_id = ?",
        (session_id,),
    )
    totals = None
    if sums is not None and sums["files"]:
        totals = ChangeTotals(sums["additions"], sums["deletions"], sums["files"])
    store.set_summary(tx, session_id, totals)
    shown = [one.shown for one in of_session(tx, session_id, limit=TOLD)]
    about = {"sessionID": session_id, "diff": shown}
    tx.emit(Event("session.diff", about, session_id=session_id))


def changed_files(
    files: Mapping[str, Sides], counts: Mapping[str, tuple[int, int]]
) -> list[ChangedFile]:
    """`files` with the lines that came and went in each, at most `LISTED` of them."""
    chosen = sorted(files.items())[:LISTED]
    return [ChangedFile(path, sides, *counts.get(path, (0, 0))) for path, sides in chosen]
