"""Wakes an actor: compare-and-set on owner and lease, fence + 1, a turn row, a mended slice."""

from collections.abc import Callable
from typing import Final

import msgspec

from roost.actors import ending as endings
from roost.actors import family, store, turn_store
from roost.actors.limits import ActorLimits
from roost.actors.models import Actor, Budgets, Claim, Ending, Reason, Turn, carried
from roost.actors.status import tell_status
from roost.core.clock import now_ms
from roost.core.failpoints import failpoint
from roost.core.ids import new_id
from roost.db.transaction import Transaction
from roost.inbox import store as inbox
from roost.inbox.models import Address
from roost.sessions import repair
from roost.sessions.models import MessageError

LEASE_MS: Final = 15_000
"""How long an owner may be silent before another process may take its actor over."""
RENEW_SECONDS: Final = 2.0
"""How often a process renews its leases and looks for cancels from other processes."""

IsDead = Callable[[str], bool | None]
"""Tells of an owner with proof that it is dead (True) or lives (False); None: nobody can tell."""


def is_held(actor: Actor, now: int, is_dead: IsDead) -> bool:
    """Whether a live process owns the actor: its lease runs and its death is not proven.

    A lease that runs for longer than any lease does was written by a wrong clock. Only an owner
    that provably lives is believed it; else the actor would be blocked until that clock is right.
    """
    if actor.owner is None or actor.lease_until <= now:
        return False
    dead = is_dead(actor.owner)
    return dead is False or (dead is None and actor.lease_until <= now + LEASE_MS)


def claim(
    tx: Transaction,
    address: Address,
    *,
    owner: str,
    is_dead: IsDead,
    budgets: Budgets,
    limits: ActorLimits,
    reason: Reason = "prompt",
    unstored: MessageError | None = None,
) -> Claim | None:
    """Take `address` for a new turn; None if another process holds it, nothing waits for it, or
    too many run already: then it stays pending.

    A process asks only for what it is not running. If its own name still stands there, the end of
    its last turn could not be stored: it failed for the reason `unstored`, if that is known.
    """
    now = now_ms()
    actor = store.find(tx, address)
    if actor is None or (actor.owner != owner and is_held(actor, now, is_dead)):
        return None
    took_over = actor.owner is not None
    if took_over:
        actor = lose(tx, actor, limits, unstored if actor.owner == owner else None)
    is_due = reason == "resume" or inbox.has_mail(tx, address)
    if not is_due or (actor.cancel is None and _is_crowded(tx, actor, limits)):
        if took_over or not is_due:
            rest(tx, actor)
        return None
    failpoint("claim.before")
    repair.repair(tx, address.session_id, address.actor_id)
    turn = _start_turn(tx, actor, reason, _carried(tx, actor, budgets), now)
    held = _hold(tx, actor, turn, owner, now)
    tell_status(tx, held)
    failpoint("claim.end")
    return Claim(held, turn, limits)


def _hold(tx: Transaction, actor: Actor, turn: Turn, owner: str, now: int) -> Actor:
    """Make `owner` the one who runs `turn`; the actor as it is then."""
    held = msgspec.structs.replace(
        actor,
        status="running",
        owner=owner,
        fence=turn.fence,
        lease_until=now + LEASE_MS,
        retry=None,
        current_turn=turn.id,
        turns=turn.number,
        last_activity=now,
        held=False,
        stalled=None,
        waiting_until=None,
        background=actor.background or _nobody_waits(actor),
    )
    tx.run(
        "UPDATE actor SET status = 'running', owner = ?, fence = ?, lease_until = ?,"
        " retry = NULL, current_turn = ?, turns = ?, last_activity = ?, held = 0, stalled = NULL,"
        " waiting_until = NULL, background = ? WHERE session_id = ? AND actor_id = ?",
        (
            *(owner, held.fence, held.lease_until, turn.id, turn.number, now),
            *(int(held.background), actor.session_id, actor.actor_id),
        ),
    )
    return held


def _is_crowded(tx: Transaction, actor: Actor, limits: ActorLimits) -> bool:
    """Whether a subagent has to wait until another one of its session has ended: there is no room
    for it behind those that run and those that have waited longer.
    """
    if actor.mode != "subagent":
        return False
    running = family.running_subagents(tx, actor.session_id, besides=actor.address)
    queue = family.pending_subagents(tx, actor.session_id)
    ahead = queue.index(actor.address) if actor.address in queue else 0
    return running + ahead >= limits.running


def _nobody_waits(actor: Actor) -> bool:
    """Whether its parent hears of the next turn by mail: it waits for the turn of a brief alone."""
    return actor.parent is not None and actor.turns > 0


def _carried(tx: Transaction, actor: Actor, budgets: Budgets) -> Budgets:
    """`budgets` with what the last turn of `actor` has used of them, if the new one goes on with
    it: its process stopped in the middle, and no person has spoken since.
    """
    last = turn_store.find_turn(tx, actor.address, actor.turns)
    if last is None or last.outcome != "interrupted" or inbox.has_prompt(tx, actor.address):
        return budgets
    return carried(last, actor.last_activity, budgets)


def _start_turn(tx: Transaction, actor: Actor, reason: Reason, budgets: Budgets, now: int) -> Turn:
    turn = Turn(
        id=new_id("turn"),
        session_id=actor.session_id,
        actor_id=actor.actor_id,
        number=actor.turns + 1,
        fence=actor.fence + 1,
        reason=reason,
        phase="running",
        budgets=budgets,
        started=now,
    )
    tx.run(
        "INSERT INTO turn (id, session_id, actor_id, number, fence, reason, phase, budgets,"
        " started) VALUES (?,?,?,?,?,?,'running',?,?)",
        (
            turn.id,
            turn.session_id,
            turn.actor_id,
            turn.number,
            turn.fence,
            reason,
            msgspec.json.encode(budgets).decode(),
            now,
        ),
    )
    return turn


def lose(
    tx: Transaction, actor: Actor, limits: ActorLimits, error: MessageError | None = None
) -> Actor:
    """Close the turn of an owner that is gone. The actor is given as it is then, not at rest.

    With `error` it has failed; what was being cancelled is cancelled; else it is interrupted, and
    a background actor that is to go on has mail for it.
    """
    if actor.current_turn is None:
        return actor
    if error is not None:
        ending = Ending(outcome="failure", error=error)
    else:
        ending = Ending(outcome="cancelled" if actor.cancel else "interrupted")
    endings.deliver(tx, actor, actor.current_turn, ending, limits)
    endings.close(tx, actor, actor.current_turn)
    store.clear_cancel(tx, actor)
    return msgspec.structs.replace(actor, cancel=None)


def rest(tx: Transaction, actor: Actor) -> None:
    """Set an actor without a turn idle, or pending if mail waits for it; mend its slice."""
    repair.repair(tx, actor.session_id, actor.actor_id)
    waiting = inbox.has_mail(tx, actor.address)
    resting = msgspec.structs.replace(
        actor,
        status="pending" if waiting else "idle",
        cancel=actor.cancel if waiting else None,
        fence=actor.fence + 1,
        retry=None,
    )
    store.set_at_rest(tx, resting)
    if actor.status != resting.status:
        tell_status(tx, resting)


def rest_unless_due(tx: Transaction, address: Address) -> None:
    """Let an actor sleep that was to run for what nobody needs to hear any more."""
    actor = store.find(tx, address)
    if actor is not None and actor.status == "pending" and not inbox.has_mail(tx, address):
        rest(tx, actor)


def recover_actor(tx: Transaction, address: Address, is_dead: IsDead, limits: ActorLimits) -> bool:
    """Close the turn of `address` if its owner is gone; whether mail waits for it then.

    An actor that a live process runs is left alone.
    """
    actor = store.find(tx, address)
    if actor is None or actor.status == "idle" or is_held(actor, now_ms(), is_dead):
        return False
    if actor.owner is not None:
        actor = lose(tx, actor, limits)
    rest(tx, actor)
    failpoint("recover.actor")
    return inbox.has_mail(tx, address)


def renew(tx: Transaction, owner: str) -> list[Actor]:
    """Extend every lease of `owner`, and give its actors as they are now."""
    tx.run("UPDATE actor SET lease_until = ? WHERE owner = ?", (now_ms() + LEASE_MS, owner))
    return store.owned_by(tx, owner)
