"""Checks of what is stored: the database, work that was interrupted."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

from roost.actors import store as actors
from roost.actors.owner import has_died
from roost.actors.rows import damaged_rows
from roost.cli.doctor.findings import Finding, fail, ok, warn
from roost.cli.states import Watch, owners_folder
from roost.config.paths import Paths
from roost.core.amounts import counted
from roost.core.errors import StorageError
from roost.db.connect import connect, explain
from roost.db.migrations import MIGRATIONS, version_of
from roost.db.transaction import Reader
from roost.sessions import store as sessions
from roost.sessions.unreadable import unreadable_rows

LATEST: Final = len(MIGRATIONS)
_NAMED: Final = 3
"""Interrupted sessions that are named."""
_ROWS: Final = 20
"""Rows that are named."""
_UNREAD: Final = "roost sessions export ID > ID.json"
_SAVE: Final = "roost sessions list --all; roost sessions export ID > ID.json"


def check_stored(paths: Paths, *, deep: bool) -> Iterator[Finding]:
    """The database as it lies there; nothing is written to it. `deep` reads all of it."""
    path = paths.database
    if not path.exists():
        yield ok("database", "none yet; it is made with the first session")
        return
    try:
        with closing(connect(path, read_only=True)) as connection:
            yield _version(connection, path)
            if deep:
                yield _integrity(connection, path)
            if version_of(connection) == LATEST:
                yield _rows(connection)
                yield _owners(connection, paths)
    except StorageError as error:
        yield fail("database", error.message, error.hint)
    except sqlite3.Error as error:
        known = explain(error, path)
        yield fail("database", known.message, known.hint)


def _version(connection: sqlite3.Connection, path: Path) -> Finding:
    version = version_of(connection)
    size = path.stat().st_size / 1_000_000
    if version > LATEST:
        detail = f"{path} was written by a newer roost (schema {version}, this one knows {LATEST})"
        mend = "In the checkout: git pull && make setup (or: export ROOST_HOME=/another/folder)"
        return fail("database", detail, mend)
    if version < LATEST:
        return ok("database", f"schema {version}; the next start brings it to {LATEST}")
    count = sessions.count(Reader(connection))
    return ok("database", f"{counted(count, 'session')}, {size:.1f} MB, schema {version}")


def _integrity(connection: sqlite3.Connection, path: Path) -> Finding:
    problems = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(20)")]
    if problems != ["ok"]:
        mend = "Save what can still be read, session by session, before the file is set aside:\n"
        return fail("integrity", "; ".join(problems), mend + _SAVE)
    broken = connection.execute("PRAGMA foreign_key_check").fetchall()
    if broken:
        rows = counted(len(broken), "row belongs", "rows belong")
        detail = f"{rows} to nothing that is there, in {path}"
        mend = "Please report it. No session is lost; to keep a copy of each:\n"
        return fail("integrity", detail, mend + _SAVE)
    return ok("integrity", "every page and every reference is sound")


def _rows(connection: sqlite3.Connection) -> Finding:
    """The rows that no program can read; the rest of their sessions is sound."""
    db = Reader(connection)
    found = [*unreadable_rows(db), *damaged_rows(db)]
    if not found:
        return ok("rows", "every session, message, part, actor and turn can be read")
    named = "; ".join(f"{one.row} of {one.session_id}" for one in found[:_ROWS])
    more = f"; and {len(found) - _ROWS} more" if len(found) > _ROWS else ""
    return warn("rows", f"{counted(len(found), 'row')} cannot be read: {named}{more}", _UNREAD)


def _owners(connection: sqlite3.Connection, paths: Paths) -> Finding:
    """Who runs actors, and who died doing so."""
    folder = owners_folder(paths.state)
    known = [path.stem for path in folder.glob("*.lock")]
    alive = [owner for owner in known if not has_died(folder, owner)]
    watch = Watch(folder)
    states = [(actor, watch.state(actor)) for actor in actors.not_idle(Reader(connection))]
    running = {actor.session_id for actor, state in states if state == "running"}
    interrupted = sorted({actor.session_id for actor, state in states if state == "interrupted"})
    shown = (
        f"{counted(len(alive), 'other process', 'other processes')},"
        f" {counted(len(running), 'running session')}"
    )
    if not interrupted:
        return ok("processes", shown)
    detail = f"{shown}; killed while they ran: {', '.join(interrupted[:_NAMED])}"
    if len(interrupted) > _NAMED:
        detail += f" and {len(interrupted) - _NAMED} more"
    mends = [f'roost run -s {session} "go on"' for session in interrupted[:_NAMED]]
    return warn("processes", detail, "\n".join(["Nothing is lost. To go on:", *mends]))
