"""The inboxes of a session: all that was said to its actors, what of it waits, a person's words,
their rewording and their withdrawal.
"""

from typing import Annotated, Final

from msgspec import Meta, Struct

from roost.actors import store as actors
from roost.core.errors import NotFoundError, UsageError
from roost.core.wire_names import wire_name
from roost.db.transaction import Reader
from roost.inbox import store as inbox
from roost.inbox.conversation import find_row
from roost.inbox.listing import listed
from roost.inbox.models import InboxRow, PromptBody, State
from roost.runtime.attachments import Attachments
from roost.runtime.models import PromptInput, PromptInputPart
from roost.server.cursors import ALL_ACTORS
from roost.server.endpoint import ActorQuery, Call, Endpoint, NoQuery, endpoint
from roost.server.prompting import check_ids, leave
from roost.server.wire import MailView, mail_view
from roost.sessions.models import Session


class MailQuery(Struct, frozen=True):
    """Which mail, and how much of it."""

    agent_id: str = ALL_ACTORS
    """To which actor; `*`: to any."""
    state: State | None = None
    limit: Annotated[int, Meta(ge=1, le=10_000)] = 200


class PostBody(PromptInput, frozen=True, rename=wire_name):
    """A person's words, as in any prompt, and to whom."""

    actor_id: str | None = None
    """None: the actor that fronts the session."""


class EditBody(Struct, frozen=True):
    """What a queued prompt is to say instead."""

    parts: tuple[PromptInputPart, ...]


async def list_inbox(call: Call[MailQuery, None]) -> list[MailView]:
    """The newest mail of a session, whatever became of it, the newest last."""
    session = await call.session()
    query = call.query
    actor_id = None if query.agent_id == ALL_ACTORS else query.agent_id

    def read(db: Reader) -> list[InboxRow]:
        if actor_id is not None:
            actors.named(db, session.id, actor_id)
        return listed(db, session.id, query.limit, actor_id=actor_id, state=query.state)

    return list(map(mail_view, await call.service.runtime.database.read(read)))


async def list_queue(call: Call[ActorQuery, None]) -> list[MailView]:
    """What waits for an actor, in the order it will be heard."""
    session = await call.session()
    rows = await call.service.runtime.queue(session.id, call.query.agent_id)
    return list(map(mail_view, rows))


async def send_to_inbox(call: Call[NoQuery, PostBody]) -> MailView:
    """Say something to an actor, busy or not. Once this answers it is stored, and wakes it.

    Sources that send too many get 429 and `Retry-After`.
    """
    session = await call.session()
    call.count_prompt()
    accepted = await leave(call.service.runtime, session.id, call.body.actor_id, call.body)
    return mail_view(
        await call.service.runtime.database.read(lambda db: inbox.get(db, accepted.inbox_id))
    )


async def edit_queued(call: Call[NoQuery, EditBody]) -> MailView:
    """Replace what a queued prompt says. 409 once it was heard."""
    session = await call.session()
    row = await _row(call, session)
    if not isinstance(row.body, PromptBody):
        raise UsageError(f"{row.id} is not a prompt")
    given = PromptInput(parts=call.body.parts)
    check_ids(given)
    project = await call.service.runtime.project_of(session.id)
    place = Attachments(session.id, row.body.message_id, project)
    changed = await call.service.runtime.edit(row.id, await place.parts(given))
    return mail_view(changed)


async def withdraw_mail(call: Call[NoQuery, None]) -> MailView:
    """Take back what nobody has heard yet. 409 once it was heard."""
    inbox_id = call.path["inboxID"]
    row = await call.service.runtime.database.read(lambda db: inbox.get(db, inbox_id))
    await call.service.session(row.receiver.session_id)
    return await _taken_back(call, row)


async def withdraw_queued(call: Call[NoQuery, None]) -> MailView:
    """Take back what waits in a session; by its id, or that of the message it is shown as."""
    return await _taken_back(call, await _row(call, await call.session()))


async def _taken_back(call: Call[NoQuery, None], row: InboxRow) -> MailView:
    return mail_view(await call.service.runtime.withdraw(row.id))


async def _row(call: Call[NoQuery, EditBody] | Call[NoQuery, None], session: Session) -> InboxRow:
    inbox_id = call.path["inboxID"]
    row = await call.service.runtime.database.read(lambda db: find_row(db, session.id, inbox_id))
    if row is None:
        raise NotFoundError(f"there is no message {inbox_id} in the queue of {session.id}")
    return row


ROUTES: Final[tuple[Endpoint, ...]] = (
    endpoint("GET", "/session/{sessionID}/inbox", list_inbox),
    endpoint("POST", "/session/{sessionID}/inbox", send_to_inbox),
    endpoint("GET", "/session/{sessionID}/queue", list_queue),
    endpoint("PATCH", "/session/{sessionID}/queue/{inboxID}", edit_queued),
    endpoint("DELETE", "/session/{sessionID}/queue/{inboxID}", withdraw_queued),
    endpoint("DELETE", "/inbox/{inboxID}", withdraw_mail),
)
