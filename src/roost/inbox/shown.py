"""How mail is shown to clients: what waits, what became of it, a queued prompt as a message."""

from collections.abc import Sequence
from typing import Any

from roost.db.transaction import Transaction
from roost.events.types import Event
from roost.inbox.models import InboxRow, PromptBody, State
from roost.sessions import transcript
from roost.sessions.models import Message, MessageTime, UserInfo, agent_id_of


def tell(tx: Transaction, row: InboxRow) -> None:
    """A queued prompt is shown as OpenCode shows it: a user message already in the list."""
    tx.emit(
        Event(
            "inbox.arrived",
            {"sessionID": row.receiver.session_id, "row": row},
            session_id=row.receiver.session_id,
        )
    )
    if isinstance(row.body, PromptBody):
        message = as_message(row)
        transcript.tell_message(tx, message.info)
        for part in message.parts:
            transcript.tell_part(tx, part)


def tell_state(tx: Transaction, session_id: str, inbox_id: str, state: State) -> None:
    """Tell clients of a session what became of mail."""
    about = {"sessionID": session_id, "id": inbox_id, "state": state}
    tx.emit(Event("inbox.updated", about, session_id=session_id))


def as_message(row: InboxRow) -> Message:
    """The user message that a queued prompt will become."""
    body = row.body
    assert isinstance(body, PromptBody)
    info = UserInfo(
        id=body.message_id,
        session_id=row.receiver.session_id,
        time=MessageTime(created=body.created),
        agent=body.agent,
        model=body.model,
        agent_id=agent_id_of(row.receiver.session_id, row.receiver.actor_id),
        format=body.format,
        max_mode=body.max_mode,
        system=body.system,
        tools=body.tools,
        provenance=None if row.kind == "prompt" else provenance([row]),
    )
    return Message(info, body.parts)


def provenance(rows: Sequence[InboxRow]) -> dict[str, Any]:
    """Where a message comes from that no person wrote, and the most hops that led to it."""
    return {
        "inbox": [{"id": row.id, "kind": row.kind} for row in rows],
        "hops": max(row.hops for row in rows),
    }


def is_prompt(info: UserInfo) -> bool:
    """Whether a message was a prompt: a person's words or an actor's brief."""
    rows = (info.provenance or {}).get("inbox", ())
    return info.provenance is None or any(row["kind"] == "brief" for row in rows)
