"""Checks of what is stored: the database, interrupted work, locks of processes that are gone."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

from roost.actors import store as actors
from roost.actors.owner import Owner
from roost.cli.doctor.findings import Finding, fail, ok, warn
from roost.cli.storage import DATABASE_NAME
from roost.config.paths import Paths
from roost.core.errors import StorageError
from roost.db.connect import connect, explain
from roost.db.migrations import MIGRATIONS, version_of
from roost.db.transaction import Reader
from roost.sessions import store as sessions

LATEST: Final = len(MIGRATIONS)


def check_stored(paths: Paths, *, deep: bool) -> Iterator[Finding]:
    """The database as it lies there; nothing is written to it. `deep` reads all of it."""
    path = paths.data / DATABASE_NAME
    if not path.exists():
        yield ok("database", "none yet; it is made with the first session")
        return
    try:
        with closing(connect(path, read_only=True)) as connection:
            yield _version(connection, path)
            if deep:
                yield _integrity(connection)
            if version_of(connection) == LATEST:
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
        return fail("database", detail, "Upgrade roost, or set ROOST_HOME to another folder.")
    if version < LATEST:
        return ok("database", f"schema {version}; the next start brings it to {LATEST}")
    count = sessions.count(Reader(connection))
    return ok("database", f"{count} sessions, {size:.1f} MB, schema {version}")


def _integrity(connection: sqlite3.Connection) -> Finding:
    problems = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(20)")]
    if problems != ["ok"]:
        mend = "Export what still can be read; the next start sets a damaged file aside."
        return fail("integrity", "; ".join(problems), mend)
    broken = connection.execute("PRAGMA foreign_key_check").fetchall()
    if broken:
        return fail("integrity", f"{len(broken)} rows belong to nothing", "Please report it.")
    return ok("integrity", "every page and every reference is sound")


def _owners(connection: sqlite3.Connection, paths: Paths) -> Finding:
    """Who runs actors, who died doing so, and which locks nobody needs."""
    folder = paths.state / "owners"
    owner = Owner(folder)
    try:
        known = [path.stem for path in folder.glob("*.lock") if path.stem != owner.id]
        dead = {identifier for identifier in known if owner.is_dead(identifier)}
        busy = actors.not_idle(Reader(connection))
        interrupted = {a.session_id for a in busy if a.owner in dead}
        running = {a.session_id for a in busy if a.owner is not None and a.owner not in dead}
        named = {actor.owner for actor in busy}
        stale = dead - named
        shown = f"{len(known) - len(dead)} other processes, {len(running)} running sessions"
        if interrupted:
            ids = ", ".join(sorted(interrupted)[:3])
            mend = "Each is mended when it is next used: roost run -s ID, or any server."
            return warn("processes", f"{shown}; killed while they ran: {ids}", mend)
        if stale:
            mend = f"They do no harm and may be removed from {folder}."
            return warn("processes", f"{shown}, {len(stale)} stale locks of dead ones", mend)
        return ok("processes", shown)
    finally:
        owner.close()
