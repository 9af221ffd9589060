"""The mail of one turn: what it heard, and what it said to others and to itself."""

import sqlite3

from msgspec import Struct

from roost.core.clock import moment_of
from roost.db.transaction import Reader
from roost.inbox.models import Address, InboxRow
from roost.inbox.store import readable


class Mail(Struct, frozen=True):
    """A row of an inbox as far as it can be read."""

    id: str
    kind: str
    created: int
    delivered: int | None
    message_id: str | None
    row: InboxRow | None
    """None: it is damaged, or of a newer program."""


def _mail(row: sqlite3.Row) -> Mail:
    return Mail(
        row["id"],
        row["kind"],
        moment_of(row["created"]),
        moment_of(row["delivered"]) or None,
        row["message_id"],
        readable(row),
    )


def heard(db: Reader, receiver: Address, turn_id: str) -> list[Mail]:
    """What was delivered to a turn, in order."""
    rows = db.all(
        "SELECT * FROM inbox WHERE receiver_session = ? AND receiver_actor = ? AND turn_id = ?"
        " ORDER BY seq",
        (receiver.session_id, receiver.actor_id, turn_id),
    )
    return [_mail(row) for row in rows]


def said(db: Reader, sender: Address, turn_id: str) -> list[Mail]:
    """What a turn sent, in order."""
    rows = db.all(
        "SELECT * FROM inbox WHERE sender_session = ? AND sender_actor = ? AND sender_turn = ?"
        " ORDER BY seq",
        (sender.session_id, sender.actor_id, turn_id),
    )
    return [_mail(row) for row in rows]


def turns_that_led_to(db: Reader, receiver: Address, turn_id: str) -> list[str]:
    """The turns of other actors whose words woke or steered this one, each once."""
    found = [
        mail.row.sender_turn
        for mail in heard(db, receiver, turn_id)
        if mail.row is not None and mail.row.sender not in {None, receiver}
    ]
    return list(dict.fromkeys(one for one in found if one is not None))
