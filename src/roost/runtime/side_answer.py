"""Answers aside: a person asks something about a conversation, which goes on as if they had not.

A copy of the conversation answers (`readers.py`), whether its actor is at work or not. What that
costs is told with the answer, and logged and counted as that of any turn.
"""

import time
from functools import reduce
from typing import Final

from msgspec import Struct

from roost.actors import aside, store, turn_store
from roost.actors.models import Actor, Turn
from roost.actors.spawn import READER, spawn_aside
from roost.core.errors import NotFoundError, UsageError
from roost.core.finishing import make_or_undo, see_through
from roost.core.text import clean
from roost.core.wire_names import wire_name
from roost.db.transaction import Reader, Transaction
from roost.db.watching import until
from roost.inbox.models import Address
from roost.runtime import readers
from roost.runtime.readers import LEFT, SECONDS, STOP_SECONDS
from roost.runtime.runtime import Runtime
from roost.sessions import transcript
from roost.sessions.parts import Tokens

LENGTH: Final = 100_000
"""Characters of a question."""
MOST: Final = 4
"""Questions that may be answered aside in a session at the same time."""
_POLL_SECONDS: Final = 1.0
_NEWS: Final = frozenset({"turn.delivered", "turn.ended", "actor.removed", "session.deleted"})


class SideAnswer(Struct, frozen=True, rename=wire_name, omit_defaults=True):
    """What a copy answered, and what that took."""

    answer: str
    model: str
    """`provider/model`."""
    tokens: Tokens
    cost: float
    """US dollars."""
    seconds: float
    fault: bool = False
    """It could not answer; `answer` says why."""
    late: bool = False
    """It took longer than it may."""


async def ask_aside(
    runtime: Runtime, asked: Address, question: str, seconds: float = SECONDS
) -> SideAnswer:
    """The answer to a question about what `asked` has said and heard by now.

    Raises `UsageError` where it has heard nothing yet and for a question that says nothing,
    `NotFoundError` for an actor that is not there, or not any more.
    """
    words = _checked(question)
    began = time.monotonic()

    async def abandon(reader: Actor) -> None:
        database = runtime.database
        await readers.abandon(
            database, runtime.bus, database.write, reader, lambda tx: aside.take_out(tx, reader)
        )

    making = runtime.database.write(lambda tx: _reader(tx, asked, words))
    reader = await make_or_undo(making, abandon, LEFT, seconds=2 * STOP_SECONDS)
    try:
        turn = await _end_of(runtime, reader, seconds)
    except BaseException:
        await see_through(abandon(reader), LEFT, seconds=2 * STOP_SECONDS)
        raise
    if turn is None:
        told = await runtime.database.read(lambda db: _told(db, reader, None, began))
        await abandon(reader)
        return told

    def finish(tx: Transaction) -> SideAnswer:
        told = _told(tx, reader, turn, began)
        aside.take_out(tx, reader)
        return told

    return await runtime.database.write(finish)


def _checked(question: str) -> str:
    words = clean(question).strip()
    if not words:
        raise UsageError("there is no question", hint="Say what you want to know.")
    if len(words) > LENGTH:
        raise UsageError(f"a question has at most {LENGTH} characters, and this one {len(words)}")
    return words


def _reader(tx: Transaction, asked: Address, question: str) -> Actor:
    actor = store.get(tx, asked)
    here = [one for one in store.of_session(tx, asked.session_id) if _is_asked(one)]
    for one in here:
        if one.status == "idle" and one.turns:  # whoever asked it has died
            aside.take_out(tx, one)
    if sum(one.status != "idle" for one in here) >= MOST:
        raise UsageError(
            f"{MOST} questions are being answered aside in {asked.session_id}",
            hint="Wait until one of them is answered.",
        )
    brief = readers.brief_of(tx, actor, question)
    if brief is None:
        raise UsageError(
            f"{asked.session_id} has heard and said nothing yet, so there is nothing to ask about"
        )
    return spawn_aside(tx, brief, asked.session_id)


def _is_asked(actor: Actor) -> bool:
    return actor.aside and actor.actor_id.startswith(f"{READER}-")


async def _end_of(runtime: Runtime, reader: Actor, seconds: float) -> Turn | None:
    """The turn of a copy once it is over, None if it takes longer than that."""

    def look(db: Reader) -> Turn | None:
        if store.find(db, reader.address) is None:
            raise NotFoundError("what was asked aside is gone: its session was deleted")
        return turn_store.find_turn(db, reader.address, 1)

    turn = await until(
        runtime.database,
        runtime.bus,
        look,
        lambda turn: turn is not None and turn.phase == "ended",
        concerns=lambda event: (
            event.type in _NEWS and event.session_id == reader.address.session_id
        ),
        poll=_POLL_SECONDS,
        seconds=seconds,
    )
    return turn if turn is not None and turn.phase == "ended" else None


def _told(db: Reader, reader: Actor, turn: Turn | None, began: float) -> SideAnswer:
    """What a copy answered; without a turn that ended it took too long."""
    steps = transcript.steps_since(db, reader.session_id, reader.actor_id, 0)
    late = ("It took too long to answer.", False)
    text, answered = late if turn is None else aside.answer_of(db, reader, turn)
    return SideAnswer(
        answer=text,
        model=reader.model or "",
        tokens=reduce(Tokens.plus, (step.tokens for step in steps), Tokens()),
        cost=sum(step.cost for step in steps),
        seconds=round(time.monotonic() - began, 3),
        fault=not answered,
        late=turn is None,
    )
