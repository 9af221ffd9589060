"""Waits for mail within a turn: no model is called and no tool is open until something comes."""

from typing import Final

from roost.actors.models import Actor
from roost.actors.send import send
from roost.actors.store import check_fence, set_waiting
from roost.actors.wait import about
from roost.core.clock import now_ms
from roost.core.failpoints import failpoint
from roost.db.transaction import Reader, Transaction
from roost.db.watching import until
from roost.inbox import store as inbox
from roost.inbox.models import Letter, NoteBody
from roost.turn.intake import Taken, received, take
from roost.turn.memory import Memory
from roost.turn.models import Facts, Wait
from roost.turn.policies.waiting import NOBODY
from roost.turn.world import World

POLL_SECONDS: Final = 5.0
"""How often mail that another process sent is looked for."""
_NEWS: Final = frozenset({"inbox.arrived", "actor.cancelling"})


async def wait_for_mail(world: World, memory: Memory, wait: Wait) -> Facts:
    """Return with the facts of the next step once mail came, the time is up, or a stop was asked.

    Raises `StaleFenceError`.
    """
    address = memory.claim.address

    await until(
        world.database,
        world.bus,
        lambda db: _is_over(db, memory, wait),
        bool,
        concerns=about({address.session_id}, _NEWS),
        poll=POLL_SECONDS,
        seconds=(wait.until - now_ms()) / 1000,
    )
    taken = await world.database.write(lambda tx: _go_on(tx, memory, wait))
    return received(world, memory, taken)


def _is_over(db: Reader, memory: Memory, wait: Wait) -> bool:
    actor: Actor = check_fence(db, memory.claim)
    return (
        actor.cancel is not None
        or now_ms() >= wait.until
        or inbox.has_mail(db, memory.claim.address)
    )


def _go_on(tx: Transaction, memory: Memory, wait: Wait) -> Taken:
    """Let the actor wait no longer, and deliver what came; if nobody wrote, tell it so."""
    actor = check_fence(tx, memory.claim)
    address = memory.claim.address
    set_waiting(tx, memory.claim, None)
    failpoint("wait.over")
    if actor.cancel is None and not inbox.has_mail(tx, address):
        letter = Letter(
            receiver=address,
            kind="system",
            body=NoteBody(NOBODY, origin="waiting"),
            sender=address,
            sender_turn=memory.claim.turn.id,
            key=f"wait:{memory.claim.turn.id}:{wait.until}",
        )
        send(tx, letter)
    return take(tx, memory, memory.progress)
