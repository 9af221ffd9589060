"""Numbered migrations, applied in order in one transaction.

Each is a function of the connection; its place in `MIGRATIONS` is its number, so none is ever
removed or reordered. The SQL stays within what PostgreSQL also understands.
"""

import sqlite3
from collections.abc import Callable
from typing import Final

from roost.core.failpoints import failpoint
from roost.db.schema import (
    ACTOR_TABLES,
    FIRST_TABLES,
    GOAL_TABLES,
    PREFIX_TABLES,
    TRACE_TABLES,
    UNDO_TABLES,
    WITHOUT_EPOCH,
)
from roost.db.schema_context import CONTEXT_TABLES


def _create_first_tables(connection: sqlite3.Connection) -> None:
    for statement in FIRST_TABLES:
        connection.execute(statement)


def _add_actor_tables(connection: sqlite3.Connection) -> None:
    for statement in ACTOR_TABLES:
        connection.execute(statement)


def _add_goal_tables(connection: sqlite3.Connection) -> None:
    for statement in GOAL_TABLES:
        connection.execute(statement)


def _add_undo_tables(connection: sqlite3.Connection) -> None:
    for statement in UNDO_TABLES:
        connection.execute(statement)


def _add_trace_tables(connection: sqlite3.Connection) -> None:
    for statement in TRACE_TABLES:
        connection.execute(statement)


def _add_prefix_tables(connection: sqlite3.Connection) -> None:
    for statement in PREFIX_TABLES:
        connection.execute(statement)


def _add_context_tables(connection: sqlite3.Connection) -> None:
    for statement in CONTEXT_TABLES:
        connection.execute(statement)


def _drop_epoch(connection: sqlite3.Connection) -> None:
    for statement in WITHOUT_EPOCH:
        connection.execute(statement)


Steps = tuple[Callable[[sqlite3.Connection], None], ...]
MIGRATIONS: Final[Steps] = (
    _create_first_tables,
    _add_actor_tables,
    _add_goal_tables,
    _add_undo_tables,
    _add_trace_tables,
    _add_prefix_tables,
    _drop_epoch,
    _add_context_tables,
)


def version_of(connection: sqlite3.Connection) -> int:
    """The number of the last migration that this file has seen; 0 for an empty file."""
    known = connection.execute(
        "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'meta'"
    ).fetchone()[0]
    if not known:
        return 0
    row = connection.execute("SELECT value FROM meta WHERE key = 'schema'").fetchone()
    return int(row[0]) if row else 0


def migrate(connection: sqlite3.Connection, steps: Steps = MIGRATIONS) -> None:
    """Apply what is missing of `steps`. One transaction: afterwards the file is new, or as it was.

    Several processes may call it at once; the lock lets one through and the others find nothing
    left to do.
    """
    connection.execute("BEGIN IMMEDIATE")
    try:
        failpoint("migrate.begin")
        connection.execute(
            "CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)"
        )
        for step in steps[version_of(connection) :]:
            step(connection)
            failpoint("migrate.step")
        connection.execute(
            "INSERT INTO meta (key, value) VALUES ('schema', ?)"
            " ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            (str(len(steps)),),
        )
        failpoint("migrate.commit")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    failpoint("migrate.end")
