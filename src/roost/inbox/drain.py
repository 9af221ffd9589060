"""Turns queued rows into user messages, in the transaction that marks them delivered.

A prompt becomes a message of its own with the ids its client chose; other rows that queue together
become one message. So a crash repeats nothing and loses nothing. An id that was taken meanwhile is
replaced, since a row that can never be delivered would wake its receiver for ever.
"""

from itertools import groupby
from typing import Final

import msgspec

from roost.core.clock import now_ms
from roost.core.failpoints import failpoint
from roost.core.ids import new_id
from roost.db.transaction import Transaction
from roost.inbox.models import Address, InboxRow, NoteBody, PromptBody
from roost.inbox.order import placed_last
from roost.inbox.render import render
from roost.inbox.shown import as_message, provenance
from roost.inbox.store import mark_delivered, take_queued
from roost.sessions import transcript
from roost.sessions.models import Message, MessageTime, ModelName, UserInfo, agent_id_of
from roost.sessions.parts import TextPart

DRAIN_LIMIT: Final = 100
"""Rows that one step takes up; the rest waits for the next."""


def drain(
    tx: Transaction,
    receiver: Address,
    turn_id: str,
    *,
    agent: str,
    model: ModelName,
    own_only: bool = False,
    until: int | None = None,
) -> list[Message]:
    """Deliver what is queued for `receiver`, oldest first, and give the new messages.

    `agent` and `model` are those of the last prompt; mail that is no prompt goes on with them.
    With `own_only` only what the turn itself said, with `until` only what was sent by then; all
    else waits for the next one.
    """
    of_turn = turn_id if own_only else None
    rows = take_queued(tx, receiver, DRAIN_LIMIT, of_turn=of_turn, until=until)
    messages: list[Message] = []
    for kind, run in groupby(rows, key=_sort):
        batch = list(run)
        if kind == "prompt":
            for row in batch:
                body = row.body
                assert isinstance(body, PromptBody)
                agent, model = body.agent, body.model
                messages.append(_deliver(tx, as_message(row), [row], turn_id))
        else:
            together = _together(tx, receiver, batch, agent, model)
            messages.append(_deliver(tx, together, batch, turn_id))
    return messages


def _sort(row: InboxRow) -> str:
    """What becomes a message of its own: each prompt, each mark, and all else that comes in a
    row.
    """
    if isinstance(row.body, PromptBody):
        return "prompt"
    marked = isinstance(row.body, NoteBody) and row.body.mark is not None
    return f"mark {row.seq}" if marked else "mail"


def _together(
    tx: Transaction, receiver: Address, rows: list[InboxRow], agent: str, model: ModelName
) -> Message:
    message_id = new_id("message", after=transcript.last_id(tx, receiver.session_id))
    info = UserInfo(
        id=message_id,
        session_id=receiver.session_id,
        time=MessageTime(created=now_ms()),
        agent=agent,
        model=model,
        agent_id=agent_id_of(receiver.session_id, receiver.actor_id),
        provenance=provenance(rows),
    )
    marks = tuple(
        msgspec.structs.replace(row.body.mark, id=new_id("part"), message_id=message_id)
        for row in rows
        if isinstance(row.body, NoteBody) and row.body.mark is not None
    )
    parts = tuple(
        TextPart(
            id=new_id("part"),
            session_id=receiver.session_id,
            message_id=message_id,
            text=render(row),
            synthetic=True,
            metadata={"origin": {"kind": row.kind, "name": _origin(row)}},
        )
        for row in rows
    )
    return Message(info, (*marks, *parts))


def _origin(row: InboxRow) -> str:
    return row.body.origin if isinstance(row.body, NoteBody) else ""


def _deliver(tx: Transaction, message: Message, rows: list[InboxRow], turn_id: str) -> Message:
    receiver = rows[0].receiver
    message = placed_last(tx, transcript.with_free_ids(tx, message), receiver.actor_id)
    transcript.append_message(tx, message, actor_id=receiver.actor_id, turn_id=turn_id)
    failpoint("drain.message")
    for row in rows:
        mark_delivered(tx, row, message.info.id, turn_id)
    failpoint("drain.marked")
    return message
