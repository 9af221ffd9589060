"""What stands in for a row whose JSON cannot be decoded, so that the rest of its session lives on.

A row may be damaged, or written by a program that knew other shapes. Nothing of it is deleted or
written over: people see a placeholder that names it, `roost doctor` lists it, and the model reads a
few words in its place. A call of a tool stays a call with a result, so that the request is sound.
"""

import sqlite3
from collections.abc import Iterator
from typing import Final, Literal

import msgspec
from msgspec import Struct

from roost.db.transaction import Reader
from roost.sessions.models import (
    AssistantInfo,
    Info,
    MessageError,
    MessagePath,
    MessageTime,
    ModelName,
    UserInfo,
    agent_id_of,
    decode_info,
)
from roost.sessions.parts import Part, TextPart, Tokens, ToolFailed, ToolPart, ToolTime, decode_part

FAULTS: Final = (msgspec.MsgspecError, RecursionError, UnicodeError)
"""What decoding a row may raise."""
_MARK: Final = "unreadable"
_TOOL: Final = "unreadable"
"""The name that a call is shown under whose own name is lost."""
ASK_FOR_ALL: Final = [{"permission": "*", "pattern": "*", "action": "ask"}]
"""The rules of a session whose own cannot be read: none of them could be stricter unseen."""


class _Rule(Struct):
    permission: str
    pattern: str
    action: Literal["allow", "ask", "deny"]


_rules_decoder = msgspec.json.Decoder(list[_Rule])


def part_of(row: sqlite3.Row) -> Part:
    """The part in a row (`id`, `message_id`, `session_id`, `type`, `data`), or what stands in."""
    try:
        return decode_part(row["data"])
    except FAULTS:
        return _stand_in(row)


def _stand_in(row: sqlite3.Row) -> Part:
    where = (row["id"], row["session_id"], row["message_id"])
    if row["type"] == "tool":
        words = "This call and its result are damaged in the database and cannot be read any more."
        failed = ToolFailed({}, words, ToolTime(0, 0), {_MARK: True})
        return ToolPart(*where, call_id=row["id"], tool=_TOOL, state=failed)
    words = f"[A part of this message ({row['type']}) is damaged and cannot be read: {row['id']}]"
    return TextPart(*where, text=words, synthetic=True, metadata=None)


def info_of(row: sqlite3.Row) -> Info:
    """The head in a row (`id`, `session_id`, `actor_id`, `role`, `data`), or what stands in."""
    try:
        return decode_info(row["data"])
    except FAULTS:
        return _head(row)


def _head(row: sqlite3.Row) -> Info:
    actor_id = agent_id_of(row["session_id"], row["actor_id"])
    if row["role"] == "user":
        return UserInfo(
            id=row["id"],
            session_id=row["session_id"],
            time=MessageTime(0),
            agent="",
            model=ModelName("", ""),
            agent_id=actor_id,
            provenance={_MARK: True},
        )
    words = f"The head of message {row['id']} is damaged and cannot be read"
    return AssistantInfo(
        id=row["id"],
        session_id=row["session_id"],
        time=MessageTime(0, 0),
        parent_id="",
        model_id="",
        provider_id="",
        mode="",
        agent="",
        path=MessagePath("", ""),
        cost=0.0,
        tokens=Tokens(),
        agent_id=actor_id,
        error=MessageError("UnknownError", {"message": words, _MARK: True}),
    )


def is_stand_in(info: Info) -> bool:
    """Whether a head stands in for one that cannot be read: it says nothing of agent or model."""
    match info:
        case UserInfo():
            return (info.provenance or {}).get(_MARK) is True
        case AssistantInfo():
            return info.error is not None and info.error.data.get(_MARK) is True


def rules_of(data: str | None) -> list[dict[str, str]] | None:
    """The permission rules in a session's row. Raises one of `FAULTS`."""
    if not data:
        return None
    return msgspec.to_builtins(_rules_decoder.decode(data))


class Unreadable(Struct, frozen=True):
    """A row that cannot be decoded."""

    session_id: str
    row: str
    """For people: the table and the id."""


def unreadable_rows(db: Reader) -> Iterator[Unreadable]:
    """Every row of sessions, messages and parts that cannot be decoded. Reads all of them."""
    for session in db.all("SELECT id, permission FROM session ORDER BY id"):
        session_id: str = session["id"]
        try:
            rules_of(session["permission"])
        except FAULTS:
            yield Unreadable(session_id, "its permission rules")
        for row in db.all("SELECT id, data FROM message WHERE session_id = ?", (session_id,)):
            try:
                decode_info(row["data"])
            except FAULTS:
                yield Unreadable(session_id, f"message {row['id']}")
        for row in db.all("SELECT id, data FROM part WHERE session_id = ?", (session_id,)):
            try:
                decode_part(row["data"])
            except FAULTS:
                yield Unreadable(session_id, f"part {row['id']}")
