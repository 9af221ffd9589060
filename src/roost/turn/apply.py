"""The only writer of decisions: the end of a step and the action that follows, in one
transaction.
"""

import asyncio
from typing import assert_never

import msgspec

from roost.actors.models import Ending, Progress, Settled
from roost.actors.send import send
from roost.actors.settle import settle
from roost.actors.store import check_fence, set_waiting, tell_error
from roost.actors.traces import keep
from roost.actors.turn_store import save_progress
from roost.core.failpoints import failpoint
from roost.core.text import clean
from roost.db.transaction import Transaction
from roost.goals import store as goals
from roost.goals.models import Ruling
from roost.inbox import store as inbox
from roost.inbox.models import Letter, NoteBody
from roost.permissions.asks import withdraw_open
from roost.sessions import repair, transcript
from roost.sessions.models import AssistantInfo, Message, MessageError
from roost.turn.intake import Taken, received, take
from roost.turn.memory import Memory
from roost.turn.models import Action, Facts, Inject, Sample, Shorten, Stop, Wait
from roost.turn.sampler import Step
from roost.turn.stuck_news import told
from roost.turn.world import World

STOPPED = MessageError("MessageAbortedError", {"message": "Stopped by the user"})
ENDED = MessageError("MessageAbortedError", {"message": "The process was asked to end"})
OUT_OF_TIME = MessageError("LimitError", {"message": "Stopped by the limit of time of this turn"})


async def apply(
    world: World,
    memory: Memory,
    step: Step | None,
    action: Action,
) -> Facts | Wait | Settled:
    """Store `step` and carry out `action`: how the turn settled, or the facts for what comes next.

    If the turn goes on, the same transaction delivers the mail that came meanwhile. A wait is
    given back, to be waited for.
    """
    action, stuck = told(world, memory, action)
    used = _used(memory.progress, step, action)
    changed = _changed(memory, step, action)
    decisions = memory.take_decisions()

    def store(tx: Transaction) -> Settled | Taken | Wait:
        check_fence(tx, memory.claim)
        failpoint("apply.before")
        _put(tx, step, changed)
        save_progress(tx, memory.claim, used)
        keep(tx, memory.claim.turn.id, decisions)
        failpoint("apply.stored")
        if stuck is not None:
            tx.emit(stuck)
        result = _carry_out(tx, memory, action)
        return take(tx, memory, used) if result == "more" else result

    try:
        result = await world.database.write(store)
    except asyncio.CancelledError:
        memory.progress = used  # the transaction runs to its end without us
        raise
    memory.progress = used
    failpoint("apply.committed")
    _learn(memory, step, changed)
    return received(world, memory, result) if isinstance(result, Taken) else result


async def store_step(world: World, memory: Memory, step: Step, action: Action) -> None:
    """Store `step` alone, as `action` leaves it: what follows from it takes a while to find out,
    and whatever comes in between, the answer is there.
    """
    used = _used(memory.progress, step, action)
    changed = _changed(memory, step, action)

    def store(tx: Transaction) -> None:
        check_fence(tx, memory.claim)
        _put(tx, step, changed)
        save_progress(tx, memory.claim, used)

    try:
        await world.database.write(store)
    finally:
        memory.progress = used
    failpoint("step.stored")
    _learn(memory, step, changed)


def _put(tx: Transaction, step: Step | None, changed: list[Message]) -> None:
    if step is not None:
        step.store(tx)
    for message in changed:
        transcript.update_message(tx, message.info)


def _learn(memory: Memory, step: Step | None, changed: list[Message]) -> None:
    """Take over what was stored of a step."""
    if step is not None:
        memory.extend([step.outcome.message])
        memory.recorder = None
    memory.replace(changed)
    if any(isinstance(one.info, AssistantInfo) and one.info.hidden for one in changed):
        memory.continuity.declare("steps are left out")


async def spend(world: World, memory: Memory, budget: str) -> None:
    """Store that a call of the model uses one of `budget`, before it is made."""
    used = _less(memory.progress, budget)

    def store(tx: Transaction) -> None:
        check_fence(tx, memory.claim)
        save_progress(tx, memory.claim, used)

    await world.database.write(store)
    memory.progress = used


def _less(progress: Progress, budget: str) -> Progress:
    return msgspec.structs.replace(progress, budgets=progress.budgets.spend(**{budget: 1}))


def _used(before: Progress, step: Step | None, action: Action) -> Progress:
    """What the turn has used with `step` and `action`."""
    progress = before
    if step is not None:
        progress = progress.plus(step.tokens, step.cost, invalid_calls=step.invalid_calls)
    budget = None
    if isinstance(action, Inject):
        budget = action.policy
    elif isinstance(action, Sample):
        budget = action.spend
    return progress if budget is None else _less(progress, budget)


def _changed(memory: Memory, step: Step | None, action: Action) -> list[Message]:
    """The messages that are to be kept otherwise than they are: hidden, or with how it ended."""
    changes: dict[str, object] = {}
    ids: tuple[str, ...] = ()
    if isinstance(action, Inject):
        ids, changes = action.hide, {"hidden": True}
    elif isinstance(action, Stop) and step is not None and (action.error or action.degraded):
        ids = (step.outcome.message.info.id,)
        changes = {"error": _error_of(step) or action.error, "degraded": action.degraded}
    known = memory.messages if step is None else [*memory.messages, step.outcome.message]
    return [
        Message(msgspec.structs.replace(message.info, **changes), message.parts)
        for message in (known if ids else ())
        if message.info.id in ids
    ]


def _error_of(step: Step) -> MessageError | None:
    info = step.outcome.message.info
    return info.error if isinstance(info, AssistantInfo) else None


def _carry_out(tx: Transaction, memory: Memory, action: Action) -> Settled | Wait:
    match action:
        case Sample() | Shorten():
            return "more"
        case Wait():
            set_waiting(tx, memory.claim, action.until)
            failpoint("wait.begun")
            return action
        case Inject(policy=policy, words=words, ruling=ruling):
            if not _holds(tx, memory, ruling):
                return "more"
            address = memory.claim.address
            note = NoteBody(clean(words), origin=policy)
            send(
                tx,
                Letter(
                    receiver=address,
                    kind="system",
                    body=note,
                    sender=address,
                    sender_turn=memory.claim.turn.id,
                    key=f"goal:{ruling.verdict.id}" if ruling and ruling.verdict else None,
                    hops=memory.hops,
                ),
            )
            failpoint("inject.sent")
            return "more"
        case Stop():
            if not _holds(tx, memory, action.ruling):
                return "more"
            _tell_error(tx, memory, action.error)
            withdraw_open(tx, memory.claim.turn.id)
            return settle(tx, memory.claim, _ending(memory, action))
        case _:
            assert_never(action)


def _holds(tx: Transaction, memory: Memory, ruling: Ruling | None) -> bool:
    """Store what becomes of the goal; False if it is no longer what was judged, or if a person has
    spoken meanwhile, who goes first.
    """
    if ruling is None:
        return True
    address = memory.claim.address
    overtaken = inbox.has_prompt(tx, address)
    return goals.rule(tx, address.session_id, ruling, overtaken=overtaken)


def _last_said(memory: Memory) -> str | None:
    """The id of the newest message of the model, if it said anything yet."""
    if memory.recorder is not None:
        return memory.recorder.info.id
    said = (m.info.id for m in reversed(memory.messages) if isinstance(m.info, AssistantInfo))
    return next(said, None)


def _ending(memory: Memory, stop: Stop) -> Ending:
    return Ending(
        outcome=stop.outcome,
        result_message_id=_last_said(memory),
        error=stop.error,
        gated=stop.gated,
        finalize=stop.finalize,
    )


def _tell_error(tx: Transaction, memory: Memory, error: MessageError | None) -> None:
    if error is not None:
        tell_error(tx, memory.claim.address, error)


async def end_early(
    world: World, memory: Memory, ending: Ending, error: MessageError, *, save: bool = True
) -> Settled:
    """Close a turn that was stopped in the middle of whatever it was doing.

    Text that streamed is kept, with `save` to its last letter; open parts and messages are closed
    with `error`, asks withdrawn.
    """
    if save and memory.recorder is not None:
        await memory.recorder.save()

    def store(tx: Transaction) -> Settled:
        check_fence(tx, memory.claim)
        address = memory.claim.address
        repair.repair(tx, address.session_id, address.actor_id, error)
        save_progress(tx, memory.claim, memory.progress)
        keep(tx, memory.claim.turn.id, memory.take_decisions())
        if ending.outcome == "failure":
            _tell_error(tx, memory, error)
        withdraw_open(tx, memory.claim.turn.id)
        stepped = memory.recorder is not None or memory.progress.steps > 0
        result = _last_said(memory) if stepped else ending.result_message_id
        shown = msgspec.structs.replace(ending, result_message_id=result)
        return settle(tx, memory.claim, shown)

    return await world.database.write(store)
