"""Messages and parts: pages of them, and changes while the actor sleeps."""

from typing import Annotated, Final
from urllib.parse import urlencode

from msgspec import Meta, Struct

from roost.actors import store as actors
from roost.core.errors import BusyError, NotFoundError, UsageError
from roost.db.transaction import Transaction
from roost.inbox import store as inbox
from roost.inbox.changes import withdraw
from roost.inbox.conversation import Page, find_message
from roost.server.cursors import ALL_ACTORS, PAGE_LIMIT, decode_cursor, encode_cursor
from roost.server.endpoint import Call, Endpoint, NoQuery, Reply, endpoint
from roost.server.faces import shown_message
from roost.server.wire import MessageView
from roost.sessions import transcript
from roost.sessions.models import Message
from roost.sessions.parts import KnownPart, Part, is_open, part_type


class PageQuery(Struct, frozen=True):
    """Which messages. `before` is the cursor of an earlier answer and needs `limit`."""

    limit: Annotated[int, Meta(ge=0, le=PAGE_LIMIT)] = 0
    """0: all."""
    before: str | None = None
    agent_id: str | None = None
    """The actor; None: the one that fronts the session; `*`: all."""


async def list_messages(call: Call[PageQuery, None]) -> Reply[list[MessageView]]:
    """The messages of a session, oldest first; older pages by the cursor in `X-Next-Cursor`."""
    meant = await call.slice()
    query = call.query
    if query.before is not None and not query.limit:
        raise UsageError("before needs limit")
    before = decode_cursor(query.before) if query.before else None
    page = await call.service.runtime.transcripts.page(
        meant.session.id,
        meant.actor_id or query.agent_id,
        everybody=query.agent_id == ALL_ACTORS,
        limit=query.limit or None,
        before=before,
    )
    shown = [shown_message(message, call.view) for message in page.messages]
    return Reply(shown, _links(call, page))


def _links(call: Call[PageQuery, None], page: Page) -> dict[str, str]:
    if page.before is None:
        return {}
    cursor = encode_cursor(page.before)
    query = {**call.request.query_params, "before": cursor}
    url = call.request.url.replace(query=urlencode(query))
    return {"X-Next-Cursor": cursor, "Link": f'<{url}>; rel="next"'}


async def get_message(call: Call[NoQuery, None]) -> MessageView:
    """One message."""
    meant = await call.slice()
    transcripts = call.service.runtime.transcripts
    message = await transcripts.message(meant.session.id, call.path["messageID"])
    return shown_message(message, call.view)


async def delete_message(call: Call[NoQuery, None]) -> bool:
    """Take a message out; one that is still queued is withdrawn."""
    session = await call.session()
    message_id = call.path["messageID"]

    def delete(tx: Transaction) -> None:
        message = find_message(tx, session.id, message_id)
        if (row := inbox.queued_as(tx, session.id, message.info.id)) is not None:
            withdraw(tx, row.id)
            return
        _require_idle(tx, session.id, message)
        transcript.remove_message(tx, session.id, message.info.id)

    await call.service.runtime.database.write(delete)
    return True


async def delete_part(call: Call[NoQuery, None]) -> bool:
    """Take a part out of a message."""
    session = await call.session()
    path = call.path

    def delete(tx: Transaction) -> None:
        part = _idle_part(tx, session.id, path["messageID"], path["partID"])
        transcript.remove_part(tx, part)

    await call.service.runtime.database.write(delete)
    return True


async def update_part(call: Call[NoQuery, KnownPart]) -> KnownPart:
    """Replace a part; its ids must be those of the path."""
    session = await call.session()
    path = call.path
    part = call.body
    if (part.session_id, part.message_id, part.id) != (
        session.id,
        path["messageID"],
        path["partID"],
    ):
        raise UsageError("the ids of the part are not those of the path")
    if is_open(part):
        raise UsageError("the part is unfinished, and nobody would ever finish it")

    def update(tx: Transaction) -> None:
        old = _idle_part(tx, session.id, part.message_id, part.id)
        if part_type(old) != part_type(part):
            raise UsageError(f"the part is a {part_type(old)} and stays one")
        transcript.put_part(tx, part)

    await call.service.runtime.database.write(update)
    return part


def _idle_part(tx: Transaction, session_id: str, message_id: str, part_id: str) -> Part:
    message = transcript.find_message(tx, session_id, message_id)
    found = [part for part in message.parts if part.id == part_id] if message else []
    if message is None or not found:
        raise NotFoundError(f"there is no part {part_id} in message {message_id}")
    _require_idle(tx, session_id, message)
    return found[0]


def _require_idle(tx: Transaction, session_id: str, message: Message) -> None:
    actor = actors.named(tx, session_id, message.info.agent_id)
    if actor.status != "idle":
        raise BusyError(
            f"session {session_id} is busy", hint="Wait until it is idle, or abort it first."
        )


ROUTES: Final[tuple[Endpoint, ...]] = (
    endpoint("GET", "/session/{sessionID}/message", list_messages),
    endpoint("GET", "/session/{sessionID}/message/{messageID}", get_message),
    endpoint("DELETE", "/session/{sessionID}/message/{messageID}", delete_message),
    endpoint("DELETE", "/session/{sessionID}/message/{messageID}/part/{partID}", delete_part),
    endpoint("PATCH", "/session/{sessionID}/message/{messageID}/part/{partID}", update_part),
)
