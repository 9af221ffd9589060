"""Undo: what a session changed, taking its end back, and bringing it back until the next prompt."""

from typing import Annotated, Final

from msgspec import Meta, Struct

from roost.core.wire_names import wire_name
from roost.runtime.undo_change import Undone
from roost.server.endpoint import Call, Endpoint, NoQuery, endpoint
from roost.sessions.file_changes import FileDiff
from roost.sessions.models import Session
from roost.workspace.snapshot_models import Action

MessageId = Annotated[str, Meta(min_length=1, max_length=200)]


class RevertBody(Struct, frozen=True, rename=wire_name):
    """From which message on, or from which part of it."""

    message_id: MessageId
    part_id: MessageId | None = None
    files: bool = True
    """False: the conversation alone."""


class DiffQuery(Struct, frozen=True, rename=wire_name):
    """What came of one prompt; without it all that the session changed."""

    message_id: MessageId | None = None


class FileAction(Struct, frozen=True, omit_defaults=True):
    """What becomes of a file. `conflict`, `left` and `failed`: nothing, for that reason."""

    path: str
    """Relative to the project."""
    action: Action
    reason: str = ""


class UndoPreview(Struct, frozen=True, rename=wire_name, omit_defaults=True):
    """What would be done now."""

    messages: int
    """How many are taken back, or come back."""
    prompts: list[str]
    """What persons say in them."""
    files: list[FileAction]
    complete: bool
    """Whether every file can be set back."""
    message_id: str | None = None
    """The first of the messages, if it is one that is taken back."""
    part_id: str | None = None
    notes: tuple[str, ...] = ()
    """What else stays as it is, in words."""


async def revert_session(call: Call[NoQuery, RevertBody]) -> Session:
    """Take a session back to before a message: what was said, and what was done to files.

    What somebody else changed since stays; `revert.left` of the answer names such files. Once the
    session is prompted again that is for good. 409 while somebody is at work in it.
    """
    session = await call.session()
    body, undo = call.body, call.service.runtime.undo
    done = await undo.revert(session.id, body.message_id, body.part_id, files=body.files)
    return done.session


async def preview_revert(call: Call[NoQuery, RevertBody]) -> UndoPreview:
    """What taking a session back would do, file by file; nothing is changed."""
    session = await call.session()
    body, undo = call.body, call.service.runtime.undo
    return _view(await undo.preview(session.id, body.message_id, body.part_id, files=body.files))


async def unrevert_session(call: Call[NoQuery, None]) -> Session:
    """Bring back all that is taken back of a session, if anything is."""
    session = await call.session()
    if session.revert is None:
        return session
    return (await call.service.runtime.undo.unrevert(session.id)).session


async def preview_unrevert(call: Call[NoQuery, None]) -> UndoPreview:
    """What bringing it back would do, file by file; nothing is changed."""
    session = await call.session()
    return _view(await call.service.runtime.undo.preview_return(session.id))


async def list_diffs(call: Call[DiffQuery, None]) -> list[FileDiff]:
    """What a session changed in files and is not taken back, each as one difference.

    What a subagent changed counts for the session that it works in.
    """
    meant = await call.slice()
    if meant.actor_id is not None:
        return []
    return await call.service.runtime.undo.changes(meant.session.id, call.query.message_id)


def _view(done: Undone) -> UndoPreview:
    return UndoPreview(
        messages=done.messages,
        prompts=list(done.prompts),
        files=[FileAction(one.path, one.action, one.reason) for one in done.files],
        complete=not done.left,
        message_id=done.cut.message_id if done.cut else None,
        part_id=done.cut.part_id if done.cut else None,
        notes=done.notes,
    )


ROUTES: Final[tuple[Endpoint, ...]] = (
    endpoint("POST", "/session/{sessionID}/revert", revert_session),
    endpoint("POST", "/session/{sessionID}/revert/preview", preview_revert),
    endpoint("POST", "/session/{sessionID}/unrevert", unrevert_session),
    endpoint("POST", "/session/{sessionID}/unrevert/preview", preview_unrevert),
    endpoint("GET", "/session/{sessionID}/diff", list_diffs),
)
