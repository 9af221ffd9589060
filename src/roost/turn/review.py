"""The look at a turn that is about to end well: what only reading can tell the same policies."""

import msgspec

from roost.actors.report import owned_open
from roost.tasks.models import Task
from roost.tools.answer_format import is_structured
from roost.turn.apply import store_step
from roost.turn.hooking import objections, wants_the_end
from roost.turn.judging import due_goal, judged
from roost.turn.memory import Memory
from roost.turn.models import Facts, Review, Stop
from roost.turn.policies import goal, uncommitted
from roost.turn.sampler import Step
from roost.turn.verdict import verdict
from roost.turn.world import World


async def review(
    world: World, memory: Memory, facts: Facts, step: Step | None
) -> tuple[Facts, Step | None]:
    """The facts with all that speaks against ending now; once delivered, nothing does.

    The step comes back as long as it is not stored, which it is before a judge is asked.
    """
    finalize = await wants_the_end(world, memory)
    if memory.finalizing:
        return msgspec.structs.replace(facts, review=Review(finalize=finalize)), step
    tasks = await _open_tasks(world, memory) if facts.gated else ()
    found = Review(
        open_tasks=tasks,
        objections=await objections(world, memory, facts),
        uncommitted=await _uncommitted(world, memory, facts),
        finalize=finalize,
    )
    facts = msgspec.structs.replace(facts, review=found)
    action = verdict(facts)
    good = isinstance(action, Stop) and action.outcome == "success"
    if not good or not goal.is_answered(facts):
        return facts, step
    if (due := await due_goal(world, memory)) is None:
        return facts, step
    facts = msgspec.structs.replace(facts, review=msgspec.structs.replace(found, goal=due.goal))
    if goal.no_room(facts) is not None:
        return facts, step
    if step is not None:
        await store_step(world, memory, step, action)
    return await judged(world, memory, facts, due), None


async def _uncommitted(world: World, memory: Memory, facts: Facts) -> tuple[str, ...]:
    """What a person's own turn leaves uncommitted, if that is to be told and was not."""
    prompt = facts.prompt
    told = facts.budgets.left(uncommitted.BUDGET, uncommitted.LIMIT) <= 0
    if world.uncommitted is None or told or not memory.ran or prompt is None:
        return ()
    if prompt.provenance is not None or is_structured(prompt.format) or facts.agent.plans:
        return ()
    return await world.uncommitted()


async def _open_tasks(world: World, memory: Memory) -> tuple[str, ...]:
    address = memory.claim.address
    owned: list[Task] = await world.database.read(lambda db: owned_open(db, address))
    return tuple(f"{one.id} {one.summary}" for one in owned if one.status != "blocked")
