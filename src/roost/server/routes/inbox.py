"""The inboxes of a session: all that was said to its actors, a person's words, taking them back."""

from typing import Annotated, Final

from msgspec import Meta, Struct

from roost.actors import store as actors
from roost.core.wire_names import wire_name
from roost.db.transaction import Reader
from roost.inbox import store as inbox
from roost.inbox.listing import listed
from roost.inbox.models import InboxRow, State
from roost.runtime.models import PromptInput
from roost.server.cursors import ALL_ACTORS
from roost.server.endpoint import Call, Endpoint, NoQuery, endpoint
from roost.server.prompting import leave
from roost.server.wire import MailView, mail_view


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


async def send_to_inbox(call: Call[NoQuery, PostBody]) -> MailView:
    """Say something to an actor, busy or not. Once this answers it is stored, and wakes it.

    Sources that send too many get 429 and `Retry-After`.
    """
    session = await call.session()
    client = call.request.client
    call.service.count_prompt(client.host if client else "socket")
    accepted = await leave(call.service.runtime, session.id, call.body.actor_id, call.body)
    return mail_view(
        await call.service.runtime.database.read(lambda db: inbox.get(db, accepted.inbox_id))
    )


async def withdraw_mail(call: Call[NoQuery, None]) -> MailView:
    """Take back what nobody has heard yet. 409 once it was heard."""
    runtime = call.service.runtime
    inbox_id = call.path["inboxID"]
    row = await runtime.database.read(lambda db: inbox.get(db, inbox_id))
    await call.service.session(row.receiver.session_id)
    return mail_view(await runtime.withdraw(row.id))


ROUTES: Final[tuple[Endpoint, ...]] = (
    endpoint("GET", "/session/{sessionID}/inbox", list_inbox),
    endpoint("POST", "/session/{sessionID}/inbox", send_to_inbox),
    endpoint("DELETE", "/inbox/{inboxID}", withdraw_mail),
)
