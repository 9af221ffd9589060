"""Requests to the person: permissions and questions, listed and answered in any order."""

from typing import Annotated, Any, Final

from msgspec import Meta, Struct, convert

from roost.core.errors import NotFoundError
from roost.core.wire_names import wire_name
from roost.permissions.asks import Kind, get
from roost.permissions.models import Reply
from roost.server.endpoint import Call, Endpoint, NoQuery, endpoint
from roost.server.faces import View
from roost.server.slices import slice_id
from roost.sessions import store as sessions
from roost.tools.contract import Question


class AskingCall(Struct, frozen=True, rename=wire_name):
    """The call of a tool that asks."""

    message_id: str
    call_id: str


class PermissionView(Struct, frozen=True, rename=wire_name, omit_defaults=True):
    """What an actor wants to do. `always`: what a lasting yes would cover."""

    id: str
    session_id: str
    permission: str
    patterns: list[str]
    metadata: dict[str, Any]
    always: list[str]
    tool: AskingCall | None = None
    actor_id: str | None = None
    """Who asks, unless it is the actor that fronts the session."""


class QuestionsView(Struct, frozen=True, rename=wire_name, omit_defaults=True):
    """Questions that are asked together."""

    id: str
    session_id: str
    questions: list[Question]
    tool: AskingCall | None = None
    actor_id: str | None = None


class PermissionReply(Struct, frozen=True):
    """The answer. `message` tells the model how to go on after a no."""

    reply: Reply
    message: Annotated[str, Meta(max_length=100_000)] | None = None


class OldReply(Struct, frozen=True):
    """The answer as older clients send it."""

    response: Reply


class QuestionReply(Struct, frozen=True):
    """For each question the chosen labels, or words of one's own."""

    answers: list[list[str]]


async def list_permissions(call: Call[NoQuery, None]) -> list[PermissionView]:
    """The permission requests of a folder's sessions that wait, the oldest first."""
    return [convert(one, PermissionView) for one in await _waiting(call, "permission")]


async def list_questions(call: Call[NoQuery, None]) -> list[QuestionsView]:
    """The questions of a folder's sessions that wait, the oldest first."""
    return [convert(one, QuestionsView) for one in await _waiting(call, "question")]


async def _waiting(call: Call[NoQuery, None], kind: Kind) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for ask in await call.service.runtime.asks():
        place = await call.service.directories.place(ask.session_id)
        if ask.kind == kind and place is not None and place.is_shown_in(call.directory):
            found.append(_shown(ask.request, call.view))
    return found


def _shown(request: dict[str, Any], view: View) -> dict[str, Any]:
    if view == "actors":
        return request
    return {**request, "sessionID": slice_id(request["sessionID"], request.get("actorID"))}


async def reply_permission(call: Call[NoQuery, PermissionReply]) -> bool:
    """Answer a permission request. 409 if it was answered before."""
    ask_id = await _served(call, "requestID")
    await call.service.runtime.reply_permission(ask_id, call.body.reply, call.body.message)
    return True


async def respond_permission(call: Call[NoQuery, OldReply]) -> bool:
    """Answer a permission request (as older clients do)."""
    meant = await call.slice()
    ask_id = await _served(call, "permissionID", meant.session.id)
    await call.service.runtime.reply_permission(ask_id, call.body.response)
    return True


async def reply_question(call: Call[NoQuery, QuestionReply]) -> bool:
    """Answer questions, one list a question. 409 if they were answered before."""
    ask_id = await _served(call, "requestID")
    await call.service.runtime.reply_question(ask_id, call.body.answers)
    return True


async def reject_question(call: Call[NoQuery, None]) -> bool:
    """Refuse to answer questions."""
    ask_id = await _served(call, "requestID")
    await call.service.runtime.reject_question(ask_id)
    return True


async def _served(call: Call[Any, Any], parameter: str, session_id: str | None = None) -> str:
    """The id of the request in the path, whose session must be served."""
    ask_id = call.path[parameter]
    ask = await call.service.runtime.database.read(lambda db: get(db, ask_id))
    below = session_id is None or await call.service.runtime.database.read(
        lambda db: sessions.is_within(db, ask.session_id, session_id)
    )
    if not below:
        raise NotFoundError(f"there is no request {ask_id} in session {session_id}")
    await call.service.directories.require_heard(ask.session_id)
    return ask_id


ROUTES: Final[tuple[Endpoint, ...]] = (
    endpoint("GET", "/permission", list_permissions),
    endpoint("POST", "/permission/{requestID}/reply", reply_permission),
    endpoint("POST", "/session/{sessionID}/permissions/{permissionID}", respond_permission),
    endpoint("GET", "/question", list_questions),
    endpoint("POST", "/question/{requestID}/reply", reply_question),
    endpoint("POST", "/question/{requestID}/reject", reject_question),
)
