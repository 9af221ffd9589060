"""The SQL of messages and parts: append, change, stream, load. Every write emits its event.

Order is `seq`, never the id or the clock.
"""

import sqlite3
from collections.abc import Iterable
from typing import Final

import msgspec
from msgspec import Struct

from roost.core.clock import now_ms
from roost.core.errors import ConflictError, NotFoundError
from roost.core.ids import new_id
from roost.db.transaction import Reader, Transaction
from roost.events.types import Event
from roost.sessions.models import AssistantInfo, Info, Message, UserInfo, encode_info
from roost.sessions.parts import (
    Part,
    ReasoningPart,
    StepFinishPart,
    TextPart,
    UnknownPart,
    encode_part,
    part_type,
)
from roost.sessions.unreadable import info_of, part_of

_PAGE: Final = 200
"""Steps that are read at once."""
_HEAD: Final = "id, session_id, actor_id, role, data"


def append_message(
    tx: Transaction, message: Message, *, actor_id: str, turn_id: str | None
) -> None:
    """Add `message` at the end of its session. Raises `ConflictError` if its id is taken."""
    info = message.info
    if tx.one("SELECT 1 FROM message WHERE id = ?", (info.id,)):
        raise ConflictError(f"message {info.id} is there already")
    last = tx.one("SELECT max(seq) AS seq FROM message WHERE session_id = ?", (info.session_id,))
    tx.run(
        "INSERT INTO message (id, session_id, actor_id, turn_id, seq, role, is_open, data)"
        " VALUES (?,?,?,?,?,?,?,?)",
        (
            info.id,
            info.session_id,
            actor_id,
            turn_id,
            ((last["seq"] if last else None) or 0) + 1,
            str(info.__struct_config__.tag),
            _is_open(info),
            encode_info(info),
        ),
    )
    tell_message(tx, info)
    for number, part in enumerate(message.parts, start=1):
        _insert_part(tx, part, number)
        tell_part(tx, part)


def tell_message(tx: Transaction, info: Info) -> None:
    """Emit `message.updated`."""
    tx.emit(
        Event(
            "message.updated",
            {"sessionID": info.session_id, "info": info},
            session_id=info.session_id,
        )
    )


def tell_part(tx: Transaction, part: Part) -> None:
    """Emit `message.part.updated`."""
    tx.emit(
        Event(
            "message.part.updated",
            {
                "sessionID": part.session_id,
                "part": part.raw if isinstance(part, UnknownPart) else part,
                "time": now_ms(),
            },
            session_id=part.session_id,
            part_id=part.id,
        )
    )


def update_message(tx: Transaction, info: Info) -> None:
    """Replace the head of a message."""
    changed = tx.run(
        "UPDATE message SET data = ?, is_open = ? WHERE id = ?",
        (encode_info(info), _is_open(info), info.id),
    )
    if not changed:
        raise NotFoundError(f"there is no message {info.id}")
    tell_message(tx, info)


def put_part(tx: Transaction, part: Part) -> None:
    """Add a part at the end of its message, or replace the part of that id with its text whole."""
    changed = tx.run(
        "UPDATE part SET data = ? WHERE id = ? AND message_id = ?",
        (encode_part(part), part.id, part.message_id),
    )
    if changed:
        tx.run("DELETE FROM part_tail WHERE part_id = ?", (part.id,))
    else:
        last = tx.one("SELECT max(seq) AS seq FROM part WHERE message_id = ?", (part.message_id,))
        _insert_part(tx, part, ((last["seq"] if last else None) or 0) + 1)
    tell_part(tx, part)


def _insert_part(tx: Transaction, part: Part, number: int) -> None:
    tx.run(
        "INSERT INTO part (id, message_id, session_id, seq, type, data) VALUES (?,?,?,?,?,?)",
        (part.id, part.message_id, part.session_id, number, part_type(part), encode_part(part)),
    )


def with_free_ids(db: Reader, message: Message) -> Message:
    """`message` with new ids in place of those that are taken, its own and its parts'."""
    info = message.info
    if seq_of(db, info.id) is not None:
        fresh = new_id("message", after=last_id(db, info.session_id))
        info = msgspec.structs.replace(info, id=fresh)
    parts: dict[str, Part] = {}
    for part in message.parts:
        taken = part.id in parts or db.one("SELECT 1 FROM part WHERE id = ?", (part.id,))
        own = new_id("part") if taken else part.id
        parts[own] = msgspec.structs.replace(part, id=own, message_id=info.id)
    return Message(info, tuple(parts.values()))


def append_tail(tx: Transaction, part_id: str, text: str) -> None:
    """Save more text of a part that is still streaming. No event: clients have had the deltas."""
    tx.run(
        "INSERT INTO part_tail (part_id, seq, text)"
        " SELECT ?, coalesce(max(seq), 0) + 1, ? FROM part_tail WHERE part_id = ?",
        (part_id, text, part_id),
    )


def remove_part(tx: Transaction, part: Part) -> None:
    """Take a part out, for example of an attempt that failed."""
    tx.run("DELETE FROM part WHERE id = ?", (part.id,))
    tell_removed(tx, part)


def tell_removed(tx: Transaction, part: Part) -> None:
    """Emit `message.part.removed`."""
    tx.emit(
        Event(
            "message.part.removed",
            {"sessionID": part.session_id, "messageID": part.message_id, "partID": part.id},
            session_id=part.session_id,
            part_id=part.id,
        )
    )


def remove_message(tx: Transaction, session_id: str, message_id: str) -> None:
    """Take a message out with its parts. Raises `NotFoundError`."""
    if not tx.run("DELETE FROM message WHERE id = ? AND session_id = ?", (message_id, session_id)):
        raise NotFoundError(f"there is no message {message_id} in session {session_id}")
    tx.emit(
        Event(
            "message.removed",
            {"sessionID": session_id, "messageID": message_id},
            session_id=session_id,
        )
    )


def _with_tail(part: Part, tail: str) -> Part:
    if isinstance(part, TextPart | ReasoningPart):
        return msgspec.structs.replace(part, text=part.text + tail)
    return part


def _tails(db: Reader, session_id: str) -> dict[str, str]:
    rows = db.all(
        "SELECT t.part_id, t.text FROM part_tail t"  # few, whereas parts of a session are many
        " WHERE (SELECT p.session_id FROM part p WHERE p.id = t.part_id) = ?"
        " ORDER BY t.part_id, t.seq",
        (session_id,),
    )
    tails: dict[str, str] = {}
    for row in rows:
        tails[row["part_id"]] = tails.get(row["part_id"], "") + row["text"]
    return tails


def _assemble(
    messages: Iterable[sqlite3.Row], parts: Iterable[sqlite3.Row], tails: dict[str, str]
) -> list[Message]:
    by_message: dict[str, list[Part]] = {}
    for row in parts:
        part = part_of(row)
        if part.id in tails:
            part = _with_tail(part, tails[part.id])
        by_message.setdefault(row["message_id"], []).append(part)
    return [Message(info_of(row), tuple(by_message.get(row["id"], ()))) for row in messages]


def load(
    db: Reader,
    session_id: str,
    actor_id: str | None,
    *,
    limit: int | None = None,
    since: int = 0,
    before: int | None = None,
    turn_id: str | None = None,
) -> list[Message]:
    """The messages of one actor (None: of all), oldest first, streaming text as far as saved.

    With `limit` only the newest so many; with `since` those with that `seq` or a greater one, with
    `before` those with a smaller one; with `turn_id` only those of that turn.
    """
    rows = db.all(
        f"SELECT {_HEAD} FROM message WHERE session_id = ? AND seq >= ?"
        " AND (? IS NULL OR actor_id = ?) AND (? IS NULL OR seq < ?)"
        " AND (? IS NULL OR turn_id = ?) ORDER BY seq DESC LIMIT ?",
        (
            *(session_id, since, actor_id, actor_id, before, before),
            *(turn_id, turn_id, -1 if limit is None else limit),
        ),
    )
    rows.reverse()
    if not rows:
        return []
    if limit is None and before is None and turn_id is None:
        parts = db.all(
            "SELECT p.id, p.message_id, p.session_id, p.type, p.data"
            " FROM part p JOIN message m ON m.id = p.message_id"
            " WHERE m.session_id = ? AND m.seq >= ? AND (? IS NULL OR m.actor_id = ?)"
            " ORDER BY m.seq, p.seq",
            (session_id, since, actor_id, actor_id),
        )
    else:
        parts = [part for row in rows for part in _part_rows(db, row["id"])]
    return _assemble(rows, parts, _tails(db, session_id))


def steps_since(db: Reader, session_id: str, actor_id: str, moment: int) -> list[StepFinishPart]:
    """The ends of the steps of an actor that began at `moment` (milliseconds since the epoch) or
    later, the newest first.
    """
    found: list[StepFinishPart] = []
    before: int | None = None
    while True:
        rows = db.all(
            "SELECT m.seq, m.data AS head, p.id, p.message_id, p.session_id, p.type, p.data"
            " FROM message m"
            " JOIN part p ON p.message_id = m.id AND p.type = 'step-finish'"
            " WHERE m.session_id = ? AND m.actor_id = ? AND (? IS NULL OR m.seq < ?)"
            " ORDER BY m.seq DESC LIMIT ?",
            (session_id, actor_id, before, before, _PAGE),
        )
        for row in rows:
            before = row["seq"]
            if _began(row["head"]) < moment:
                return found
            part = part_of(row)
            if isinstance(part, StepFinishPart):
                found.append(part)
        if len(rows) < _PAGE:
            return found


class _Time(Struct, frozen=True):
    created: int = 0


class _Timed(Struct, frozen=True):
    time: _Time = _Time()


def _began(head: str) -> int:
    """When a message was begun; a head that cannot be read counts as new."""
    try:
        return msgspec.json.decode(head, type=_Timed).time.created
    except msgspec.MsgspecError:
        return now_ms()


def load_open(db: Reader, session_id: str, actor_id: str) -> list[Message]:
    """The model's messages of a slice that have no end yet, oldest first."""
    rows = db.all(
        f"SELECT {_HEAD} FROM message WHERE session_id = ? AND actor_id = ? AND is_open = 1"
        " ORDER BY seq",
        (session_id, actor_id),
    )
    parts = [part for row in rows for part in _part_rows(db, row["id"])]
    return _assemble(rows, parts, _tails(db, session_id)) if rows else []


def _is_open(info: Info) -> int:
    return int(isinstance(info, AssistantInfo) and info.time.completed is None)


def _part_rows(db: Reader, message_id: str) -> list[sqlite3.Row]:
    return db.all(
        "SELECT id, message_id, session_id, type, data FROM part WHERE message_id = ? ORDER BY seq",
        (message_id,),
    )


def find_message(db: Reader, session_id: str, message_id: str) -> Message | None:
    """One message with its parts, or None."""
    row = db.one(
        f"SELECT {_HEAD} FROM message WHERE id = ? AND session_id = ?", (message_id, session_id)
    )
    if row is None:
        return None
    return _assemble([row], _part_rows(db, message_id), _tails(db, session_id))[0]


def seq_of(db: Reader, message_id: str) -> int | None:
    """The place of a message in its session, or None."""
    row = db.one("SELECT seq FROM message WHERE id = ?", (message_id,))
    return None if row is None else int(row["seq"])


def seq_in(db: Reader, session_id: str, message_id: str) -> int | None:
    """The place of a message in `session_id`; None if it is not there."""
    row = db.one(
        "SELECT seq FROM message WHERE id = ? AND session_id = ?", (message_id, session_id)
    )
    return None if row is None else int(row["seq"])


def newest_id(db: Reader, session_id: str, actor_id: str) -> str | None:
    """The id of an actor's newest message: what comes next must sort after it."""
    row = db.one(
        "SELECT id FROM message WHERE session_id = ? AND actor_id = ? ORDER BY seq DESC LIMIT 1",
        (session_id, actor_id),
    )
    return row["id"] if row else None


class Spot(Struct, frozen=True):
    """Where a message stands."""

    session_id: str
    actor_id: str
    seq: int


def spot_of(db: Reader, message_id: str) -> Spot | None:
    """Whose conversation a message is in, and where; None if there is no such message."""
    row = db.one("SELECT session_id, actor_id, seq FROM message WHERE id = ?", (message_id,))
    return None if row is None else Spot(row["session_id"], row["actor_id"], row["seq"])


def last_closed(db: Reader, session_id: str, actor_id: str) -> str | None:
    """The newest message of a slice with nothing unfinished in it or before it, and not taken back;
    None if none is.
    """
    row = db.one(
        "SELECT id FROM message m WHERE session_id = ? AND actor_id = ? AND NOT EXISTS ("
        " SELECT 1 FROM message o WHERE o.session_id = m.session_id AND o.actor_id = m.actor_id"
        " AND o.is_open = 1 AND o.seq <= m.seq)"
        " AND NOT EXISTS (SELECT 1 FROM session s WHERE s.id = m.session_id"
        " AND s.reverted_from <= m.seq) ORDER BY seq DESC LIMIT 1",
        (session_id, actor_id),
    )
    return row["id"] if row else None


def last_user(db: Reader, session_id: str, actor_id: str, up_to: str) -> UserInfo | None:
    """The head of the last message that was said to an actor, not after the message `up_to`."""
    row = db.one(
        f"SELECT {_HEAD} FROM message WHERE session_id = ? AND actor_id = ? AND role = 'user'"
        " AND seq <= (SELECT seq FROM message WHERE id = ?) ORDER BY seq DESC LIMIT 1",
        (session_id, actor_id, up_to),
    )
    info = info_of(row) if row else None
    return info if isinstance(info, UserInfo) else None


def remove_slice(tx: Transaction, session_id: str, actor_id: str) -> None:
    """Take out all messages of an actor."""
    sql = "SELECT id FROM message WHERE session_id = ? AND actor_id = ?"
    for row in tx.all(sql, (session_id, actor_id)):
        remove_message(tx, session_id, row["id"])


def last_id(db: Reader, session_id: str) -> str | None:
    """The greatest message id of a session: new ids must sort after it."""
    row = db.one("SELECT max(id) AS id FROM message WHERE session_id = ?", (session_id,))
    return row["id"] if row else None
