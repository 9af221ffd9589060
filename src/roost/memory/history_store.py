"""The SQL of the index of what was said: which messages it knows, and which passages are found.

Of a passage only its tokens and its place are kept; the text is where it was said. A message that
is gone takes its places with it, so that nothing of it is found any more; its tokens stay until
enough of them are left over, and the index is then made anew.
"""

import hashlib
import re
from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct

from roost.db.transaction import Reader, Transaction
from roost.memory.tokens import tokens
from roost.memory.weigh import weighed

UNFINISHED: Final = -1
"""The count of passages of a message that still grows."""
_MARK: Final = 5
"""Bytes of a mark."""
_ODD: Final = re.compile(r"[^A-Za-z0-9_.-]")
_STATE: Final = ("high", "low", "kinds", "sessions", "sum", "gone", "last")


class Place(Struct, frozen=True):
    """Where in a message a passage stands."""

    seq: int
    """Which of its texts."""
    kind: int
    chunk: int
    """Which piece of the text."""


class Passage(Struct, frozen=True):
    """A passage to be indexed."""

    place: Place
    tool: str
    text: str


class Heard(Struct, frozen=True):
    """A message to be indexed. `passages`: None while it still grows."""

    row: int
    message_id: str
    session_id: str
    project_id: str
    created: int
    passages: tuple[Passage, ...] | None


class State(Struct, frozen=True):
    """How far the index has come."""

    high: int = 0
    """Number of the newest message that it has looked at; 0: it is empty."""
    low: int = 0
    """Number of the oldest one; 0: there are none before it."""
    kinds: int = 0
    """What is indexed of a message, a bit for each kind."""
    sessions: int = 0
    sum: int = 0
    """How many sessions there were, and the sum of their numbers."""
    gone: int = 0
    """Passages of messages that are gone, of which the tokens are left."""
    last: int = 0
    """The id of the newest passage."""


class FoundPassage(Struct, frozen=True):
    """A passage that holds some of what is looked for."""

    row: int
    mark: int
    """Of the message, see `mark_of`."""
    created: int
    place: Place
    score: float


class Filters(Struct, frozen=True, kw_only=True):
    """What else must hold of a passage. Empty: anything may."""

    session_id: str = ""
    project_id: str = ""
    kinds: tuple[int, ...] = ()
    tool: str = ""
    since: int = 0
    until: int = 2**62


def state(db: Reader) -> State:
    """How far the index has come."""
    known = {row["key"]: row["value"] for row in db.all("SELECT key, value FROM heard_state")}
    return State(**{name: known[name] for name in _STATE if name in known})


def set_state(tx: Transaction, new: State) -> None:
    """Note how far it has come."""
    for name in _STATE:
        tx.run(
            "INSERT INTO heard_state (key, value) VALUES (?, ?)"
            " ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            (name, getattr(new, name)),
        )


def reset(tx: Transaction, kinds: int) -> None:
    """Forget everything, and index `kinds` from now on."""
    tx.run("INSERT INTO history_terms (history_terms) VALUES ('delete-all')")
    for sql in ("DELETE FROM passage", "DELETE FROM heard", "DELETE FROM heard_session"):
        tx.run(sql)
    set_state(tx, State(kinds=kinds))


def add(tx: Transaction, messages: Iterable[Heard], last: int) -> int:
    """Index messages, those that are known aside; `last` is the id of the newest passage, and what
    comes back is it afterwards.
    """
    for one in messages:
        sql = "SELECT count FROM heard WHERE row = ?"
        known = tx.one(sql, (one.row,))
        if known is not None and (known["count"] != UNFINISHED or one.passages is None):
            continue
        for passage in one.passages or ():
            last += 1
            _add_passage(tx, last, one, passage)
        count = UNFINISHED if one.passages is None else len(one.passages)
        first = last - max(0, count) + 1
        number = _session_number(tx, one.session_id)
        tx.run(
            "INSERT INTO heard (row, mark, session_no, created, first, count)"
            " VALUES (?,?,?,?,?,?) ON CONFLICT (row) DO UPDATE SET mark ="
            " excluded.mark, session_no = excluded.session_no, created = excluded.created,"
            " first = excluded.first, count = excluded.count",
            (one.row, mark_of(one.message_id), number, one.created, first, count),
        )
    return last


def _add_passage(tx: Transaction, number: int, one: Heard, passage: Passage) -> None:
    place = passage.place
    facets = [_session(one.session_id), _project(one.project_id), _kind(place.kind)]
    if passage.tool:
        facets.append(_tool(passage.tool))
    tx.run(
        "INSERT INTO passage (id, row, seq, kind, chunk) VALUES (?,?,?,?,?)",
        (number, one.row, place.seq, place.kind, place.chunk),
    )
    tx.run(
        "INSERT INTO history_terms (rowid, tokens) VALUES (?, ?)",
        (number, " ".join([*tokens(passage.text), *facets])),
    )


def _session_number(tx: Transaction, session_id: str) -> int:
    row = tx.one("SELECT no FROM heard_session WHERE id = ?", (session_id,))
    return (
        row["no"] if row else tx.insert("INSERT INTO heard_session (id) VALUES (?)", (session_id,))
    )


def mark_of(message_id: str) -> int:
    """A short word for an id, which tells it from another one of the same number."""
    return int.from_bytes(hashlib.sha256(message_id.encode()).digest()[:_MARK])


def newest(db: Reader, limit: int) -> list[tuple[int, int]]:
    """Numbers and marks of the messages with the highest numbers, the highest first."""
    rows = db.all("SELECT row, mark FROM heard ORDER BY row DESC LIMIT ?", (limit,))
    return [(row["row"], row["mark"]) for row in rows]


def unfinished(db: Reader) -> list[int]:
    """Messages that still grew when they were looked at."""
    return [row["row"] for row in db.all("SELECT row FROM heard WHERE count < 0")]


def forget(tx: Transaction, rows: Iterable[int]) -> int:
    """Forget messages; how many passages are gone with them."""
    gone = 0
    for number in rows:
        row = tx.one("SELECT first, count FROM heard WHERE row = ?", (number,))
        if row is None:
            continue
        first, count = row["first"], max(0, row["count"])
        tx.run("DELETE FROM passage WHERE id >= ? AND id < ?", (first, first + count))
        tx.run("DELETE FROM heard WHERE row = ?", (number,))
        gone += count
    return gone


def forget_sessions(tx: Transaction, there: set[str]) -> int:
    """Forget the messages of sessions that are not `there`; how many passages go with them."""
    gone = 0
    for one in tx.all("SELECT no, id FROM heard_session"):
        if one["id"] not in there:
            rows = tx.all("SELECT row FROM heard WHERE session_no = ?", (one["no"],))
            gone += forget(tx, [row["row"] for row in rows])
            tx.run("DELETE FROM heard_session WHERE no = ?", (one["no"],))
    return gone


def search(db: Reader, words: Sequence[str], filters: Filters, limit: int) -> list[FoundPassage]:
    """At most `limit` passages that hold any of `words`, the best first."""
    newest = db.one("SELECT max(id) AS id FROM passage")
    total = (newest["id"] if newest else None) or 0
    found: list[FoundPassage] = []
    for number, score in weighed(db, "history", words, _facets(db, filters), total):
        row = db.one(
            "SELECT p.row, h.mark, h.created, p.seq, p.kind, p.chunk FROM passage p"
            " JOIN heard h ON h.row = p.row"
            " WHERE p.id = ? AND h.created >= ? AND h.created <= ?",
            (number, filters.since, filters.until),
        )
        if row is None:
            continue  # it is gone, or of another time
        place = Place(row["seq"], row["kind"], row["chunk"])
        found.append(FoundPassage(row["row"], row["mark"], row["created"], place, score))
        if len(found) == limit:
            break
    return found


def _facets(db: Reader, filters: Filters) -> list[list[str]]:
    """What a passage must hold beside words; nothing for kinds that are all there are."""
    wanted = sum(1 << one for one in set(filters.kinds))
    kinds = filters.kinds if wanted != state(db).kinds else ()
    groups = [
        [_session(filters.session_id)] if filters.session_id else [],
        [_project(filters.project_id)] if filters.project_id else [],
        [_tool(filters.tool)] if filters.tool else [],
        [_kind(one) for one in kinds],
    ]
    return [group for group in groups if group]


def _session(session_id: str) -> str:
    return _facet("s", session_id)


def _project(project_id: str) -> str:
    return _facet("p", project_id)


def _kind(number: int) -> str:
    return _facet("k", str(number))


def _tool(name: str) -> str:
    return _facet("t", name)


def _facet(kind: str, value: str) -> str:
    """One token, whatever stands in `value`; no word of a text begins so."""
    return f"@{kind}:{_ODD.sub('_', value)}"
