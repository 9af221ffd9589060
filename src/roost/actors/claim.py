"""Wakes an actor: compare-and-set on owner and lease, fence + 1, a turn row, a mended slice."""

from collections.abc import Callable
from typing import Final

import msgspec

from roost.actors import store
from roost.actors.models import Actor, Budgets, Claim, Reason, Turn
from roost.core.clock import now_ms
from roost.core.failpoints import failpoint
from roost.core.ids import new_id
from roost.db.transaction import Transaction
from roost.events.types import Event
from roost.inbox import store as inbox
from roost.inbox.models import Address
from roost.sessions import repair

LEASE_MS: Final = 15_000
"""How long an owner may be silent before another process may take its actor over."""
RENEW_SECONDS: Final = 2.0
"""How often a process renews its leases and looks for cancels from other processes."""

IsDead = Callable[[str], bool]


def is_held(actor: Actor, now: int, is_dead: IsDead) -> bool:
    """Whether a live process owns the actor: its lease runs and its death is not proven."""
    return actor.owner is not None and actor.lease_until > now and not is_dead(actor.owner)


def claim(
    tx: Transaction,
    address: Address,
    *,
    owner: str,
    is_dead: IsDead,
    budgets: Budgets,
    reason: Reason = "prompt",
) -> Claim | None:
    """Take `address` for a new turn; None if another process holds it or nothing waits for it.

    A process asks only for what it is not running. If its own name still stands there, the end of
    its last turn could not be stored, and the turn counts as interrupted.
    """
    now = now_ms()
    actor = store.find(tx, address)
    if actor is None or (actor.owner != owner and is_held(actor, now, is_dead)):
        return None
    took_over = actor.owner is not None
    if took_over:
        end_interrupted(tx, actor)
    if not inbox.has_mail(tx, address) and reason != "resume":
        rest(tx, actor)
        return None
    failpoint("claim.before")
    repair.repair(tx, address.session_id, address.actor_id)
    turn = _start_turn(tx, actor, reason, budgets, now)
    held = msgspec.structs.replace(
        actor,
        status="running",
        owner=owner,
        fence=turn.fence,
        lease_until=now + LEASE_MS,
        cancel=None,
        retry=None,
        current_turn=turn.id,
        turns=turn.number,
        last_activity=now,
    )
    tx.run(
        "UPDATE actor SET status = 'running', owner = ?, fence = ?, lease_until = ?,"
        " cancel = NULL, retry = NULL, current_turn = ?, turns = ?, last_activity = ?"
        " WHERE session_id = ? AND actor_id = ?",
        (
            owner,
            held.fence,
            held.lease_until,
            turn.id,
            turn.number,
            now,
            address.session_id,
            address.actor_id,
        ),
    )
    store.tell_status(tx, held)
    failpoint("claim.end")
    return Claim(held, turn, took_over)


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


def end_interrupted(tx: Transaction, actor: Actor) -> None:
    """Close the turn of an owner that is gone."""
    now = now_ms()
    changed = tx.run(
        "UPDATE turn SET phase = 'ended', outcome = 'interrupted', ended = ?"
        " WHERE id = ? AND phase != 'ended'",
        (now, actor.current_turn),
    )
    if changed:
        tx.emit(
            Event(
                "turn.ended",
                {
                    "sessionID": actor.session_id,
                    "actorID": actor.actor_id,
                    "turnID": actor.current_turn,
                    "outcome": "interrupted",
                },
                session_id=actor.session_id,
            )
        )


def rest(tx: Transaction, actor: Actor) -> None:
    """Set an actor without a turn idle, or pending if mail waits for it; mend its slice."""
    repair.repair(tx, actor.session_id, actor.actor_id)
    waiting = inbox.has_mail(tx, actor.address)
    status = "pending" if waiting else "idle"
    tx.run(
        "UPDATE actor SET status = ?, owner = NULL, cancel = NULL, retry = NULL,"
        " fence = fence + 1 WHERE session_id = ? AND actor_id = ?",
        (status, actor.session_id, actor.actor_id),
    )
    if actor.status != status:
        store.tell_status(tx, msgspec.structs.replace(actor, status=status, retry=None))


def recover(tx: Transaction, is_dead: IsDead, session_id: str | None = None) -> list[Address]:
    """Recover every actor (of a session) in one transaction, and name those that mail waits for."""
    found = store.restless(tx, session_id)
    return [address for address in found if recover_actor(tx, address, is_dead)]


def recover_actor(tx: Transaction, address: Address, is_dead: IsDead) -> bool:
    """Close the turn of `address` if its owner is gone; whether mail waits for it then.

    An actor that a live process runs is left alone.
    """
    actor = store.find(tx, address)
    if actor is None or actor.status == "idle" or is_held(actor, now_ms(), is_dead):
        return False
    if actor.owner is not None:
        end_interrupted(tx, actor)
    rest(tx, actor)
    failpoint("recover.actor")
    return inbox.has_mail(tx, address)


def renew(tx: Transaction, owner: str) -> list[Actor]:
    """Extend every lease of `owner`, and give its actors as they are now."""
    tx.run("UPDATE actor SET lease_until = ? WHERE owner = ?", (now_ms() + LEASE_MS, owner))
    return store.owned_by(tx, owner)
