"""The SQL of taking back the end of a session: where it is cut, what was changed from there on,
what state a revert is in, and taking the messages out for good.
"""

import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Final, Literal

import msgspec
from msgspec import Struct

from roost.core.errors import NotFoundError
from roost.core.failpoints import failpoint
from roost.db.transaction import Reader, Transaction
from roost.sessions import transcript
from roost.sessions.models import MAIN, UserInfo
from roost.sessions.parts import Part, PatchPart, TextPart, ToolFailed, ToolPart
from roost.sessions.repair import INTERRUPTED
from roost.sessions.unreadable import FAULTS, info_of, part_of
from roost.workspace.snapshot_models import Patch

Phase = Literal["reverting", "reverted", "returning"]


class Cut(Struct, frozen=True):
    """From where on a session is taken back: that message, or that part of it, and all after it,
    whoever said it.
    """

    message_id: str
    seq: int
    """Of the message."""
    part_id: str | None = None
    part_seq: int = 0
    """Of the part; 0: the whole message."""


class UndoState(Struct, frozen=True, kw_only=True):
    """What is taken back of a session, and how to bring it back."""

    phase: Phase
    """`reverting` and `returning`: files are being set back, or forth, by the process `owner`."""
    cut: Cut
    undos: tuple[Patch, ...] = ()
    """What the reverts since the last prompt did to files, the oldest first: taking these back
    brings the files back. Each is here before it is begun."""
    owner: str = ""
    mail: int = 0
    """The newest mail of all when the session was taken back: what came later stays."""
    files: bool = True
    """Files are set back, and not only the conversation."""


_ID: Final = re.compile(r"[0-9a-f]{40}")
_decoder: Final = msgspec.json.Decoder(UndoState)


def find(db: Reader, session_id: str) -> UndoState | None:
    """What is taken back of a session; None: nothing."""
    row = db.one("SELECT data FROM undo WHERE session_id = ?", (session_id,))
    try:
        return _decoder.decode(row["data"]) if row else None
    except FAULTS:
        return None


def put(tx: Transaction, session_id: str, state: UndoState) -> None:
    """Store what is taken back of a session."""
    tx.run(
        "INSERT INTO undo (session_id, data) VALUES (?, ?)"
        " ON CONFLICT (session_id) DO UPDATE SET data = excluded.data",
        (session_id, msgspec.json.encode(state).decode()),
    )


def remove(tx: Transaction, session_id: str) -> None:
    """Forget what was taken back: it is brought back, or gone for good."""
    tx.run("DELETE FROM undo WHERE session_id = ?", (session_id,))


def cut_at(db: Reader, session_id: str, message_id: str, part_id: str | None = None) -> Cut:
    """The cut that takes back a message, or what it says from a part on.

    An answer is taken back with the words that it answers, unless there is something in it before
    the part. Raises `NotFoundError`.
    """
    spot = transcript.spot_of(db, message_id)
    message = transcript.find_message(db, session_id, message_id)
    if spot is None or message is None:
        raise NotFoundError(f"there is no message {message_id} in session {session_id}")
    ids = [part.id for part in message.parts]
    if part_id is not None and part_id not in ids:
        raise NotFoundError(f"there is no part {part_id} in message {message_id}")
    before = message.parts[: ids.index(part_id)] if part_id is not None else ()
    if part_id is not None and any(isinstance(one, TextPart | ToolPart) for one in before):
        row = db.one("SELECT seq FROM part WHERE id = ?", (part_id,))
        return Cut(message_id, spot.seq, part_id, row["seq"] if row else 0)
    said = transcript.last_user(db, session_id, spot.actor_id, message_id)
    whole = said.id if said is not None else message_id
    seq = transcript.seq_in(db, session_id, whole)
    return Cut(whole, spot.seq if seq is None else seq)


_PART: Final = "p.id, p.message_id, p.session_id, p.type, p.data"
_PATCHES: Final = (
    f"SELECT {_PART} FROM part p JOIN message m ON m.id = p.message_id"
    " WHERE p.session_id = ? AND p.type = 'patch'"
)
_ORDER: Final = " ORDER BY m.seq, p.seq"


def patches_from(db: Reader, session_id: str, cut: Cut) -> list[PatchPart]:
    """What was changed from a cut on, in the order in which it was said."""
    if not cut.part_seq:
        return patches_between(db, session_id, cut.seq, None)
    _, after = _split(db, cut)
    return _patches(after) + patches_between(db, session_id, cut.seq + 1, None)


def patches_before(db: Reader, session_id: str, cut: Cut | None) -> list[PatchPart]:
    """What was changed before a cut; None: all that was."""
    if cut is None:
        return patches_between(db, session_id, 0, None)
    earlier = patches_between(db, session_id, 0, cut.seq)
    if not cut.part_seq:
        return earlier
    before, _ = _split(db, cut)
    return earlier + _patches(before)


def patches_between(db: Reader, session_id: str, first: int, end: int | None) -> list[PatchPart]:
    """What was changed from the message `first` on, before the message `end` if there is one."""
    rows = db.all(
        f"{_PATCHES} AND m.seq >= ? AND (? IS NULL OR m.seq < ?){_ORDER}",
        (session_id, first, end, end),
    )
    return _patches([part_of(row) for row in rows])


def _patches(parts: Sequence[Part]) -> list[PatchPart]:
    return [part for part in parts if isinstance(part, PatchPart)]


def _split(db: Reader, cut: Cut) -> tuple[list[Part], list[Part]]:
    """The parts of a message that is taken back in part: those that stay, and the others. What a
    call changed goes with the call, wherever it stands.
    """
    rows = db.all(
        f"SELECT {_PART}, p.seq FROM part p WHERE p.message_id = ? ORDER BY p.seq",
        (cut.message_id,),
    )
    stays: list[Part] = []
    goes: list[Part] = []
    for row in rows:
        part = part_of(row)
        taken = row["seq"] >= cut.part_seq
        if isinstance(part, PatchPart) and part.tool_id is not None:
            taken = all(part.tool_id != one.id for one in stays)
        (goes if taken else stays).append(part)
    return stays, goes


def known_patches(parts: Sequence[PatchPart]) -> list[Patch]:
    """The patches of which both sides are known."""
    return [
        Patch(
            one.hash,
            one.after,
            None,
            one.time.start if one.time else 0,
            (one.time.end or 0) if one.time else 0,
            one.base,
        )
        for one in parts
        if one.after is not None
    ]


def cut_short(db: Reader, session_id: str, cut: Cut) -> list[ToolPart]:
    """Calls from a cut on whose process died while they ran: nobody knows what they changed."""
    rows = db.all(
        f"SELECT {_PART} FROM part p JOIN message m ON m.id = p.message_id"
        " WHERE p.session_id = ? AND p.type = 'tool' AND p.data LIKE ?"
        f" AND m.seq >= ?{_ORDER}",
        (session_id, '%"interrupted":true%', cut.seq),
    )
    found = [part for row in rows if isinstance(part := part_of(row), ToolPart)]
    return [
        part
        for part in found
        if isinstance(part.state, ToolFailed) and part.state.error == INTERRUPTED
    ]


def count_from(db: Reader, session_id: str, cut: Cut) -> int:
    """How many messages are taken back, if in part."""
    row = db.one(
        "SELECT count(*) AS n FROM message WHERE session_id = ? AND seq >= ?",
        (session_id, cut.seq),
    )
    return int(row["n"]) if row else 0


def ids_from(db: Reader, session_id: str, cut: Cut) -> frozenset[str]:
    """The messages that are wholly taken back."""
    first = cut.seq + 1 if cut.part_seq else cut.seq
    rows = db.all("SELECT id FROM message WHERE session_id = ? AND seq >= ?", (session_id, first))
    return frozenset(row["id"] for row in rows)


class Prompt(Struct, frozen=True):
    """Words of a person in a session."""

    message_id: str
    seq: int
    text: str


def prompts(db: Reader, session_id: str, actor_id: str) -> list[Prompt]:
    """What persons said to an actor, the oldest first."""
    rows = db.all(
        "SELECT id, session_id, actor_id, role, seq, data FROM message"
        " WHERE session_id = ? AND actor_id = ? AND role = 'user' ORDER BY seq",
        (session_id, actor_id),
    )
    found: list[Prompt] = []
    for row in rows:
        info = info_of(row)
        if isinstance(info, UserInfo) and info.provenance is None:
            found.append(Prompt(info.id, row["seq"], _words_of(db, info.id)))
    return found


def _words_of(db: Reader, message_id: str) -> str:
    rows = db.all(
        "SELECT id, message_id, session_id, type, data FROM part"
        " WHERE message_id = ? AND type = 'text' ORDER BY seq",
        (message_id,),
    )
    parts = (part_of(row) for row in rows)
    return " ".join(p.text for p in parts if isinstance(p, TextPart) and not p.synthetic)


class Removed(Struct, frozen=True):
    """What was taken out of a session."""

    messages: tuple[str, ...]
    actors: frozenset[str]
    """Those who lost the last thing that they had heard or said."""


def remove_from(tx: Transaction, session_id: str, cut: Cut) -> Removed:
    """Take out for good all that was said from a cut on."""
    first = cut.seq + 1 if cut.part_seq else cut.seq
    rows = tx.all(
        "SELECT id, actor_id FROM message WHERE session_id = ? AND seq >= ? ORDER BY seq DESC",
        (session_id, first),
    )
    for row in rows:
        transcript.remove_message(tx, session_id, row["id"])
        failpoint("undo.message")
    if cut.part_seq:
        for part in _split(tx, cut)[1]:
            transcript.remove_part(tx, part)
    left = tx.all("SELECT DISTINCT actor_id FROM message WHERE session_id = ?", (session_id,))
    gone = {row["actor_id"] for row in rows} - {row["actor_id"] for row in left}
    return Removed(tuple(row["id"] for row in rows), frozenset(gone - {MAIN, session_id}))


class _Ends(Struct):
    """What a patch part names."""

    hash: str = ""
    after: str | None = None


def snapshots_named(db: Reader, project_id: str, since: int) -> frozenset[str]:
    """The snapshots that undo needs for the sessions of a project which were used since then."""
    rows = db.all(
        "SELECT p.data FROM part p JOIN session s ON s.id = p.session_id"
        " WHERE p.type = 'patch' AND s.project_id = ? AND s.updated >= ?",
        (project_id, since),
    )
    named: set[str] = set()
    for row in rows:
        with suppress(msgspec.MsgspecError):
            patch = msgspec.json.decode(row["data"], type=_Ends)
            named |= {patch.hash, patch.after or ""}
    states = db.all(
        "SELECT u.session_id FROM undo u JOIN session s ON s.id = u.session_id"
        " WHERE s.project_id = ? AND s.updated >= ?",
        (project_id, since),
    )
    for row in states:
        state = find(db, row["session_id"])
        for one in state.undos if state else ():
            named |= {one.before, one.after}
    return frozenset(one for one in named if _ID.fullmatch(one))
