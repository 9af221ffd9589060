"""Copies of a conversation that answer one question and are thrown away: they begin as its requests
do, so that the provider finds them in its cache, read files if they must, and leave nothing behind.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Final, Protocol, TypeVar

from roost.actors import store
from roost.actors.aside import copy_brief
from roost.actors.cancel import cancel_tree
from roost.actors.models import Actor
from roost.actors.spawn import Brief
from roost.core.text import cut
from roost.db.database import Database
from roost.db.transaction import Transaction
from roost.db.watching import until
from roost.events.bus import Bus
from roost.sessions.models import ModelName

SECONDS: Final = 300.0
"""How long an answer may take."""
STOP_SECONDS: Final = 5.0
"""How long a copy whose answer nobody needs any more may take to stop."""
_STOP_POLL_SECONDS: Final = 1.0
LEFT: Final = "a copy that was asked a question was not taken out with the call that asked"
READING: Final = ("read", "glob", "grep", "list")
"""The tools of a copy."""
NOTHING_YET: Final = "It has heard and said nothing yet, so it knows nothing beyond its task."
_QUESTION: Final = """\
You are a copy of yourself that was made to answer one question. Your work goes on elsewhere, and \
nothing that you do here changes it. You can read files, and nothing else; call no other tool. \
Answer from what you know, say what you do not know, and be brief.

The question:
{question}"""
T = TypeVar("T")


class Write(Protocol):
    """Runs a change as one transaction, if whoever asks still may."""

    def __call__(self, change: Callable[[Transaction], Any], /) -> Awaitable[Any]: ...


def brief_of(tx: Transaction, asked: Actor, question: str) -> Brief | None:
    """What a copy of `asked` is made of; None if it has heard nothing yet."""
    own = ModelName.of(asked.model, asked.variant) if asked.model else None
    return copy_brief(
        tx,
        asked.address,
        task=_QUESTION.format(question=question),
        description=f"ask: {cut(' '.join(question.split()), 40)}",
        tools=READING,
        model=lambda heard: own or heard.model,
    )


async def abandon(
    database: Database,
    bus: Bus,
    write: Write,
    reader: Actor,
    remove: Callable[[Transaction], object],
) -> None:
    """Stop a copy whose answer nobody needs any more, and `remove` it.

    One that does not stop in time is taken out when the next question is asked.
    """
    address = reader.address

    def stop(tx: Transaction) -> None:
        if store.find(tx, address) is not None:
            cancel_tree(tx, address, "forced")

    await write(stop)
    await until(
        database,
        bus,
        lambda db: store.find(db, address),
        lambda actor: actor is None or actor.status == "idle",
        concerns=lambda event: event.session_id == address.session_id,
        poll=_STOP_POLL_SECONDS,
        seconds=STOP_SECONDS,
    )
    await write(remove)
