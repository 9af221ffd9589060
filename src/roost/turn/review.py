"""The look at a turn that is about to end well: what only reading can tell the same policies."""

import msgspec

from roost.actors.report import owned_open
from roost.tasks.models import Task
from roost.turn.hooking import objections, wants_the_end
from roost.turn.judging import judged
from roost.turn.memory import Memory
from roost.turn.models import Facts, Review, Stop
from roost.turn.verdict import verdict
from roost.turn.world import World


async def review(world: World, memory: Memory, facts: Facts) -> Facts:
    """The facts with all that speaks against ending now; once delivered, nothing does."""
    finalize = await wants_the_end(world, memory)
    if memory.finalizing:
        return msgspec.structs.replace(facts, review=Review(finalize=finalize))
    tasks = await _open_tasks(world, memory) if facts.gated else ()
    found = Review(
        open_tasks=tasks,
        objections=await objections(world, memory, facts),
        finalize=finalize,
    )
    facts = msgspec.structs.replace(facts, review=found)
    action = verdict(facts)
    ends = isinstance(action, Stop) and action.outcome == "success"
    return await judged(world, memory, facts, found) if ends else facts


async def _open_tasks(world: World, memory: Memory) -> tuple[str, ...]:
    address = memory.claim.address
    owned: list[Task] = await world.database.read(lambda db: owned_open(db, address))
    return tuple(f"{one.id} {one.summary}" for one in owned if one.status != "blocked")
