"""What a person is asked, as rows: listable, answerable in any order, from any process.

The wire shapes are OpenCode's (`PermissionRequest`, `QuestionRequest` of `@opencode-ai/sdk` 1.14).
"""

import sqlite3
from typing import Any, ClassVar, Final, Literal, cast

import msgspec
from msgspec import Struct

from roost.actors.turn_store import has_ended
from roost.core.clock import now_ms
from roost.core.errors import ConflictError, DeniedError, NotFoundError
from roost.core.failpoints import failpoint
from roost.core.ids import new_id
from roost.core.text import echo
from roost.db.transaction import Reader, Transaction
from roost.events.types import Event
from roost.inbox.changes import take_back
from roost.inbox.models import Address
from roost.sessions import store as sessions
from roost.sessions.models import agent_id_of
from roost.sessions.unreadable import FAULTS

_UNREAD: Final = "This request is damaged in the database and cannot be read. Refuse it."
_UNREADABLE: Final[dict[str, Any]] = {
    "permission": "unreadable",
    "patterns": [],
    "always": [],
    "metadata": {"title": _UNREAD},
    "questions": [{"header": "damaged", "question": _UNREAD, "options": []}],
}
"""What is shown of such a request, whatever it was."""
_decoder = msgspec.json.Decoder(dict[str, Any])
Kind = Literal["permission", "question"]
State = Literal["open", "answered", "withdrawn"]


class RejectedError(DeniedError):
    """A person said no. `blocks`: without a word on how to go on, so the turn stops."""

    longest: ClassVar[int] = 60_000
    """It holds the person's words."""

    def __init__(self, message: str, *, blocks: bool) -> None:
        super().__init__(message)
        self.blocks = blocks


class Ask(Struct, frozen=True):
    """One request to a person."""

    id: str
    session_id: str
    actor_id: str
    kind: Kind
    request: dict[str, Any]
    """As the wire shows it, with `id` and `sessionID`."""
    state: State
    created: int
    turn_id: str | None = None
    answer: dict[str, Any] | None = None
    """`{reply, message?}` of a permission, `{answers}` or `{rejected: true}` of a question."""
    deadline: int | None = None
    """When it is refused if nobody has answered; milliseconds since the epoch."""
    forced: bool = False
    """Only a person may agree."""
    damaged: bool = False
    """What is asked cannot be read: `request` says so, and nobody can agree to it."""


def open_ask(
    tx: Transaction,
    address: Address,
    turn_id: str,
    kind: Kind,
    request: dict[str, Any],
    *,
    deadline: int | None = None,
    forced: bool = False,
) -> Ask:
    """Store a new request and tell clients."""
    identifier = new_id(kind)
    shown = {"id": identifier, "sessionID": address.session_id, **request}
    if (agent_id := agent_id_of(address.session_id, address.actor_id)) is not None:
        shown["actorID"] = agent_id
    ask = Ask(
        id=identifier,
        session_id=address.session_id,
        actor_id=address.actor_id,
        kind=kind,
        request=shown,
        state="open",
        created=now_ms(),
        turn_id=turn_id,
        deadline=deadline,
        forced=forced,
    )
    failpoint("ask.before")
    tx.run(
        "INSERT INTO ask (id, session_id, actor_id, turn_id, kind, request, state, created,"
        " deadline, forced) VALUES (?,?,?,?,?,?,'open',?,?,?)",
        (
            ask.id,
            ask.session_id,
            ask.actor_id,
            turn_id,
            kind,
            msgspec.json.encode(shown).decode(),
            ask.created,
            deadline,
            int(forced),
        ),
    )
    tx.emit(Event(f"{kind}.asked", shown, session_id=address.session_id))
    return ask


def from_row(row: sqlite3.Row) -> Ask:
    """A row of the table as a struct. Raises one of `FAULTS` where it is damaged."""
    return Ask(
        id=row["id"],
        session_id=row["session_id"],
        actor_id=row["actor_id"],
        kind=row["kind"],
        request=_decoder.decode(row["request"]),
        state=row["state"],
        created=row["created"],
        turn_id=row["turn_id"],
        answer=_decoder.decode(row["answer"]) if row["answer"] else None,
        deadline=row["deadline"],
        forced=bool(row["forced"]),
    )


def _as_far_as_read(row: sqlite3.Row) -> Ask:
    """The request of a row that may be damaged: it must hide no other, and can still be refused."""
    try:
        return from_row(row)
    except FAULTS:
        return _in_place_of(row)


def _in_place_of(row: sqlite3.Row) -> Ask:
    readable: dict[str, Any] = dict(row)
    if damaged := not _is_readable(row["request"]):
        shown = {"id": row["id"], "sessionID": row["session_id"], **_UNREADABLE}
        readable |= {"request": msgspec.json.encode(shown), "forced": True}
    if not _is_readable(row["answer"]):
        readable["answer"] = None
    return msgspec.structs.replace(from_row(cast("sqlite3.Row", readable)), damaged=damaged)


def _is_readable(data: str | None) -> bool:
    try:
        _ = _decoder.decode(data or "")
    except FAULTS:
        return False
    return True


def get(db: Reader, ask_id: str) -> Ask:
    """The request of that id. Raises `NotFoundError`."""
    row = db.one("SELECT * FROM ask WHERE id = ?", (ask_id,))
    if row is None:
        raise NotFoundError(f"there is no request {echo(ask_id)}")
    return _as_far_as_read(row)


def listed(db: Reader, session_id: str | None = None, kind: Kind | None = None) -> list[Ask]:
    """The requests that wait for an answer, the oldest first."""
    rows = db.all(
        "SELECT * FROM ask WHERE state = 'open' AND (? IS NULL OR session_id = ?)"
        " AND (? IS NULL OR kind = ?) ORDER BY created, id",
        (session_id, session_id, kind, kind),
    )
    return [_as_far_as_read(row) for row in rows]


def listed_below(db: Reader, session_id: str) -> list[Ask]:
    """The requests that wait for an answer in a session and all below it, the oldest first."""
    below = set(sessions.ids_within(db, session_id))
    return [ask for ask in listed(db) if ask.session_id in below]


def notice_key(ask_id: str) -> str:
    """The key in an inbox of the news that somebody asks."""
    return f"ask:{ask_id}"


def answer(tx: Transaction, ask_id: str, kind: Kind, words: dict[str, Any]) -> Ask:
    """Store the answer and tell clients.

    Raises `NotFoundError` for an unknown request, `ConflictError` if it was answered before, or is
    damaged and not refused.
    """
    ask = get(tx, ask_id)
    if ask.kind != kind:
        raise NotFoundError(f"there is no {kind} request {echo(ask_id)}")
    if ask.damaged and not (words.get("rejected") or words.get("reply") == "reject"):
        raise ConflictError(
            f"request {ask_id} is damaged in the database, and nobody can tell what it asks",
            hint="Refuse it.",
        )
    changed = tx.run(
        "UPDATE ask SET state = 'answered', answer = ?, answered = ?"
        " WHERE id = ? AND state = 'open'",
        (msgspec.json.encode(words).decode(), now_ms(), ask_id),
    )
    if not changed:
        raise ConflictError(f"request {ask_id} was {ask.state} already")
    take_back(tx, notice_key(ask_id))
    failpoint("ask.answered")
    tx.emit(Event(*_news(ask, words), session_id=ask.session_id))
    return msgspec.structs.replace(ask, state="answered", answer=words)


def _news(ask: Ask, words: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    about = {"sessionID": ask.session_id, "requestID": ask.id}
    if ask.kind == "permission":
        return "permission.replied", {**about, "reply": words.get("reply", "reject")}
    if words.get("rejected"):
        return "question.rejected", about
    return "question.replied", {**about, "answers": words.get("answers", [])}


def tell_outcome(tx: Transaction, ask: Ask) -> None:
    """Tell the clients of this process what has become of a request through another one."""
    withdrawn: dict[str, Any] = {"reply": "reject", "rejected": True}
    # An answer that cannot be read allows nothing.
    words = ask.answer if ask.state == "answered" and ask.answer else withdrawn
    tx.emit(Event(*_news(ask, words), session_id=ask.session_id))


def withdraw(tx: Transaction, ask: Ask) -> None:
    """Close a request that nobody needs answered any more; clients see it as rejected."""
    changed = tx.run(
        "UPDATE ask SET state = 'withdrawn', answered = ? WHERE id = ? AND state = 'open'",
        (now_ms(), ask.id),
    )
    if changed:
        take_back(tx, notice_key(ask.id))
        tell_outcome(tx, msgspec.structs.replace(ask, state="withdrawn"))


def withdraw_open(tx: Transaction, turn_id: str) -> None:
    """Close every open request of a turn that ends."""
    for row in tx.all("SELECT * FROM ask WHERE turn_id = ? AND state = 'open'", (turn_id,)):
        withdraw(tx, _as_far_as_read(row))


def withdraw_lost(tx: Transaction) -> None:
    """Close the requests of turns that have ended without doing it themselves."""
    for row in tx.all("SELECT * FROM ask WHERE state = 'open' AND turn_id IS NOT NULL"):
        if has_ended(tx, row["turn_id"]):
            withdraw(tx, _as_far_as_read(row))


def grants_of(db: Reader, project_id: str) -> list[tuple[str, str]]:
    """What the person has allowed for good in a project: `(permission, pattern)`."""
    rows = db.all(
        "SELECT permission, pattern FROM permission_grant WHERE project_id = ? ORDER BY created",
        (project_id,),
    )
    return [(row["permission"], row["pattern"]) for row in rows]


def remember(tx: Transaction, project_id: str, permission: str, patterns: list[str]) -> None:
    """Allow `patterns` for good in a project."""
    for pattern in patterns:
        tx.run(
            "INSERT INTO permission_grant (project_id, permission, pattern, created)"
            " VALUES (?,?,?,?) ON CONFLICT DO NOTHING",
            (project_id, permission, pattern, now_ms()),
        )
