"""The SQL of indexed files of memory: what is known of a file, and which sections are found."""

import sqlite3
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from roost.db.transaction import Reader, Transaction
from roost.memory.layout import Located
from roost.memory.sections import Section
from roost.memory.tokens import tokens
from roost.memory.weigh import weighed

MOST: Final = 200
"""Sections that are looked at for one answer."""


class KnownFile(Struct, frozen=True):
    """A file as it was when it was indexed."""

    id: int
    path: str
    stamp: str
    """What the file system said of it."""
    hash: str
    """Of its bytes."""


class Found(Struct, frozen=True):
    """A section that holds some of what is looked for."""

    path: str
    heading: str
    line: int
    text: str
    changed: int
    """When its file was changed: milliseconds since the epoch."""
    score: float


def known(db: Reader, scope: str, owner: str) -> dict[str, KnownFile]:
    """The indexed files of a project or session, by path."""
    rows = db.all(
        "SELECT id, path, stamp, hash FROM memory_file WHERE scope = ? AND owner = ?",
        (scope, owner),
    )
    return {row["path"]: KnownFile(*row) for row in rows}


def owners(db: Reader, scope: str) -> list[str]:
    """The projects or sessions of which files are indexed."""
    sql = "SELECT DISTINCT owner FROM memory_file WHERE scope = ?"
    return [row["owner"] for row in db.all(sql, (scope,))]


def restamp(tx: Transaction, file: KnownFile, stamp: str) -> None:
    """Note what the file system says of a file with the same content."""
    tx.run("UPDATE memory_file SET stamp = ? WHERE id = ?", (stamp, file.id))


def remove(tx: Transaction, file: KnownFile) -> None:
    """Forget a file with its sections."""
    sql = "SELECT id, heading, body FROM memory_section WHERE file_id = ?"
    facets = _facets(tx.all("SELECT scope, owner FROM memory_file WHERE id = ?", (file.id,))[0])
    for row in tx.all(sql, (file.id,)):
        # A table without content forgets a row only if it is told what the row held.
        tx.run(
            "INSERT INTO memory_terms (memory_terms, rowid, tokens) VALUES ('delete', ?, ?)",
            (row["id"], _terms(row["heading"], row["body"], facets)),
        )
    tx.run("DELETE FROM memory_section WHERE file_id = ?", (file.id,))
    tx.run("DELETE FROM memory_file WHERE id = ?", (file.id,))


def add(
    tx: Transaction,
    located: Located,
    sections: Sequence[Section],
    *,
    stamp: str,
    content_hash: str,
    changed: int,
) -> None:
    """Index a file that is not known."""
    file_id = tx.insert(
        "INSERT INTO memory_file (path, scope, owner, stamp, hash, changed) VALUES (?,?,?,?,?,?)",
        (str(located.path), located.scope, located.owner, stamp, content_hash, changed),
    )
    facets = _facet(located.scope, located.owner)
    for one in sections:
        section_id = tx.insert(
            "INSERT INTO memory_section (file_id, heading, line, body) VALUES (?,?,?,?)",
            (file_id, one.heading, one.line, one.text),
        )
        tx.run(
            "INSERT INTO memory_terms (rowid, tokens) VALUES (?, ?)",
            (section_id, _terms(one.heading, one.text, facets)),
        )


def search(db: Reader, words: Sequence[str], scopes: Sequence[tuple[str, str]]) -> list[Found]:
    """The sections in any of `scopes` (with their owners; none: in all) that hold any of `words`,
    the best first.
    """
    facets = [_facet(scope, owner) for scope, owner in scopes]
    counted = db.one("SELECT count(*) AS count FROM memory_section")
    total = counted["count"] if counted else 0
    best = weighed(db, "memory", words, [facets], total)[:MOST]
    sql = (
        "SELECT f.path, s.heading, s.line, s.body, f.changed FROM memory_section s"
        " JOIN memory_file f ON f.id = s.file_id WHERE s.id = ?"
    )
    found: list[Found] = []
    for number, score in best:
        row = db.one(sql, (number,))
        if row is not None:
            path, heading, line, body, changed = row
            found.append(Found(path, heading, line, body, changed, score))
    return found


def _terms(heading: str, body: str, facet: str) -> str:
    return " ".join([*tokens(f"{heading}\n{body}"), facet])


def _facets(row: sqlite3.Row) -> str:
    return _facet(row["scope"], row["owner"])


def _facet(scope: str, owner: str) -> str:
    """The token that every section of a scope holds; no word of a text begins so."""
    return f"@{scope}:{owner}"
