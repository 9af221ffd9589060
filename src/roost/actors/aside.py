"""Copies of a conversation that answer once and are thrown away: what they said, and their end."""

from collections.abc import Callable
from typing import Final

from roost.actors import store, turn_store
from roost.actors.models import Actor, Turn
from roost.actors.report import last_words
from roost.actors.spawn import Brief
from roost.db.transaction import Reader, Transaction
from roost.inbox.models import Address
from roost.sessions import transcript
from roost.sessions.models import ModelName, UserInfo

NO_ANSWER: Final = "It answered nothing."


def copy_brief(
    db: Reader,
    asked: Address,
    *,
    task: str,
    description: str,
    tools: tuple[str, ...],
    model: Callable[[UserInfo], ModelName],
) -> Brief | None:
    """What a copy of the conversation of `asked` is made of; None if it has heard nothing yet.

    `model` says on what it runs, of the last words that were heard.
    """
    mark = transcript.last_closed(db, asked.session_id, asked.actor_id)
    heard = transcript.last_user(db, asked.session_id, asked.actor_id, mark) if mark else None
    if heard is None:
        return None
    return Brief(
        agent=heard.agent,
        description=description,
        task=task,
        model=model(heard),
        context="full",
        watermark=mark,
        background=False,
        tools=tools,
    )


def answer_of(db: Reader, reader: Actor, turn: Turn) -> tuple[str, bool]:
    """What a copy says at the end of its turn, and whether it is an answer."""
    if turn.outcome != "success":
        why = turn.error.message if turn.error else f"its turn was {turn.outcome}"
        return f"It could not answer: {why}", False
    text = last_words(db, reader, turn.id, turn.result_message_id)
    return text or NO_ANSWER, bool(text)


def take_out(tx: Transaction, reader: Actor) -> Turn | None:
    """Remove a copy that is at rest, with all that it said; gives the turn that it had."""
    now = store.find(tx, reader.address)
    if now is None or now.status != "idle":
        return None
    turn = turn_store.find_turn(tx, reader.address, now.turns)
    transcript.remove_slice(tx, reader.session_id, reader.actor_id)
    store.remove(tx, reader.address)
    return turn
