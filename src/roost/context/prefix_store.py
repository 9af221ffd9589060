"""The SQL of pinned prefixes."""

import sqlite3

import msgspec

from roost.context.prefix import Prefix
from roost.core.clock import now_ms
from roost.db.transaction import Reader, Transaction


def find(db: Reader, session_id: str, profile: str) -> Prefix | None:
    """The prefix of a session for a profile, if one is pinned. One that is damaged is none."""
    row = db.one(
        "SELECT * FROM prefix_snapshot WHERE session_id = ? AND profile = ?",
        (session_id, profile),
    )
    return _from_row(row)


def newest(db: Reader, session_id: str) -> Prefix | None:
    """The prefix that was pinned last in a session, whoever's it is."""
    row = db.one(
        "SELECT * FROM prefix_snapshot WHERE session_id = ? ORDER BY updated DESC LIMIT 1",
        (session_id,),
    )
    return _from_row(row)


def _from_row(row: sqlite3.Row | None) -> Prefix | None:
    if row is None:
        return None
    try:
        return Prefix(
            profile=row["profile"],
            system=msgspec.json.decode(row["system"], type=tuple[str, ...]),
            tools=msgspec.json.decode(row["tools"], type=tuple[str, ...]),
            tools_hash=row["tools_hash"],
            revision=row["revision"],
        )
    except msgspec.MsgspecError:
        return None


def put(tx: Transaction, session_id: str, prefix: Prefix) -> None:
    """Pin `prefix` in the place of the one before it."""
    now = now_ms()
    tx.run(
        "INSERT INTO prefix_snapshot"
        " (session_id, profile, revision, system, tools, tools_hash, created, updated)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (session_id, profile) DO UPDATE SET"
        " revision = excluded.revision, system = excluded.system, tools = excluded.tools,"
        " tools_hash = excluded.tools_hash, updated = excluded.updated",
        (
            session_id,
            prefix.profile,
            prefix.revision,
            msgspec.json.encode(prefix.system).decode(),
            msgspec.json.encode(prefix.tools).decode(),
            prefix.tools_hash,
            now,
            now,
        ),
    )
