"""The SQL of actors: register, read, and what a running turn writes of its own."""

from typing import Any

import msgspec
from msgspec import Struct

from roost.actors.models import Actor, Claim, RetryState, Status
from roost.actors.rows import actor_from_row
from roost.actors.status import tell_status
from roost.core.clock import now_ms
from roost.core.errors import NotFoundError, StaleFenceError
from roost.core.failpoints import failpoint
from roost.core.text import echo
from roost.db.transaction import Reader, Transaction
from roost.events.types import Event
from roost.inbox.models import Address
from roost.sessions.models import MAIN, MessageError, ModelName


def register(tx: Transaction, actor: Actor) -> None:
    """Store a new actor; from now on it can receive mail."""
    parent, root = actor.parent, actor.root
    values: dict[str, Any] = {
        "session_id": actor.session_id,
        "actor_id": actor.actor_id,
        "mode": actor.mode,
        "fronts": int(actor.fronts),
        "parent_session_id": parent.session_id if parent else None,
        "parent_actor_id": parent.actor_id if parent else None,
        "root_session_id": root.session_id if root else None,
        "root_actor_id": root.actor_id if root else None,
        "agent": actor.agent,
        "description": actor.description,
        "model": actor.model,
        "variant": actor.variant,
        "lifecycle": actor.lifecycle,
        "background": int(actor.background),
        "depth": actor.depth,
        "context_mode": actor.context_mode,
        "context_watermark": actor.context_watermark,
        "tools": _as_json(actor.tools),
        "task_id": actor.task_id,
        "output_schema": _as_json(actor.output_schema),
        "status": actor.status,
        "last_activity": actor.last_activity,
        "created": actor.created,
    }
    places = ", ".join("?" for _ in values)
    tx.run(
        f"INSERT INTO actor ({', '.join(values)}) VALUES ({places})",  # names of ours alone
        tuple(values.values()),
    )
    tx.emit(
        Event(
            "actor.registered",
            {"sessionID": actor.session_id, "actor": actor},
            session_id=actor.session_id,
        )
    )


def _as_json(value: Any) -> str | None:
    return None if value is None else msgspec.json.encode(value).decode()


def new_main(session_id: str, agent: str) -> Actor:
    """The first actor of a session."""
    now = now_ms()
    return Actor(
        session_id=session_id,
        actor_id=MAIN,
        mode="main",
        fronts=True,
        agent=agent,
        lifecycle="persistent",
        status="idle",
        created=now,
        last_activity=now,
    )


def find(db: Reader, address: Address) -> Actor | None:
    """The actor at that address, or None."""
    row = db.one(
        "SELECT * FROM actor WHERE session_id = ? AND actor_id = ?",
        (address.session_id, address.actor_id),
    )
    return actor_from_row(row) if row else None


def get(db: Reader, address: Address) -> Actor:
    """The actor at that address. Raises `NotFoundError`."""
    if (actor := find(db, address)) is None:
        where = echo(address.session_id)
        raise NotFoundError(f"there is no actor {echo(address.actor_id)} in session {where}")
    return actor


def front(db: Reader, session_id: str) -> Actor:
    """The actor whose state is the session's, and whom a person means who names no other.

    Raises `NotFoundError`.
    """
    row = db.one("SELECT * FROM actor WHERE session_id = ? AND fronts = 1", (session_id,))
    if row is None:
        raise NotFoundError(f"no actor fronts the session {echo(session_id)}")
    return actor_from_row(row)


def named(db: Reader, session_id: str, actor_id: str | None) -> Actor:
    """The actor of that id, or the one that fronts the session. Raises `NotFoundError`."""
    if actor_id is None:
        return front(db, session_id)
    return get(db, Address(session_id, actor_id))


def of_session(db: Reader, session_id: str) -> list[Actor]:
    """Every actor of a session, in the order they were registered."""
    rows = db.all(
        "SELECT * FROM actor WHERE session_id = ? ORDER BY created, actor_id", (session_id,)
    )
    return [actor_from_row(row) for row in rows]


def not_idle(db: Reader, session_id: str | None = None) -> list[Actor]:
    """The actors that run or are to be woken."""
    rows = db.all(
        "SELECT * FROM actor WHERE status != 'idle' AND (? IS NULL OR session_id = ?)",
        (session_id, session_id),
    )
    return [actor_from_row(row) for row in rows]


class Readiness(Struct, frozen=True):
    """What decides whether mail wakes an actor."""

    status: Status
    stopped: bool
    """It is held, or is being stopped: what others say waits until it is spoken to again."""
    parent: Address | None


def readiness(db: Reader, address: Address) -> Readiness | None:
    """How ready the actor at that address is to be woken; None if there is none."""
    row = db.one(
        "SELECT status, (held = 1 OR cancel IS NOT NULL) AS stopped, parent_session_id,"
        " parent_actor_id FROM actor WHERE session_id = ? AND actor_id = ?",
        (address.session_id, address.actor_id),
    )
    if row is None:
        return None
    parent = row["parent_actor_id"] and Address(row["parent_session_id"], row["parent_actor_id"])
    return Readiness(row["status"], bool(row["stopped"]), parent or None)


def set_pending(tx: Transaction, address: Address) -> None:
    """Note that an idle actor is to be woken."""
    tx.run(
        "UPDATE actor SET status = 'pending' WHERE session_id = ? AND actor_id = ?",
        (address.session_id, address.actor_id),
    )


def restless(db: Reader, session_id: str | None = None) -> list[Address]:
    """Where the actors are that run or are to be woken. Nothing else is read: a row that is
    faulty must not hide the others.
    """
    rows = db.all(
        "SELECT session_id, actor_id FROM actor"
        " WHERE status != 'idle' AND (? IS NULL OR session_id = ?)",
        (session_id, session_id),
    )
    return [Address(row["session_id"], row["actor_id"]) for row in rows]


def owners(db: Reader) -> set[str]:
    """Every process that an actor names as its owner."""
    return {row["owner"] for row in db.all("SELECT DISTINCT owner FROM actor") if row["owner"]}


def owned_by(db: Reader, owner: str) -> list[Actor]:
    """The actors that a process runs."""
    return [actor_from_row(row) for row in db.all("SELECT * FROM actor WHERE owner = ?", (owner,))]


def set_background(tx: Transaction, address: Address) -> None:
    """Nobody waits for the actor any more: its parent is told how its turns end."""
    tx.run(
        "UPDATE actor SET background = 1 WHERE session_id = ? AND actor_id = ?",
        (address.session_id, address.actor_id),
    )
    failpoint("detach.written")


def check_fence(tx: Reader, claim: Claim) -> Actor:
    """The actor as it is now, if `claim` still holds it.

    Every write of a turn starts with this or with `check_held`. Raises `StaleFenceError` when
    another process took the actor over; then nothing may be written.
    """
    actor = find(tx, claim.address)
    if actor is None or actor.fence != claim.turn.fence or actor.owner != claim.actor.owner:
        raise _lost(claim)
    return actor


def check_held(tx: Reader, claim: Claim) -> int:
    """The same for who asks no more of the actor than when it last gave a sign of life."""
    row = tx.one(
        "SELECT last_activity FROM actor"
        " WHERE session_id = ? AND actor_id = ? AND fence = ? AND owner = ?",
        (
            claim.address.session_id,
            claim.address.actor_id,
            claim.turn.fence,
            claim.actor.owner,
        ),
    )
    if row is None:
        raise _lost(claim)
    return int(row["last_activity"])


def _lost(claim: Claim) -> StaleFenceError:
    return StaleFenceError(
        f"turn {claim.turn.id} no longer owns {claim.address.actor_id}",
        hint="Another process took the actor over after this one was silent for too long.",
    )


def set_at_rest(tx: Transaction, actor: Actor) -> None:
    """Let no process own an actor any more; its status, cancel, fence and last activity become what
    they are in `actor`.
    """
    tx.run(
        "UPDATE actor SET status = ?, cancel = ?, fence = ?, last_activity = ?, owner = NULL,"
        " retry = NULL, stalled = NULL, waiting_until = NULL"
        " WHERE session_id = ? AND actor_id = ?",
        (
            *(actor.status, actor.cancel, actor.fence, actor.last_activity),
            *(actor.session_id, actor.actor_id),
        ),
    )


def note_activity(tx: Transaction, claim: Claim) -> None:
    """A sign of life: whoever was told that the actor is silent learns of its next silence anew."""
    tx.run(
        "UPDATE actor SET last_activity = ?, stalled = NULL WHERE session_id = ? AND actor_id = ?",
        (now_ms(), claim.address.session_id, claim.address.actor_id),
    )


def set_waiting(tx: Transaction, claim: Claim, until: int | None) -> None:
    """Show until when the actor waits for mail; None: it does not."""
    actor = check_fence(tx, claim)
    tx.run(
        "UPDATE actor SET waiting_until = ?, last_activity = ?"
        " WHERE session_id = ? AND actor_id = ?",
        (until, now_ms(), claim.address.session_id, claim.address.actor_id),
    )
    tell_status(tx, msgspec.structs.replace(actor, waiting_until=until))


def set_resumed(tx: Transaction, actor: Actor, times: int) -> None:
    """Remember how often in a row the actor went on after its process had died."""
    tx.run(
        "UPDATE actor SET resumed = ? WHERE session_id = ? AND actor_id = ?",
        (times, actor.session_id, actor.actor_id),
    )


def clear_cancel(tx: Transaction, actor: Actor) -> None:
    """Forget that the actor was to stop: the turn that was to has ended."""
    tx.run(
        "UPDATE actor SET cancel = NULL WHERE session_id = ? AND actor_id = ?",
        (actor.session_id, actor.actor_id),
    )


def set_stalled(tx: Transaction, actor: Actor, since: int) -> None:
    """Remember that the parent knows of the silence."""
    tx.run(
        "UPDATE actor SET stalled = ? WHERE session_id = ? AND actor_id = ?",
        (since, actor.session_id, actor.actor_id),
    )


def note_choice(tx: Transaction, address: Address, agent: str, model: ModelName) -> None:
    """Remember what a person chose last: the next prompt goes on with it unless it says else."""
    tx.run(
        "UPDATE actor SET agent = ?, model = ?, variant = ? WHERE session_id = ? AND actor_id = ?",
        (agent, model.ref, model.variant, address.session_id, address.actor_id),
    )


def set_agent(tx: Transaction, address: Address, agent: str) -> Actor:
    """Let an actor run as another agent from its next turn on, and tell clients."""
    tx.run(
        "UPDATE actor SET agent = ? WHERE session_id = ? AND actor_id = ?",
        (agent, address.session_id, address.actor_id),
    )
    actor = get(tx, address)
    about = {"sessionID": actor.session_id, "actor": actor}
    tx.emit(Event("actor.updated", about, session_id=actor.session_id))
    return actor


def remove(tx: Transaction, address: Address) -> None:
    """Take out an actor that was made for one question, with its turns and its mail."""
    tx.run(
        "DELETE FROM actor WHERE session_id = ? AND actor_id = ?",
        (address.session_id, address.actor_id),
    )
    about = {"sessionID": address.session_id, "actorID": address.actor_id}
    tx.emit(Event("actor.removed", about, session_id=address.session_id))


def tell_error(tx: Transaction, address: Address, error: MessageError) -> None:
    """Emit `session.error` for an actor."""
    tx.emit(
        Event(
            "session.error",
            {"sessionID": address.session_id, "error": error, "ownerActorId": address.actor_id},
            session_id=address.session_id,
        )
    )


def set_retry(tx: Transaction, claim: Claim, retry: RetryState | None) -> None:
    """Show (or stop showing) that the actor waits to try its model again."""
    actor = check_fence(tx, claim)
    if actor.retry == retry:
        return
    tx.run(
        "UPDATE actor SET retry = ? WHERE session_id = ? AND actor_id = ?",
        (
            msgspec.json.encode(retry).decode() if retry else None,
            actor.session_id,
            actor.actor_id,
        ),
    )
    tell_status(tx, msgspec.structs.replace(actor, retry=retry))
