"""Puts words in the place of the beginning of a conversation that is too long: what was stored is
not altered, and one transaction stores the words, the mark, and what was gathered on the way.
"""

import logging
from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec import Struct

from roost.actors.send import send
from roost.actors.store import check_fence
from roost.actors.traces import Decided, keep
from roost.actors.turn_store import save_progress
from roost.context.boundary import LEAST, TAIL_SHARE, Tail, choose_tail, compose
from roost.context.checkpoint_store import keep_ledger
from roost.context.estimate import sum_of, tokens_in
from roost.context.materials import Collected, collect
from roost.core.errors import RoostError
from roost.core.failpoints import failpoint
from roost.core.ids import new_id
from roost.core.text import clean
from roost.db.transaction import Reader, Transaction
from roost.events.types import Event
from roost.inbox.drain import drain
from roost.inbox.models import Letter, NoteBody
from roost.sessions.effective import is_hidden, mark_of
from roost.sessions.models import Message, agent_id_of
from roost.sessions.parts import CompactionPart
from roost.turn.apply import store_step
from roost.turn.checkpointing import take_over
from roost.turn.intake import Taken, choice_for_mail, received, take, used_by
from roost.turn.memory import Memory
from roost.turn.models import Facts, Sample, Shorten
from roost.turn.prepare import prepare
from roost.turn.sampler import Step
from roost.turn.summing_up import summed_up
from roost.turn.world import World

logger = logging.getLogger(__name__)
MEMORY_FILES: Final = 8
"""Files of memory that are told; the others are found with the tool."""
UNKNOWN_WINDOW: Final = 0.5
"""Share of a request that was refused which is aimed at, whatever the window is."""


class _Written(Struct, frozen=True):
    """What takes the conversation's place."""

    words: str
    mark: CompactionPart
    collected: Collected


async def shorten(
    world: World, memory: Memory, facts: Facts, step: Step | None, action: Shorten
) -> Facts:
    """The facts once the conversation is shortened. Raises `StaleFenceError`."""
    if step is not None:
        await store_step(world, memory, step, action)
    failpoint("context.begin")
    await take_over(world, memory)
    if not memory.overhead:  # no request of this process has told how large its beginning is
        await prepare(world, memory, facts, Sample())
        facts = msgspec.structs.replace(facts, used=max(facts.used, used_by(memory)))
    own = _own(memory)
    room = _room(facts, memory, action)
    if action.cause == "asked":
        room = min(room, max(sum_of(own) // 2, LEAST))
    tail = choose_tail(own, _tail_room(facts, action, room))
    account = ""
    if _by_model(world, memory, action):
        account = await summed_up(world, memory, facts, own[: tail.start])
    kept = own[tail.start :]
    remembered = await _remembered(world)

    def write(db: Reader) -> _Written:
        collected = collect(db, memory.claim.address, kept, account=account, remembered=remembered)
        words = compose(collected.materials, room - tail.tokens)
        mark = _mark(memory, facts, action, tail, kept)
        after = memory.overhead + tail.tokens + tokens_in(words)
        source = "summary" if account else "checkpoint"
        return _Written(words, msgspec.structs.replace(mark, source=source, after=after), collected)

    written = await world.database.read(write)
    failpoint("context.written")
    decisions = memory.take_decisions()
    taken = await world.database.write(lambda tx: _store(tx, memory, written, kept, decisions))
    failpoint("context.committed")
    return received(world, memory, taken)


async def _remembered(world: World) -> tuple[tuple[str, str], ...]:
    """The files of memory of the project, the session and the user; none that cannot be read."""
    try:
        found = await world.memory.listed()
    except (RoostError, OSError) as error:
        logger.warning("memory was left out of a shortened conversation: %s", error)
        return ()
    return tuple((f"Memory: {one.file.name}", one.text) for one in found[:MEMORY_FILES])


def _by_model(world: World, memory: Memory, action: Shorten) -> bool:
    """Whether a model sums it up. Nobody should have to wait for that who did not ask for it."""
    subagent = memory.claim.actor.mode == "subagent"
    return subagent or action.cause == "asked" or not world.checkpoints


def _tail_room(facts: Facts, action: Shorten, room: int) -> int:
    most = min(int(room * TAIL_SHARE), facts.window.tail)
    return min(most, facts.used // 4) if action.cause == "asked" else most


def _room(facts: Facts, memory: Memory, action: Shorten) -> int:
    """Tokens that the words and the tail may have together."""
    target = facts.window.target
    if action.cause == "provider" or not target:
        refused = int(max(facts.used, LEAST) * UNKNOWN_WINDOW)
        target = min(target or refused, refused)
    target >>= action.attempt - 1
    return max(target - memory.overhead, target // 2, LEAST)


def _own(memory: Memory) -> list[Message]:
    """The messages of the actor itself in its effective slice, but for the mark; what a fork knows
    of its parent is none of them.
    """
    address = memory.claim.address
    name = None if memory.claim.actor.fronts else address.actor_id
    own = (agent_id_of(address.session_id, address.actor_id), name)
    return [
        one
        for one in memory.messages
        if one.info.session_id == address.session_id
        and one.info.agent_id in own
        and mark_of(one) is None
        and not is_hidden(one)
    ]


def _mark(
    memory: Memory, facts: Facts, action: Shorten, tail: Tail, kept: Sequence[Message]
) -> CompactionPart:
    return CompactionPart(
        id=new_id("part"),
        session_id=memory.claim.address.session_id,
        message_id="",
        auto=action.cause != "asked",
        overflow=action.cause == "provider",
        tail_start_id=kept[0].info.id if kept else None,
        attempt=action.attempt,
        trim=tail.trim,
        before=facts.used,
    )


def _store(
    tx: Transaction,
    memory: Memory,
    written: _Written,
    kept: Sequence[Message],
    decisions: tuple[Decided, ...],
) -> Taken:
    check_fence(tx, memory.claim)
    address, turn_id = memory.claim.address, memory.claim.turn.id
    keep_ledger(tx, address, written.collected.gathered)
    letter = Letter(
        receiver=address,
        kind="system",
        body=NoteBody(clean(written.words), origin="context", mark=written.mark),
        sender=address,
        sender_turn=turn_id,
        hops=memory.hops,
    )
    send(tx, letter)
    failpoint("context.sent")
    agent, model = choice_for_mail(memory, begun=True)
    marked = drain(tx, address, turn_id, agent=agent, model=model, own_only=True)
    if memory.remarks is not None:  # what was said of plans may be out of sight now
        marked += memory.remarks.behind(tx, kept, marked)
    save_progress(tx, memory.claim, memory.progress)
    keep(tx, turn_id, decisions)
    about = {"sessionID": address.session_id, "actorID": address.actor_id}
    tx.emit(Event("session.compacted", about, session_id=address.session_id))
    taken = take(tx, memory, memory.progress)
    return msgspec.structs.replace(taken, new=[*marked, *taken.new])
