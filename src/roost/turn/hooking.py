"""Asks the hooks of a project around a turn, and gives what they say as facts."""

from typing import Final, Literal, TypedDict

import msgspec

from roost.actors.models import Outcome, Turn
from roost.actors.report import last_words
from roost.actors.traces import HookAsked, keep
from roost.actors.turn_store import get_turn
from roost.context.agents import Agent
from roost.core.failpoints import failpoint
from roost.db.transaction import Transaction
from roost.events.types import Event
from roost.hooks.models import (
    Cancel,
    Continue,
    HookReport,
    HookRun,
    Mode,
    PostStop,
    PreStop,
    SessionPost,
    SessionPre,
    StepPost,
    StepPre,
)
from roost.inbox import store as inbox
from roost.sessions.models import AssistantInfo
from roost.sessions.parts import TextPart, ToolPart
from roost.turn.apply import store_step
from roost.turn.classes import spoken
from roost.turn.hands import lent
from roost.turn.memory import Memory
from roost.turn.models import Action, Delivered, Facts, Overflow, Sample, Stop
from roost.turn.policies.hooks import BUDGET, POST_BUDGET
from roost.turn.sampler import Step
from roost.turn.world import World

LAST_SECONDS: Final = 5.0
"""How long hooks may still work when the process is asked to end."""
_WRITERS: Final = ("edit", "write", "apply_patch")
_SESSION_OUTCOMES: Final[dict[Outcome, Literal["completed", "error", "cancelled"]]] = {
    "success": "completed",
    "failure": "error",
    "cancelled": "cancelled",
    "interrupted": "cancelled",
}


async def refusal(world: World, memory: Memory) -> str:
    """Why hooks want the turn not to begin; empty if they do not."""
    agent, mode = _agent(world, memory), memory.claim.actor.mode
    if not await world.hooks.wants("session.pre", agent.name, mode):
        return ""
    report = await world.hooks.session_pre(SessionPre(**_who(memory, agent)))
    await _tell(world, memory, report)
    return report.refusal


async def before_step(world: World, memory: Memory, facts: Facts) -> Facts:
    """The facts once hooks were asked about the step that is due."""
    agent, mode = _agent(world, memory), memory.claim.actor.mode
    if not await world.hooks.wants("step.pre", agent.name, mode):
        return facts
    given = StepPre(**_who(memory, agent), step=facts.steps + 1)
    report = await world.hooks.step_pre(given)
    await _tell(world, memory, report)
    return msgspec.structs.replace(facts, refusal=report.refusal)


async def after_step(
    world: World, memory: Memory, facts: Facts, step: Step, action: Action
) -> Step | None:
    """Tell hooks of `step`, from which `action` follows.

    They may take a while, so it is stored before and does not come back, unless nothing in it could
    be lost.
    """
    agent, mode = _agent(world, memory), memory.claim.actor.mode
    if not await world.hooks.wants("step.post", agent.name, mode):
        return step
    is_empty = isinstance(step.outcome, Overflow)
    if not is_empty:
        # What another action does to the step or uses of a budget is stored with that action.
        await store_step(world, memory, step, action if isinstance(action, Stop) else Sample())
    message = step.outcome.message
    error = message.info.error if isinstance(message.info, AssistantInfo) else None
    given = StepPost(
        **_who(memory, agent),
        step=facts.steps,
        message_id=message.info.id,
        outcome="error" if error else "completed",
        error=error.message if error else None,
        text=spoken(message),
        tools=tuple(part.tool for part in message.parts if isinstance(part, ToolPart)),
    )
    await _tell(world, memory, await world.hooks.step_post(given))
    return step if is_empty else None


async def objections(world: World, memory: Memory, facts: Facts) -> tuple[str, ...]:
    """Why hooks want the actor to go on although it is about to end well."""
    agent, mode = _agent(world, memory), memory.claim.actor.mode
    if not await world.hooks.wants("actor.pre_stop", agent.name, mode):
        return ()
    given = PreStop(
        **_who(memory, agent),
        **_what(memory),
        final_text=spoken(facts.step) if facts.step else "",
        iteration=int(memory.budgets.used.get(BUDGET, 0)),
    )
    report = await world.hooks.pre_stop(given)
    await _tell(world, memory, report)
    return (report.reason,) if report.reason else ()


async def wants_the_end(world: World, memory: Memory) -> bool:
    """Whether hooks are to be asked once the result is delivered."""
    agent, mode = _agent(world, memory), memory.claim.actor.mode
    return await world.hooks.wants("actor.post_stop", agent.name, mode)


async def after_delivery(world: World, memory: Memory, facts: Facts) -> Facts:
    """The facts once the result was delivered and the hooks were asked what they say to it."""
    memory.finalizing = True
    turn = await world.database.read(lambda db: get_turn(db, memory.claim.turn.id))
    report = await world.hooks.post_stop(await _post_stop(world, memory, turn))
    await _tell(world, memory, report)
    prompted = await world.database.read(lambda db: inbox.has_prompt(db, memory.claim.address))
    failpoint("finalize.before")
    found = Delivered(turn.outcome or "success", report.reason, prompted)
    return msgspec.structs.replace(facts, review=None, delivered=found)


async def tell_the_end(world: World, memory: Memory) -> None:
    """Let hooks know how the turn ended, whatever came of it.

    At most once: where the process is killed first, nobody tells them.
    """
    agent, mode = _agent(world, memory), memory.claim.actor.mode
    turn = await world.database.read(lambda db: get_turn(db, memory.claim.turn.id))
    if turn.outcome is None:
        return  # another process has the turn now, and tells its end
    if not memory.finalizing and await world.hooks.wants("actor.post_stop", agent.name, mode):
        report = await world.hooks.post_stop(await _post_stop(world, memory, turn))
        await _tell(world, memory, report)
    if not await world.hooks.wants("session.post", agent.name, mode):
        return
    words = await world.database.read(
        lambda db: last_words(db, memory.claim.actor, turn.id, turn.result_message_id)
    )
    given = SessionPost(
        **_who(memory, agent),
        outcome=_SESSION_OUTCOMES[turn.outcome],
        error=turn.error.message if turn.error else None,
        final_text=words,
        message_id=turn.result_message_id,
    )
    await _tell(world, memory, await world.hooks.session_post(given))


async def _post_stop(world: World, memory: Memory, turn: Turn) -> PostStop:
    agent = _agent(world, memory)
    words = await world.database.read(
        lambda db: last_words(db, memory.claim.actor, turn.id, turn.result_message_id)
    )
    return PostStop(
        **_who(memory, agent),
        **_what(memory),
        final_text=words,
        iteration=int(memory.budgets.used.get(POST_BUDGET, 0)),
        outcome=turn.outcome or "success",
        error=turn.error.message if turn.error else None,
        can_write=_can_write(world, memory, agent),
    )


def _can_write(world: World, memory: Memory, agent: Agent) -> bool:
    if memory.user is None:
        return False
    tools = world.tools(agent, world.resolve_model(memory.user.model), False)
    tools = lent(tools, memory.claim.actor, world.lenders)
    return any(name in tools for name in _WRITERS)


def _agent(world: World, memory: Memory) -> Agent:
    name = memory.user.agent if memory.user else memory.claim.actor.agent
    return world.resolve_agent(name)


class _Who(TypedDict):
    session_id: str
    actor_id: str
    agent: str
    mode: Mode
    task_id: str | None


class _What(TypedDict):
    lifecycle: Literal["persistent", "ephemeral"]
    task: str
    description: str
    parent_session_id: str | None
    parent_actor_id: str | None


def _who(memory: Memory, agent: Agent) -> _Who:
    actor = memory.claim.actor
    return {
        "session_id": actor.session_id,
        "actor_id": actor.actor_id,
        "agent": agent.name,
        "mode": actor.mode,
        "task_id": actor.task_id,
    }


def _what(memory: Memory) -> _What:
    actor = memory.claim.actor
    return {
        "lifecycle": actor.lifecycle,
        "task": _asked(memory),
        "description": actor.description,
        "parent_session_id": actor.parent.session_id if actor.parent else None,
        "parent_actor_id": actor.parent.actor_id if actor.parent else None,
    }


def _asked(memory: Memory) -> str:
    """The words of the newest prompt or brief."""
    prompt = memory.prompt
    for message in reversed(memory.messages):
        if prompt is not None and message.info.id == prompt.id:
            return "\n".join(p.text for p in message.parts if isinstance(p, TextPart))
    return ""


async def _tell(world: World, memory: Memory, report: HookReport) -> None:
    """Let clients see which hooks ran and what they said.

    Of what is kept for later, hooks that have nothing to say to a step take no room.
    """
    if not report.runs and not report.warnings:
        return
    address = memory.claim.address
    about = {
        "sessionID": address.session_id,
        "actorID": address.actor_id,
        "turnID": memory.claim.turn.id,
        "on": report.on,
        "runs": msgspec.to_builtins(report.runs),
        "warnings": report.warnings,
    }
    event = Event("hook.executed", about, session_id=address.session_id)
    is_seldom = report.on not in ("step.pre", "step.post")
    runs = (run for run in report.runs if is_seldom or run.answer or run.error)
    kept = tuple(_fact(report, run) for run in runs)

    def tell(tx: Transaction) -> None:
        keep(tx, memory.claim.turn.id, kept)
        tx.emit(event)

    await world.database.write(tell)


def _fact(report: HookReport, run: HookRun) -> HookAsked:
    match run.answer:
        case Continue(reason):
            answer, words = "continue", reason
        case Cancel(reason):
            answer, words = "cancel", reason
        case None:
            answer, words = "", run.error or ""
    return HookAsked(
        on=report.on,
        name=run.name,
        seconds=run.seconds,
        answer=answer,
        words=words,
        failed=run.error is not None,
    )
