"""What there is to take back in a session: read at one moment, so that it fits together."""

from typing import Final

from msgspec import Struct

from roost.actors import store as actors
from roost.core.errors import NotFoundError, UsageError
from roost.core.text import cut as shortened
from roost.db.transaction import Reader
from roost.inbox import store as inbox
from roost.sessions import store as sessions
from roost.sessions import transcript, undo_store
from roost.sessions.models import LeftFile, Session
from roost.sessions.parts import PatchPart, ToolPart
from roost.sessions.undo_store import Cut, Prompt, UndoState
from roost.workspace.snapshot_models import FileOutcome, Patch

_COMMAND: Final = 80
"""Characters of a command that are shown."""
_OUTSIDE: Final = "it lies outside of the project"
_FOREIGN: Final = "another program changed it, and did not keep what it was"


class Facts(Struct, frozen=True, kw_only=True):
    """A session, and what a revert to `cut` would take back. Without a cut: all that was reverted
    would come back.
    """

    session: Session
    newest: str | None
    """The last message; another one means that somebody spoke since."""
    state: UndoState | None
    cut: Cut | None
    patches: tuple[Patch, ...] = ()
    """What was changed from the cut on, the oldest first."""
    before: tuple[Patch, ...] = ()
    """What was changed before it."""
    left: tuple[LeftFile, ...] = ()
    """Files that nothing can set back."""
    notes: tuple[str, ...] = ()
    messages: int = 0
    """How many are taken back."""
    prompts: tuple[Prompt, ...] = ()
    """What persons say in them."""

    @property
    def undos(self) -> tuple[Patch, ...]:
        """What earlier reverts did to files."""
        return self.state.undos if self.state else ()


def facts_of(db: Reader, session_id: str, message_id: str, part_id: str | None) -> Facts:
    """What a revert to that message would take back. Raises `NotFoundError` and `UsageError`."""
    front = actors.front(db, session_id)
    _require_heard(db, session_id, message_id)
    spot = transcript.spot_of(db, message_id)
    if spot is not None and spot.session_id == session_id and spot.actor_id != front.actor_id:
        raise UsageError(
            f"{message_id} is a message of the actor {spot.actor_id}",
            hint="A session is taken back to a message of its own conversation; what its other"
            " actors did after that goes with it.",
        )
    cut = undo_store.cut_at(db, session_id, message_id, part_id)
    return facts_at(db, session_id, cut)


def _require_heard(db: Reader, session_id: str, message_id: str) -> None:
    if (row := inbox.queued_as(db, session_id, message_id)) is not None:
        raise UsageError(
            f"nobody has heard {message_id} yet, so nothing came of it",
            hint=f"Take it back: roost inbox withdraw {row.id}",
        )


def facts_at(db: Reader, session_id: str, cut: Cut) -> Facts:
    """What a revert to `cut` would take back."""
    parts = undo_store.patches_from(db, session_id, cut)
    said = undo_store.prompts(db, session_id, actors.front(db, session_id).actor_id)
    return Facts(
        session=sessions.get(db, session_id),
        newest=transcript.last_id(db, session_id),
        state=undo_store.find(db, session_id),
        cut=cut,
        patches=tuple(undo_store.known_patches(parts)),
        before=tuple(undo_store.known_patches(undo_store.patches_before(db, session_id, cut))),
        left=_unkept(parts),
        notes=tuple(map(_unknown, undo_store.cut_short(db, session_id, cut))),
        messages=undo_store.count_from(db, session_id, cut),
        prompts=tuple(one for one in said if one.seq >= cut.seq),
    )


def back_facts(db: Reader, session_id: str) -> Facts:
    """What would come back if a revert were taken back. Raises `NotFoundError`."""
    state = undo_store.find(db, session_id)
    whole = undo_store.patches_before(db, session_id, None)
    return Facts(
        session=sessions.get(db, session_id),
        newest=transcript.last_id(db, session_id),
        state=state,
        cut=None,
        before=tuple(undo_store.known_patches(whole)),
        messages=undo_store.count_from(db, session_id, state.cut) if state else 0,
    )


def _unkept(parts: list[PatchPart]) -> tuple[LeftFile, ...]:
    outside = {path: _OUTSIDE for part in parts for path in part.outside}
    foreign = {path: _FOREIGN for part in parts if part.after is None for path in part.files}
    return tuple(LeftFile(path, why) for path, why in sorted((outside | foreign).items()))


def _unknown(call: ToolPart) -> str:
    what = call.state.input.get("command")
    shown = shortened(" ".join(what.split()), _COMMAND) if isinstance(what, str) else call.tool
    return f"the process ended while this ran, so nobody knows what it changed: {shown}"


def left_of(files: tuple[FileOutcome, ...]) -> tuple[LeftFile, ...]:
    """The files that a revert leaves, or left, as they are."""
    kept = {"conflict", "left", "failed"}
    return tuple(LeftFile(one.path, one.reason) for one in files if one.action in kept)


def last_prompt(db: Reader, session_id: str) -> Prompt:
    """The last words of a person that are not taken back. Raises `NotFoundError`."""
    state = undo_store.find(db, session_id)
    said = undo_store.prompts(db, session_id, actors.front(db, session_id).actor_id)
    left = [one for one in said if state is None or one.seq < state.cut.seq]
    if not left:
        what = "all of it is taken back already" if said else "nobody said anything in it yet"
        raise NotFoundError(f"there is nothing to undo in session {session_id}: {what}")
    return left[-1]
