"""What Roost adds: the actors of a session, their turns, and the queue of an actor."""

from typing import Final

from msgspec import Struct

from roost.actors import store as actors
from roost.actors import turn_store
from roost.actors.models import Actor, Turn
from roost.core.errors import NotFoundError, UsageError
from roost.db.transaction import Reader
from roost.inbox.conversation import find_row
from roost.inbox.models import InboxRow, PromptBody
from roost.runtime.attachments import Attachments
from roost.runtime.models import PromptInput, PromptInputPart
from roost.server.endpoint import ActorQuery, Call, Endpoint, NoQuery, endpoint
from roost.server.prompting import check_ids
from roost.server.wire import MailView, mail_view
from roost.sessions.models import Session


class EditBody(Struct, frozen=True):
    """What a queued prompt is to say instead."""

    parts: tuple[PromptInputPart, ...]


async def list_actors(call: Call[NoQuery, None]) -> list[Actor]:
    """The actors of a session, in the order they were registered."""
    session = await call.session()
    return await call.service.runtime.database.read(lambda db: actors.of_session(db, session.id))


async def list_turns(call: Call[ActorQuery, None]) -> list[Turn]:
    """The turns of an actor, the oldest first."""
    session = await call.session()

    def read(db: Reader) -> list[Turn]:
        actor = actors.named(db, session.id, call.query.agent_id)
        return turn_store.turns_of(db, actor.address)

    return await call.service.runtime.database.read(read)


async def list_queue(call: Call[ActorQuery, None]) -> list[MailView]:
    """What waits for an actor, in the order it will be heard."""
    session = await call.session()
    rows = await call.service.runtime.queue(session.id, call.query.agent_id)
    return list(map(mail_view, rows))


async def edit_queued(call: Call[NoQuery, EditBody]) -> MailView:
    """Replace what a queued prompt says. 409 once it was heard."""
    session = await call.session()
    row = await _row(call, session)
    if not isinstance(row.body, PromptBody):
        raise UsageError(f"{row.id} is not a prompt")
    given = PromptInput(parts=call.body.parts)
    check_ids(given)
    project = await call.service.runtime.project_of(session.id)
    place = Attachments(session.id, row.body.message_id, project.directory, project.guard)
    changed = await call.service.runtime.edit(row.id, await place.parts(given))
    return mail_view(changed)


async def withdraw_queued(call: Call[NoQuery, None]) -> MailView:
    """Take back what is queued. 409 once it was heard."""
    session = await call.session()
    row = await _row(call, session)
    return mail_view(await call.service.runtime.withdraw(row.id))


async def _row(call: Call[NoQuery, EditBody] | Call[NoQuery, None], session: Session) -> InboxRow:
    inbox_id = call.path["inboxID"]
    row = await call.service.runtime.database.read(lambda db: find_row(db, session.id, inbox_id))
    if row is None:
        raise NotFoundError(f"there is no message {inbox_id} in the queue of {session.id}")
    return row


ROUTES: Final[tuple[Endpoint, ...]] = (
    endpoint("GET", "/session/{sessionID}/actors", list_actors),
    endpoint("GET", "/session/{sessionID}/turns", list_turns),
    endpoint("GET", "/session/{sessionID}/queue", list_queue),
    endpoint("PATCH", "/session/{sessionID}/queue/{inboxID}", edit_queued),
    endpoint("DELETE", "/session/{sessionID}/queue/{inboxID}", withdraw_queued),
)
