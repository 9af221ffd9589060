"""The start of a step: claim the mail, extend the slice, derive the facts."""

import asyncio

import msgspec
from msgspec import Struct

from roost.actors import tree_budgets
from roost.actors.models import Actor, Claim, Progress
from roost.actors.send import send
from roost.actors.store import check_fence, note_choice
from roost.actors.turn_store import save_progress, set_hops
from roost.context.active import active_actors
from roost.context.estimate import used
from roost.context.recall import recall_note
from roost.core.errors import NotFoundError, UsageError
from roost.core.failpoints import failpoint
from roost.db.transaction import Reader, Transaction
from roost.goals import store as goals
from roost.inbox.drain import drain
from roost.inbox.models import Address, Letter, NoteBody
from roost.sessions import effective, transcript
from roost.sessions.effective import Slice, mark_of
from roost.sessions.models import Message, ModelName, UserInfo
from roost.tasks import store as tasks
from roost.tasks.models import TERMINAL
from roost.turn.asked import binds
from roost.turn.memory import Fork, Memory
from roost.turn.models import Facts
from roost.turn.remarks import steering
from roost.turn.verdict import REFILLED_BY_A_PERSON
from roost.turn.world import World


async def begin(world: World, claim: Claim) -> Memory:
    """Load the slice of a turn that was just claimed, of a fork with what it knows of another.

    Raises `NotFoundError` if that is not there any more.
    """
    where = claim.address

    def load(db: Reader) -> Memory:
        own = effective.load(db, where.session_id, where.actor_id)
        prompt = _prompt_before(db, where, own)
        if claim.actor.context_mode != "full":
            return Memory(claim, own, prompt=prompt)
        whose, seen = _seen(db, claim.actor)
        fork = Fork.of(whose, seen.messages, _prompt_before(db, whose, seen))
        if own.settled:  # what it was shown of the other conversation is summed up in its own mark
            return Memory(claim, own, fork, prompt=prompt)
        both = Slice((*seen.messages, *own.messages), seen.settled)
        return Memory(claim, both, fork, prompt=prompt)

    return await world.database.read(load)


def _prompt_before(db: Reader, where: Address, known: Slice) -> UserInfo | None:
    """The newest prompt, if it is older than all that is `known` of a shortened conversation."""
    if not known.settled or any(map(binds, known.messages)):
        return None
    heard = effective.heard_before(db, where.session_id, where.actor_id, 2**62)
    found = next(filter(binds, heard), None)
    return found.info if found and isinstance(found.info, UserInfo) else None


def _seen(db: Reader, actor: Actor) -> tuple[Address, Slice]:
    """Whose conversation a fork knows, usually its parent's, and what it knows of it."""
    spot = transcript.spot_of(db, actor.context_watermark or "")
    if spot is None:
        raise NotFoundError(
            f"the conversation that {actor.actor_id} was to know is not there any more"
        )
    whose = Address(spot.session_id, spot.actor_id)
    return whose, effective.load(db, spot.session_id, spot.actor_id, before=spot.seq + 1)


class Taken(Struct, frozen=True):
    """What a transaction found when it claimed the mail."""

    actor: Actor
    new: list[Message]
    progress: Progress
    hops: int


async def intake(world: World, memory: Memory) -> Facts:
    """Deliver what is queued and give the facts for the next verdict. Raises `StaleFenceError`."""
    if not memory.progress.steps:
        agent = memory.claim.actor.agent
        memory.remembered = await asyncio.to_thread(world.remembered, agent)
    taken = await world.database.write(lambda tx: take(tx, memory, memory.progress))
    failpoint("drain.committed")
    return received(world, memory, taken)


def take(tx: Transaction, memory: Memory, progress: Progress) -> Taken:
    """Deliver what is queued to a turn that has made `progress`.

    Changes nothing in `memory`, since `tx` may still fail.
    """
    actor = check_fence(tx, memory.claim)
    failpoint("drain.before")
    agent, model = choice_for_mail(memory, begun=progress.steps > 0)
    new = drain(
        tx,
        memory.claim.address,
        memory.claim.turn.id,
        agent=agent,
        model=model,
        own_only=memory.finalizing,
        until=_until(memory.claim),
    )
    budgets = progress.budgets
    said = [message.info for message in new if isinstance(message.info, UserInfo)]
    by_a_person = [info for info in said if info.provenance is None]
    hops = 0 if by_a_person else max([memory.hops, *map(_hops, said)])
    if hops != memory.hops:
        set_hops(tx, memory.claim.turn.id, hops)
    if by_a_person:
        chosen = by_a_person[-1]
        if not progress.steps:
            new += _reminded(tx, memory, chosen)
        note_choice(tx, memory.claim.address, chosen.agent, chosen.model)
        budgets = budgets.refill(REFILLED_BY_A_PERSON)
        tree_budgets.begin(tx, memory.claim, budgets)
        if memory.claim.actor.fronts:
            goals.begin_anew(tx, memory.claim.address.session_id)
        save_progress(tx, memory.claim, msgspec.structs.replace(progress, budgets=budgets))
    if memory.remarks is not None and not memory.finalizing:
        new += memory.remarks.behind(tx, memory.messages, new)
    if tree_budgets.is_limited(budgets):
        budgets = tree_budgets.read(tx, memory.claim, budgets)
    return Taken(actor, new, msgspec.structs.replace(progress, budgets=budgets), hops)


def _until(claim: Claim) -> int | None:
    """A turn that was stopped before it began takes up what it was for, and nothing that is said
    since: that starts a turn of its own.
    """
    return claim.turn.started if claim.actor.cancel is not None else None


def _reminded(tx: Transaction, memory: Memory, prompt: UserInfo) -> list[Message]:
    """What is said of the actors at work, and of what there is to look at, behind a prompt that
    begins a turn.
    """
    address, turn_id = memory.claim.address, memory.claim.turn.id
    known = tasks.listed(tx, address.session_id)
    open_tasks = sum(one.status not in TERMINAL for one in known)
    notes = (
        ("active", "active-actors", active_actors(tx, address)),
        ("recall", "recall", recall_note(memory.remembered, open_tasks)),
    )
    if not any(words for _, _, words in notes):
        return []
    for key, origin, words in notes:
        if words:
            send(tx, _note(memory.claim, words, origin=origin, key=key))
    return drain(tx, address, turn_id, agent=prompt.agent, model=prompt.model)


def _note(claim: Claim, words: str, *, origin: str, key: str) -> Letter:
    """What Roost says to the actor of a turn, once in it."""
    return Letter(
        receiver=claim.address,
        kind="system",
        body=NoteBody(words, origin=origin),
        sender=claim.address,
        sender_turn=claim.turn.id,
        key=f"{key}:{claim.turn.id}",
    )


def _hops(info: UserInfo) -> int:
    return int((info.provenance or {}).get("hops", 0))


def received(world: World, memory: Memory, taken: Taken) -> Facts:
    """The facts once `taken` is committed."""
    memory.progress = taken.progress
    memory.hops = taken.hops
    begun = taken.progress.steps > 0
    memory.steering = steering(taken.new, begun=begun) or memory.steering
    memory.extend(taken.new)
    return _facts(world, memory, taken.actor)


def choice_for_mail(memory: Memory, *, begun: bool) -> tuple[str, ModelName]:
    """Agent and model that go on with mail: a turn begins as the agent that the actor has by now,
    whatever it was when it last heard something.
    """
    agent, model = _current_choice(memory)
    return (agent if begun else memory.claim.actor.agent), model


def _current_choice(memory: Memory) -> tuple[str, ModelName]:
    """Agent and model of the newest words said to the actor; for mail that is no prompt."""
    if memory.user is not None:
        return memory.user.agent, memory.user.model
    actor = memory.claim.actor
    return actor.agent, ModelName.of(actor.model or "", actor.variant)


def _facts(world: World, memory: Memory, actor: Actor) -> Facts:
    name, choice = _current_choice(memory)
    if not memory.messages:
        raise UsageError(f"actor {actor.actor_id} has nothing to answer")
    agent = world.resolve_agent(name)
    model = world.resolve_model(choice)
    return Facts(
        agent=agent,
        model=model,
        window=world.window(model),
        used=used_by(memory),
        settled=memory.settled,
        messages=tuple(memory.messages),
        user=memory.user,
        prompt=memory.prompt,
        budgets=memory.budgets,
        steps=memory.progress.steps,
        elapsed=memory.elapsed,
        cancel=actor.cancel,
        gated=agent.completion_gate and actor.parent is not None,
    )


def used_by(memory: Memory) -> int:
    """The tokens that the next request of a turn has, as far as is known."""
    mark = mark_of(memory.messages[0]) if memory.settled else None
    trim = mark.trim if mark else None
    return used(memory.messages, memory.settled, memory.overhead, trim)
