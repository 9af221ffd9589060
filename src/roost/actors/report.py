"""What a turn came to, for the actor's parent: its last words, its header, its open tasks."""

from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec import Struct

from roost.actors.header import Reported, parse_header
from roost.actors.models import Actor, Ending, Turn
from roost.db.transaction import Reader
from roost.inbox.models import Address
from roost.inbox.notices import RESULT_LIMIT, NoticeBody, NoticeKind
from roost.sessions import transcript
from roost.sessions.models import AssistantInfo, Message
from roost.sessions.parts import TextPart
from roost.tasks import store as tasks
from roost.tasks.models import TERMINAL, Task


class Report(Struct, frozen=True):
    """What a turn came to."""

    status: Reported | None
    summary: str
    text: str
    """Everything the actor said at the end; JSON if an answer in a format was asked for."""
    open_tasks: tuple[str, ...]
    due: bool = False
    """A status was asked for."""


NOTHING: Final = Report(None, "", "", ())
"""Of an actor that reports to nobody."""
_RECENT: Final = 20
"""Messages in which last words are looked for."""


def final_text(message: Message | None) -> str:
    """The words of a message of the model, with a remark where they are a degraded answer; the
    answer in a format, where there is one, as JSON.
    """
    if message is None or not isinstance(message.info, AssistantInfo):
        return ""
    if message.info.structured is not None:
        return msgspec.json.encode(message.info.structured).decode()
    texts = (part.text for part in message.parts if isinstance(part, TextPart))
    said = [text.strip() for text in texts if text.strip()]
    remark = [f"[{message.info.degraded}]"] if message.info.degraded else []
    return "\n\n".join(said + remark)


def last_words(db: Reader, actor: Actor, turn_id: str, message_id: str | None) -> str:
    """The words of the result, or the newest words of the turn if the result has none."""
    message = transcript.find_message(db, actor.session_id, message_id) if message_id else None
    if text := final_text(message):
        return text
    recent = transcript.load(db, actor.session_id, actor.actor_id, limit=_RECENT, turn_id=turn_id)
    return next((text for one in reversed(recent) if (text := final_text(one))), "")


def owned_open(db: Reader, address: Address) -> list[Task]:
    """The tasks of an actor that are not ended."""
    listed = tasks.listed(db, address.session_id)
    return [one for one in listed if one.owner == address.actor_id and one.status not in TERMINAL]


def report_of(db: Reader, actor: Actor, turn: Turn, ending: Ending) -> Report:
    """The report of a turn that ends so.

    Of a gated actor, tasks that are left open turn a success, or silence, into `partial`, and
    into `blocked` where each of them is blocked.
    """
    text = last_words(db, actor, turn.id, ending.result_message_id)
    header = parse_header(text)
    left = owned_open(db, actor.address) if ending.gated else []
    status = _reconciled(header.status, left)
    due = ending.gated and actor.output_schema is None  # who answers in a format gives no header
    open_tasks = tuple(f"{one.id} {one.summary}" for one in left)
    return Report(status, header.summary, text, open_tasks, due)


def _reconciled(status: Reported | None, left: Sequence[Task]) -> Reported | None:
    if not left or status in {"failed", "blocked"}:
        return status
    return "blocked" if all(one.status == "blocked" for one in left) else "partial"


def notice_about(actor: Actor, kind: NoticeKind) -> NoticeBody:
    """The bare notice about an actor."""
    return NoticeBody(
        notice=kind,
        session_id=actor.session_id,
        actor_id=actor.actor_id,
        agent=actor.agent,
        description=actor.description,
    )


def notice_of(
    actor: Actor, turn: Turn, ending: Ending, report: Report, *, resumed: bool = False
) -> NoticeBody:
    """The notice that tells the parent of `actor` how `turn` ended.

    Of one that was interrupted and goes on nothing is told of what it has so far: it will tell.
    """
    text = "" if resumed else report.text
    return msgspec.structs.replace(
        notice_about(actor, _kind(ending, report)),
        turn_id=turn.id,
        turn=turn.number,
        status=report.status or "",
        summary=report.summary,
        result=text[:RESULT_LIMIT],
        left_out=max(0, len(text) - RESULT_LIMIT),
        error=ending.error.message if ending.error else "",
        open_tasks=report.open_tasks,
        resumed=resumed,
    )


def _kind(ending: Ending, report: Report) -> NoticeKind:
    match ending.outcome:
        case "failure":
            return "failed"
        case "cancelled":
            return "cancelled"
        case "interrupted":
            return "interrupted"
        case "success":
            if report.status in {"failed", "blocked"}:
                return "finished"
            return "unreported" if report.due and report.status is None else "completed"
