"""Pins how the requests of a turn begin: read once a turn, stored only when it changes."""

import msgspec

from roost.actors.store import check_fence
from roost.context.estimate import tokens_in
from roost.context.prefix import Prefix, Wanted, holding, made_of
from roost.context.prefix_store import find, put
from roost.core.failpoints import failpoint
from roost.db.transaction import Transaction
from roost.turn.memory import Memory
from roost.turn.world import World


async def pin(world: World, memory: Memory, wanted: Wanted) -> Prefix:
    """The prefix that holds for `wanted`; a fork has that of the conversation which it continues.

    Raises `StaleFenceError`.
    """
    if memory.prefix is not None and memory.prefix[0] == wanted:
        return memory.prefix[1]
    session_id = memory.fork.session_id if memory.fork else memory.claim.address.session_id
    new = made_of(wanted, world.system(wanted.agent, wanted.model, wanted.extra))
    known = await world.database.read(lambda db: find(db, session_id, new.profile))
    prefix = holding(known, new)
    if prefix is not known:

        def store(tx: Transaction) -> Prefix:
            check_fence(tx, memory.claim)
            found = find(tx, session_id, new.profile)
            holds = holding(found, new)
            if holds is not found:
                put(tx, session_id, holds)
            failpoint("prefix.pinned")
            return holds

        prefix = await world.database.write(store)
    if memory.prefix is not None:
        memory.continuity.declare("another model, agent or set of tools")
    memory.prefix = wanted, prefix
    memory.overhead = _tokens(wanted, prefix)
    return prefix


def _tokens(wanted: Wanted, prefix: Prefix) -> int:
    shown = [*prefix.system, *(f"{one.name}{one.description}" for one in wanted.tools)]
    schemas = (msgspec.json.encode(one.schema).decode() for one in wanted.tools)
    return sum(map(tokens_in, (*shown, *schemas)))
