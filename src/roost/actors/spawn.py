"""Registers a child and sends it its brief, in one transaction under its parent's claim.

Every limit on the number of actors is checked here or at the claim, where it cannot be got round:
what tool was shown to whom decides nothing.
"""

from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

from roost.actors import family, store, turn_store
from roost.actors.models import Actor, Claim
from roost.actors.send import send
from roost.core.clock import now_ms
from roost.core.errors import UsageError
from roost.core.failpoints import failpoint
from roost.core.ids import new_id
from roost.db.transaction import Transaction
from roost.inbox.models import Address, Letter, PromptBody
from roost.sessions import store as sessions
from roost.sessions import transcript
from roost.sessions.models import ModelName, NewSession
from roost.sessions.parts import TextPart

READER: Final = "ask"
"""What the ids of readers begin with."""
ContextMode = Literal["none", "state", "full"]


class Brief(Struct, frozen=True, kw_only=True):
    """What a child is made of."""

    agent: str
    """The name of the agent that it runs as."""
    description: str
    """A few words for people and for the parent's list."""
    task: str
    """What it is to do: the whole first message of its slice."""
    model: ModelName
    context: ContextMode = "none"
    watermark: str | None = None
    """With `full`: the last message of the parent that it sees."""
    background: bool = True
    task_id: str | None = None
    """The task of the session that it works on."""
    output_schema: dict[str, Any] | None = None
    """JSON Schema of the answer that it has to give."""
    tools: tuple[str, ...] | None = None
    """The only tools that it may use, of those that its parent may; None: those of its agent."""


def spawn(tx: Transaction, parent: Claim, brief: Brief) -> Actor:
    """Make a subagent in the parent's session: its own slice and inbox, its brief in it.

    Raises `UsageError` with words for the model where a limit stands against it, and
    `StaleFenceError` when the parent's turn is not its own any more.
    """
    holder = _may_spawn(tx, parent)
    failpoint("spawn.before")
    actor_id = f"{brief.agent}-{family.next_number(tx, holder.session_id, brief.agent)}"
    child = _child(holder, brief, Address(holder.session_id, actor_id), "subagent")
    store.register(tx, child)
    failpoint("spawn.registered")
    return _briefed(tx, parent, child, brief)


def spawn_peer(tx: Transaction, parent: Claim, brief: Brief, session: NewSession) -> Actor:
    """Make a peer: a session of its own that goes on living. Its actor id is the session's id.

    Raises as `spawn` does.
    """
    holder = _may_spawn(tx, parent)
    failpoint("spawn.before")
    made = sessions.create(tx, msgspec.structs.replace(session, parent_id=holder.session_id))
    child = _child(holder, brief, Address(made.id, made.id), "peer")
    store.register(tx, child)
    failpoint("spawn.registered")
    return _briefed(tx, parent, child, brief)


def spawn_reader(tx: Transaction, parent: Claim, brief: Brief, session_id: str) -> Actor:
    """Make an actor in a session that the parent directs, which reads for the parent and is thrown
    away. Nobody there hears of it: its parent is the one who asks.

    Raises as `spawn` does.
    """
    holder = _may_spawn(tx, parent)
    actor_id = f"{READER}-{family.next_number(tx, session_id, READER)}"
    child = _child(holder, brief, Address(session_id, actor_id), "subagent")
    store.register(tx, child)
    return _briefed(tx, parent, child, brief)


def spawn_aside(tx: Transaction, brief: Brief, session_id: str, name: str = READER) -> Actor:
    """Make an actor that reads a conversation and says one thing about it, and is thrown away.
    Nobody else hears of it: it has no parent. `name` is what its id begins with.
    """
    actor_id = f"{name}-{family.next_number(tx, session_id, name)}"
    child = _child(None, brief, Address(session_id, actor_id), "subagent")
    store.register(tx, child)
    return _briefed(tx, None, child, brief)


def _may_spawn(tx: Transaction, parent: Claim) -> Actor:
    limits = parent.limits
    holder = store.check_fence(tx, parent)
    if holder.mode == "subagent":
        raise UsageError(
            "a subagent cannot spawn others",
            hint="Do the work yourself, or `send` your parent what you would have delegated.",
        )
    if holder.cancel is not None:
        raise UsageError("this actor is being stopped and starts nothing any more")
    if holder.depth + 1 > limits.depth:
        raise UsageError(
            f"the limit of {limits.depth} generations of actors is reached (`actors.depth`)",
            hint="Do the work yourself, or `send` your parent what you would have delegated.",
        )
    busy = family.busy_children(tx, holder.address)
    if busy >= limits.children:
        raise UsageError(
            f"{busy} of your actors are at work, and no more than {limits.children} may be",
            hint="Wait until one has ended, or cancel one.",
        )
    return holder


def _child(
    parent: Actor | None, brief: Brief, address: Address, mode: Literal["subagent", "peer"]
) -> Actor:
    now = now_ms()
    return Actor(
        session_id=address.session_id,
        actor_id=address.actor_id,
        mode=mode,
        fronts=mode == "peer",
        agent=brief.agent,
        lifecycle="persistent" if mode == "peer" else "ephemeral",
        status="idle",
        created=now,
        last_activity=now,
        parent=parent.address if parent else None,
        root=(parent.root or parent.address) if parent else None,
        description=brief.description,
        model=brief.model.ref,
        variant=brief.model.variant,
        background=brief.background,
        depth=parent.depth + 1 if parent else 0,
        context_mode=brief.context,
        context_watermark=brief.watermark,
        tools=_both(parent.tools if parent else None, brief.tools),
        task_id=brief.task_id,
        output_schema=brief.output_schema,
    )


def _both(parent: tuple[str, ...] | None, child: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """The tools that a child has whose brief leaves it those of `child`: none but its parent's."""
    if parent is None or child is None:
        return child if parent is None else parent
    return tuple(name for name in child if name in parent)


def _briefed(tx: Transaction, parent: Claim | None, child: Actor, brief: Brief) -> Actor:
    """Send the brief, which wakes the child. Gives the actor as it is then."""
    message_id = new_id("message", after=transcript.last_id(tx, child.session_id))
    text = TextPart(
        id=new_id("part"), session_id=child.session_id, message_id=message_id, text=brief.task
    )
    body = PromptBody(
        message_id=message_id,
        agent=child.agent,
        model=brief.model,
        parts=(text,),
        created=now_ms(),
        format=_format_of(brief.output_schema),
    )
    letter = Letter(
        receiver=child.address,
        kind="brief",
        body=body,
        sender=parent.address if parent else None,
        sender_turn=parent.turn.id if parent else None,
        hops=turn_store.get_turn(tx, parent.turn.id).hops + 1 if parent else 0,
    )
    send(tx, letter)
    failpoint("spawn.briefed")
    return store.get(tx, child.address)


def _format_of(schema: dict[str, Any] | None) -> dict[str, Any] | None:
    return None if schema is None else {"type": "json_schema", "schema": schema, "retryCount": 2}
