"""The SQL of the inbox: queue, list, deliver. What a row becomes is in `drain.py`,
and who is woken by it in `roost.actors.send`: this floor knows no actors.
"""

import sqlite3
from typing import Final

import msgspec

from roost.core.clock import now_ms
from roost.core.errors import ConflictError, NotFoundError, UsageError
from roost.core.failpoints import failpoint
from roost.core.ids import new_id
from roost.core.text import echo
from roost.db.transaction import Reader, Transaction
from roost.inbox import shown
from roost.inbox.models import (
    RUNTIME_KINDS,
    Address,
    Body,
    InboxRow,
    Letter,
    PromptBody,
    Receipt,
    decode_body,
    encode_body,
)
from roost.inbox.order import in_order
from roost.sessions import transcript

QUEUE_LIMIT: Final = 1_000
"""Rows that may wait for one actor; the next is refused."""


def enqueue(tx: Transaction, letter: Letter) -> Receipt:
    """Queue `letter` for a receiver that is there, and tell clients. Accepted means stored.

    `roost.actors.send.send` is what all others call: it also wakes the receiver. A prompt's key is
    the id that was chosen for it. Raises `ConflictError` when the key was used for something else
    or for what was taken back, `UsageError` when the queue is full; the runtime is never refused.
    """
    if isinstance(letter.body, PromptBody):
        letter = msgspec.structs.replace(letter, key=letter.body.message_id)
    if (known := _known(tx, letter)) is not None:
        return known
    if isinstance(letter.body, PromptBody):
        _check_id(tx, letter.body.message_id)
        letter = msgspec.structs.replace(letter, body=in_order(tx, letter.receiver, letter.body))
    if letter.kind not in RUNTIME_KINDS:
        _check_room(tx, letter.receiver)
    failpoint("send.before")
    row = _insert(tx, letter)
    failpoint("send.inserted")
    shown.tell(tx, row)
    return Receipt(row.id, row.seq, new=True)


def _known(tx: Transaction, letter: Letter) -> Receipt | None:
    if letter.key is None:
        return None
    row = tx.one(
        "SELECT id, seq, kind, body, state FROM inbox"
        " WHERE receiver_session = ? AND receiver_actor = ? AND key = ?",
        (letter.receiver.session_id, letter.receiver.actor_id, letter.key),
    )
    if row is None:
        return None
    if row["kind"] != letter.kind or not _same(letter.kind, row["body"], letter.body):
        raise ConflictError(f"{letter.key} was already used for another message")
    if row["state"] in {"rejected", "expired"}:
        raise ConflictError(
            f"message {letter.key} was {row['state']}", hint="Send it again under another id."
        )
    return Receipt(row["id"], row["seq"], new=False)


def _same(kind: str, stored: str, body: Body) -> bool:
    """Whether two bodies say the same; part ids and times may differ when a client tries again.

    What this program cannot read says something else.
    """

    def essence(value: Body) -> object:
        if not isinstance(value, PromptBody):
            return value
        return [msgspec.structs.replace(part, id="", message_id="") for part in value.parts]

    try:
        return essence(decode_body(kind, stored)) == essence(body)
    except msgspec.MsgspecError:
        return False


def _check_id(tx: Transaction, message_id: str) -> None:
    """Refuse an id that could not become a message: better now than when it is read."""
    queued = tx.one(
        "SELECT 1 FROM inbox WHERE kind IN ('prompt', 'brief') AND key = ?", (message_id,)
    )
    if queued is not None or transcript.seq_of(tx, message_id) is not None:
        raise ConflictError(f"{message_id} was already used for another message")


def _check_room(tx: Transaction, receiver: Address) -> None:
    waiting = tx.one(
        "SELECT count(*) AS n FROM inbox"
        " WHERE receiver_session = ? AND receiver_actor = ? AND state = 'queued'",
        (receiver.session_id, receiver.actor_id),
    )
    if waiting is not None and waiting["n"] >= QUEUE_LIMIT:
        raise UsageError(
            f"the inbox of {receiver.actor_id} is full ({QUEUE_LIMIT} messages wait)",
            hint="Wait until some are read, or withdraw some.",
        )


def _insert(tx: Transaction, letter: Letter) -> InboxRow:
    now = now_ms()
    identifier = new_id("inbox")
    sender = letter.sender
    message_id = letter.body.message_id if isinstance(letter.body, PromptBody) else None
    seq = tx.insert(
        "INSERT INTO inbox (id, receiver_session, receiver_actor, sender_session, sender_actor,"
        " sender_turn, kind, body, reply_to, key, wake, hops, message_id, state, created)"
        " VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,'queued',?)",
        (
            identifier,
            letter.receiver.session_id,
            letter.receiver.actor_id,
            sender.session_id if sender else None,
            sender.actor_id if sender else None,
            letter.sender_turn,
            letter.kind,
            encode_body(letter.body),
            letter.reply_to,
            letter.key,
            int(letter.wake),
            letter.hops,
            message_id,
            now,
        ),
    )
    return InboxRow(
        seq=seq,
        id=identifier,
        receiver=letter.receiver,
        kind=letter.kind,
        body=letter.body,
        state="queued",
        created=now,
        sender=sender,
        sender_turn=letter.sender_turn,
        reply_to=letter.reply_to,
        key=letter.key,
        wake=letter.wake,
        hops=letter.hops,
        message_id=message_id,
    )


def from_row(row: sqlite3.Row) -> InboxRow:
    """A row of the table as a struct."""
    sender = Address(row["sender_session"], row["sender_actor"]) if row["sender_actor"] else None
    return InboxRow(
        seq=row["seq"],
        id=row["id"],
        receiver=Address(row["receiver_session"], row["receiver_actor"]),
        kind=row["kind"],
        body=decode_body(row["kind"], row["body"]),
        state=row["state"],
        created=row["created"],
        sender=sender,
        sender_turn=row["sender_turn"],
        reply_to=row["reply_to"],
        key=row["key"],
        wake=bool(row["wake"]),
        message_id=row["message_id"],
        turn_id=row["turn_id"],
        delivered=row["delivered"],
        hops=row["hops"],
    )


def queued(db: Reader, receiver: Address, limit: int = QUEUE_LIMIT) -> list[InboxRow]:
    """What waits for an actor, in the order it will be read."""
    rows = db.all(
        "SELECT * FROM inbox WHERE receiver_session = ? AND receiver_actor = ?"
        " AND state = 'queued' ORDER BY seq LIMIT ?",
        (receiver.session_id, receiver.actor_id, limit),
    )
    return [row for raw in rows if (row := readable(raw)) is not None]


def queued_in(db: Reader, session_id: str, actor_id: str | None) -> list[InboxRow]:
    """What waits in a session for an actor (None: for any), in the order it was accepted."""
    rows = db.all(
        "SELECT * FROM inbox WHERE receiver_session = ? AND (? IS NULL OR receiver_actor = ?)"
        " AND state = 'queued' ORDER BY seq",
        (session_id, actor_id, actor_id),
    )
    return [row for raw in rows if (row := readable(raw)) is not None]


def queued_as(db: Reader, session_id: str, message_id: str) -> InboxRow | None:
    """The queued prompt of a session that is shown as the message `message_id`."""
    row = db.one(
        "SELECT * FROM inbox WHERE receiver_session = ? AND state = 'queued' AND message_id = ?",
        (session_id, message_id),
    )
    return None if row is None else readable(row)


def readable(raw: sqlite3.Row) -> InboxRow | None:
    """A row of the table as a struct; None if this program cannot read it."""
    try:
        return from_row(raw)
    except msgspec.MsgspecError:
        return None


def take_queued(
    tx: Transaction,
    receiver: Address,
    limit: int,
    *,
    of_turn: str | None = None,
    until: int | None = None,
) -> list[InboxRow]:
    """What waits for an actor, in order, to be delivered in this transaction; with `of_turn` only
    what it said to itself in that turn, with `until` only what was sent by then (milliseconds since
    the epoch).

    A row that cannot be read, for example of a newer program, is rejected: left there it would
    stand in the way of all that follows.
    """
    raws = tx.all(
        "SELECT * FROM inbox WHERE receiver_session = ? AND receiver_actor = ?"
        " AND state = 'queued' AND (? IS NULL OR (kind = 'system' AND sender_turn = ?))"
        " AND (? IS NULL OR created <= ?) ORDER BY seq LIMIT ?",
        (receiver.session_id, receiver.actor_id, of_turn, of_turn, until, until, limit),
    )
    rows: list[InboxRow] = []
    for raw in raws:
        if (row := readable(raw)) is not None:
            rows.append(row)
            continue
        tx.run("UPDATE inbox SET state = 'rejected' WHERE seq = ?", (raw["seq"],))
        shown.tell_state(tx, receiver.session_id, raw["id"], "rejected")
    return rows


def mark_delivered(tx: Transaction, row: InboxRow, message_id: str, turn_id: str) -> None:
    """Note that `row` became the message `message_id`, in the turn that took it up."""
    tx.run(
        "UPDATE inbox SET state = 'delivered', message_id = ?, turn_id = ?, delivered = ?"
        " WHERE seq = ?",
        (message_id, turn_id, now_ms(), row.seq),
    )


def find(db: Reader, inbox_id: str) -> InboxRow | None:
    """The row of that id, or of the prompt with that message id; None if there is none.

    Raises `ConflictError` for one that this program cannot read.
    """
    raw = db.one(
        "SELECT * FROM inbox WHERE id = ? OR (kind IN ('prompt', 'brief') AND key = ?)",
        (inbox_id, inbox_id),
    )
    if raw is None:
        return None
    if (row := readable(raw)) is None:
        raise ConflictError(
            f"message {inbox_id} cannot be read: another version of Roost wrote it",
            hint="Use the version that did, or a newer one.",
        )
    return row


def get(db: Reader, inbox_id: str) -> InboxRow:
    """The row of that id, or of the prompt with that message id. Raises `NotFoundError`."""
    if (row := find(db, inbox_id)) is None:
        raise NotFoundError(f"there is no message {echo(inbox_id)} in any inbox")
    return row


def has_mail(db: Reader, receiver: Address) -> bool:
    """Whether something waits that is worth a turn."""
    return is_there(db, receiver, "state = 'queued' AND wake = 1")


def has_prompt(db: Reader, receiver: Address) -> bool:
    """Whether words of a person wait for the actor."""
    return is_there(db, receiver, "state = 'queued' AND kind = 'prompt' AND wake = 1")


def heard_prompt(db: Reader, receiver: Address, turn_id: str) -> bool:
    """Whether a turn of the receiver took up words of a person."""
    return is_there(
        db, receiver, "state = 'delivered' AND kind = 'prompt' AND turn_id = ?", turn_id
    )


def count_queued(db: Reader, receiver: Address, sender: Address | None = None) -> int:
    """How many messages wait for an actor, of all senders or of one."""
    by = sender or Address("", "")
    row = db.one(
        "SELECT count(*) AS n FROM inbox WHERE receiver_session = ? AND receiver_actor = ?"
        " AND state = 'queued' AND (? OR (sender_session = ? AND sender_actor = ?))",
        (receiver.session_id, receiver.actor_id, sender is None, by.session_id, by.actor_id),
    )
    return int(row["n"]) if row else 0


def sent_by(db: Reader, sender: Address, limit: int) -> list[InboxRow]:
    """The newest messages that an actor sent, the newest last."""
    rows = db.all(
        "SELECT * FROM inbox WHERE sender_session = ? AND sender_actor = ? AND kind = 'message'"
        " ORDER BY seq DESC LIMIT ?",
        (sender.session_id, sender.actor_id, limit),
    )
    return [row for raw in reversed(rows) if (row := readable(raw)) is not None]


def by_key(db: Reader, receiver: Address, key: str) -> InboxRow | None:
    """The row of that key, or None."""
    row = db.one(
        "SELECT * FROM inbox WHERE receiver_session = ? AND receiver_actor = ? AND key = ?",
        (receiver.session_id, receiver.actor_id, key),
    )
    return readable(row) if row else None


def only_prompts(db: Reader, receiver: Address, turn_id: str) -> bool:
    """Whether a turn was for a person alone: it took up prompts, and no other actor's words."""
    row = db.one(
        "SELECT count(*) AS n, coalesce(sum(kind != 'prompt'), 0) AS others FROM inbox"
        " WHERE receiver_session = ? AND receiver_actor = ? AND turn_id = ? AND kind != 'system'",
        (receiver.session_id, receiver.actor_id, turn_id),
    )
    return row is not None and row["n"] > 0 and row["others"] == 0


def has_request(db: Reader, receiver: Address) -> bool:
    """Whether the news waits for the actor that somebody asks for a permission."""
    return is_there(db, receiver, "state = 'queued' AND kind = 'permission'")


def is_there(db: Reader, receiver: Address, which: str, *values: str) -> bool:
    """Whether there is mail for the receiver of which the condition `which` holds."""
    sql = f"SELECT 1 FROM inbox WHERE receiver_session = ? AND receiver_actor = ? AND {which}"
    row = db.one(f"{sql} LIMIT 1", (receiver.session_id, receiver.actor_id, *values))
    return row is not None
