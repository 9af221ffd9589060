"""The messages of one turn, each with its place, from any place on: to look again and again at a
turn that grows costs no more than what is new.
"""

from itertools import groupby

import msgspec
from msgspec import Struct

from roost.db.transaction import Reader
from roost.sessions.models import Message
from roost.sessions.parts import Part, ReasoningPart, TextPart
from roost.sessions.unreadable import info_of, part_of


class Placed(Struct, frozen=True):
    """A message and its place in the session."""

    seq: int
    message: Message


def of_turn(
    db: Reader, session_id: str, actor_id: str, turn_id: str | None, *, since: int = 0
) -> list[Placed]:
    """What was said in a turn (None: outside of all, as in a session that was imported), oldest
    first and from the place `since` on; streaming text as far as it is saved.
    """
    values = (session_id, actor_id, turn_id, turn_id, since)
    where = (
        "m.session_id = ? AND m.actor_id = ?"
        " AND (m.turn_id = ? OR (? IS NULL AND m.turn_id IS NULL)) AND m.seq >= ?"
    )
    rows = db.all(
        "SELECT m.seq, m.id, m.session_id, m.actor_id, m.role, m.data FROM message m"
        f" WHERE {where} ORDER BY m.seq",
        values,
    )
    parts = db.all(
        "SELECT p.id, p.message_id, p.session_id, p.type, p.data FROM part p"
        f" JOIN message m ON m.id = p.message_id WHERE {where} ORDER BY m.seq, p.seq",
        values,
    )
    tails = db.all(
        "SELECT t.part_id, t.text FROM part_tail t JOIN part p ON p.id = t.part_id"
        f" JOIN message m ON m.id = p.message_id WHERE {where} ORDER BY t.part_id, t.seq",
        values,
    )
    saved = {
        part_id: "".join(row["text"] for row in group)
        for part_id, group in groupby(tails, lambda row: str(row["part_id"]))
    }
    by_message: dict[str, list[Part]] = {}
    for row in parts:
        by_message.setdefault(row["message_id"], []).append(_with(part_of(row), saved))
    return [
        Placed(row["seq"], Message(info_of(row), tuple(by_message.get(row["id"], ()))))
        for row in rows
    ]


def _with(part: Part, saved: dict[str, str]) -> Part:
    """`part` with the text of it that is still streaming."""
    if isinstance(part, TextPart | ReasoningPart) and part.id in saved:
        return msgspec.structs.replace(part, text=part.text + saved[part.id])
    return part
