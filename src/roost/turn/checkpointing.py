"""Has checkpoints written while a turn goes on: by a copy of the conversation, which begins as its
requests do, may use no tool, and says one thing. What it says is taken over in one transaction;
until then, and if it fails, the last good version holds.
"""

import logging
import time
from typing import Final

from msgspec import Struct

from roost.actors import aside, store, turn_store
from roost.actors.cancel import cancel_tree
from roost.actors.models import Progress, Turn
from roost.actors.spawn import spawn_aside
from roost.actors.store import check_fence
from roost.actors.turn_store import save_progress
from roost.context import checkpoint_store as checkpoints
from roost.context.checkpoint_store import Checkpoint
from roost.context.checkpoints import SMALLEST, account_of, is_due
from roost.core.clock import now_ms
from roost.core.failpoints import failpoint
from roost.core.text import clean
from roost.db.transaction import Transaction
from roost.inbox.models import Address
from roost.sessions.effective import mark_of
from roost.sessions.models import ModelName
from roost.turn.memory import Known, Memory
from roost.turn.models import Facts
from roost.turn.summing_up import request_words
from roost.turn.world import World

logger = logging.getLogger(__name__)
WRITER: Final = "checkpoint"
"""What the ids of those who write begin with."""
SECONDS: Final = 600.0
"""How long one may be written."""
TOO_LATE: Final = "it took too long"
NO_ACCOUNT: Final = "what was written is no account of the conversation"
_FRESH: Final = 2.0
"""Seconds for which what was read of the newest checkpoint holds, once it is written."""
_LEAST: Final = 0.4
"""Share of the window below which nothing is looked at."""


async def consider(world: World, memory: Memory, facts: Facts) -> None:
    """Begin a checkpoint if one is due, and take over what is written. Raises `StaleFenceError`."""
    window, actor = facts.window, memory.claim.actor
    if not (world.checkpoints and actor.fronts and window.auto and window.usable >= SMALLEST):
        return
    if not window.usable * _LEAST <= facts.used < window.usable:  # no copy of more would fit
        return
    mark = mark_of(facts.messages[0]) if facts.settled else None
    known = memory.checkpoint
    last = known.newest if known else None
    is_fresh = known is not None and time.monotonic() - known.read < _FRESH
    if is_fresh and not _is_being_written(last) and not is_due(facts.used, window, last, mark):
        return
    last = await world.database.read(lambda db: checkpoints.newest(db, actor.address))
    if _is_being_written(last):
        last = await take_over(world, memory)
    if not _is_being_written(last) and is_due(facts.used, window, last, mark):
        last = await world.database.write(lambda tx: _begin(tx, memory, facts)) or last
        if last is not None:
            logger.info("checkpoint %d is being written by %s", last.version, last.writer)
    memory.checkpoint = Known(last, time.monotonic())


def _is_being_written(last: Checkpoint | None) -> bool:
    return last is not None and last.state == "writing"


class _Ended(Struct, frozen=True):
    """What was found of the newest checkpoint."""

    checkpoint: Checkpoint | None
    progress: Progress
    """What the turn has used with what its writer used."""


async def take_over(world: World, memory: Memory) -> Checkpoint | None:
    """The newest checkpoint, as it is once what its writer said is stored and the writer is gone.

    One that is still at work is left to it, unless it has taken too long. What it used is counted
    as use of the turn that takes over. Raises `StaleFenceError`.
    """

    def store(tx: Transaction) -> _Ended:
        check_fence(tx, memory.claim)
        address = memory.claim.address
        turn = _ended(tx, address)
        progress = memory.progress
        if turn is not None:
            progress = progress.charged(turn.tokens, turn.cost)
            save_progress(tx, memory.claim, progress)
        return _Ended(checkpoints.newest(tx, address), progress)

    ended = await world.database.write(store)
    memory.progress = ended.progress
    return ended.checkpoint


def _ended(tx: Transaction, address: Address) -> Turn | None:
    """Store what became of the newest checkpoint; the turn that wrote it, if it is over."""
    last = checkpoints.newest(tx, address)
    if last is None or last.state != "writing":
        return None
    writer = store.find(tx, Address(address.session_id, last.writer or ""))
    if writer is None:
        checkpoints.end(tx, address, last.version, "failed", body="", reason="its writer is gone")
        return None
    turn = turn_store.find_turn(tx, writer.address, writer.turns)
    if writer.status != "idle" or turn is None:
        if now_ms() - last.created > SECONDS * 1000:
            checkpoints.end(tx, address, last.version, "failed", body="", reason=TOO_LATE)
            cancel_tree(tx, writer.address, "forced")
        return None
    said, answered = aside.answer_of(tx, writer, turn)
    body = account_of(clean(said)) if answered else None
    if body is not None:
        checkpoints.end(tx, address, last.version, "written", body=body)
    else:
        reason = NO_ACCOUNT if answered else said
        checkpoints.end(tx, address, last.version, "failed", body="", reason=reason)
    failpoint("checkpoint.ended")
    aside.take_out(tx, writer)
    return turn


def _begin(tx: Transaction, memory: Memory, facts: Facts) -> Checkpoint | None:
    """Start a writer; None if there is nothing for it to read, or another one is at work."""
    check_fence(tx, memory.claim)
    actor = memory.claim.actor
    address = actor.address
    last = checkpoints.newest(tx, address)
    if last is not None and last.state == "writing":
        return None
    found = aside.copy_brief(
        tx,
        address,
        task=request_words(),
        description="writes a checkpoint of the conversation",
        tools=(),
        model=lambda heard: ModelName.of(facts.model.ref, heard.model.variant),
    )
    if found is None:
        return None
    for one in store.of_session(tx, address.session_id):
        if one.aside and one.status == "idle" and one.actor_id.startswith(f"{WRITER}-"):
            aside.take_out(tx, one)  # it was stopped since it took too long
    writer = spawn_aside(tx, found, address.session_id, WRITER)
    failpoint("checkpoint.spawned")
    return checkpoints.begin(
        tx,
        address,
        message_id=found.watermark or "",
        writer=writer.actor_id,
        tokens=facts.used,
    )
