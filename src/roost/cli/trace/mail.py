"""What a turn heard and what it said to others, as entries of its timeline. Pure."""

from collections.abc import Iterable
from typing import Any, cast

from roost.cli.inbox.listing import sender_of
from roost.cli.trace.entries import Damaged, Entry, Heard, Sent
from roost.cli.trace.reading import Rows
from roost.inbox.models import Body, PromptBody
from roost.inbox.notices import NoticeBody, subject
from roost.inbox.of_turn import Mail
from roost.sessions.models import Message, UserInfo
from roost.sessions.parts import TextPart
from roost.sessions.unreadable import is_stand_in


def heard(rows: Rows, message: Message, own: set[str]) -> list[Entry]:
    """What a message was made of; what a policy said stands with its decision."""
    mails = [mail for mail in rows.heard if mail.message_id == message.info.id]
    if not mails:
        return _words_alone(message, own)
    return [
        _delivered(mail, message)
        for mail in mails
        if mail.kind != "system" or _origin(mail.row and mail.row.body) not in own
    ]


def _delivered(mail: Mail, message: Message) -> Entry:
    at = mail.delivered or message.info.time.created
    if mail.row is None:
        words = "a row of the inbox that cannot be read"
        return Heard(at=at, kind=mail.kind, text=words, message_id=message.info.id, damage=True)
    body = mail.row.body
    return Heard(
        at=at,
        kind=mail.kind,
        sender=sender_of(mail.row),
        text=_words(body),
        attached=_attached(body.parts) if isinstance(body, PromptBody) else 0,
        waited=max(0, at - mail.created) / 1000,
        message_id=message.info.id,
    )


def _words_alone(message: Message, own: set[str]) -> list[Entry]:
    """What a message says of which no mail is kept."""
    info = message.info
    assert isinstance(info, UserInfo)
    texts = [part for part in message.parts if isinstance(part, TextPart) and not part.ignored]
    if texts and all(_origin_of(part) in own for part in texts):
        return []
    kinds = [str(row.get("kind", "")) for row in (info.provenance or {}).get("inbox", ())]
    return [
        Heard(
            at=info.time.created,
            kind=(kinds or ["prompt"])[0],
            sender="you" if info.provenance is None else "",
            text="\n".join(part.text for part in texts),
            attached=_attached(message.parts),
            message_id=info.id,
            damage=is_stand_in(info),
        )
    ]


def _origin_of(part: TextPart) -> str:
    origin = (part.metadata or {}).get("origin")
    return str(cast("dict[str, Any]", origin).get("name", "")) if isinstance(origin, dict) else ""


def _attached(parts: Iterable[object]) -> int:
    return sum(not isinstance(part, TextPart) for part in parts)


def _words(body: Body) -> str:
    match body:
        case PromptBody():
            return "\n".join(part.text for part in body.parts if isinstance(part, TextPart))
        case NoticeBody():
            rest = body.summary or body.error or body.result
            return f"{subject(body)} {rest}".rstrip()
        case _:
            return f"{body.subject}: {body.text}" if body.subject else body.text


def _origin(body: Body | None) -> str:
    return getattr(body, "origin", "")


def sent(rows: Rows, mail: Mail) -> Entry | None:
    """What was said to others. A brief is left out where the turn that came of it is shown."""
    if mail.row is None:
        return Damaged(at=mail.created, text=f"what was sent as {mail.id} cannot be read")
    receiver = mail.row.receiver
    if receiver == rows.address:
        return None
    here = receiver.session_id == rows.turn.session_id
    to = receiver.actor_id if here else f"{receiver.session_id}/{receiver.actor_id}"
    begun = {(one.turn.session_id, one.turn.actor_id) for one in rows.children}
    if mail.kind == "brief" and (receiver.session_id, receiver.actor_id) in begun:
        return None
    return Sent(at=mail.created, kind=mail.kind, to=to, text=_words(mail.row.body))
