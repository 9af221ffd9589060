"""Asks running turns to stop. The mark is a column, so it reaches other processes too."""

import msgspec

from roost.actors import claim as claims
from roost.actors import family, store
from roost.actors.claim import rest_unless_due
from roost.actors.models import Actor, CancelMode
from roost.core.failpoints import failpoint
from roost.db.transaction import Transaction
from roost.events.types import Event
from roost.inbox import changes, waiting
from roost.inbox import store as inbox
from roost.inbox.models import Address
from roost.sessions import store as sessions


def request_cancel(tx: Transaction, address: Address, mode: CancelMode) -> Actor | None:
    """Mark the running turn of `address`; None when there is none.

    Forced outranks graceful; asking twice changes nothing. Queued mail stays.
    """
    actor = store.get(tx, address)
    return _mark(tx, actor, mode) if actor.status == "running" else None


def cancel_tree(tx: Transaction, address: Address, mode: CancelMode) -> list[Actor]:
    """Mark `address` and all that runs or is to run below it, peers included. Those marked.

    One that is to run takes up its mail and ends cancelled without a call of its model. Since
    spawning checks the mark of the spawning actor, nobody can appear below a marked one.
    """
    top = store.get(tx, address)
    marked = [_mark(tx, top, mode)] if top.status != "idle" else []
    return marked + cancel_below(tx, address, mode)


def cancel_below(tx: Transaction, address: Address, mode: CancelMode) -> list[Actor]:
    """Mark all that runs or is to run below `address`, itself not. Those marked."""
    return [_mark(tx, actor, mode) for actor in family.descendants(tx, address, at_work=True)]


def cancel_foreground(tx: Transaction, address: Address, mode: CancelMode) -> list[Actor]:
    """Mark the children of `address` that it waits for, and all that is at work below them."""
    waited_for = [one for one in family.children(tx, address) if not one.background]
    return [marked for one in waited_for for marked in cancel_tree(tx, one.address, mode)]


def cancel_session(tx: Transaction, session_id: str, mode: CancelMode) -> list[Actor]:
    """Mark all that is at work in a session and in the sessions below it. Those marked."""
    marked = [_mark(tx, one, mode) for one in store.not_idle(tx, session_id)]
    for child in sessions.children(tx, session_id):
        marked += cancel_session(tx, child.id, mode)
    return marked


def stop(
    tx: Transaction,
    address: Address,
    mode: CancelMode,
    *,
    turn_id: str | None = None,
    tree: bool = False,
    due: bool = False,
) -> list[Actor]:
    """A person wants an actor to stop: those marked, itself first if it is among them.

    Its running turn stops, and with it the children that the turn waits for; with `tree` all that
    is at work below it, otherwise what works in the background goes on. The actor is held, and what
    waits in its inbox stays there. With `due`, one that was to run takes up its mail and ends
    cancelled; so does in any case one that has not heard its brief, since its parent waits for
    news of it. With `turn_id` nothing happens unless that turn runs.
    """
    actor = store.get(tx, address)
    runs = actor.status == "running"
    if turn_id is not None and not (runs and actor.current_turn == turn_id):
        return []
    ends_unheard = actor.status == "pending" and (due or waiting.has_brief(tx, address))
    if not ends_unheard:
        hold(tx, address)
    own = [_mark(tx, actor, mode)] if runs or ends_unheard else []
    if tree:
        below = family.descendants(tx, address, at_work=True)
        return own + [_mark(tx, one, mode) for one in below]
    return own + (cancel_foreground(tx, address, mode) if runs else [])


def stop_below(tx: Transaction, address: Address) -> bool:
    """A person wants nothing more to come of a turn of `address` that has ended; whether anything
    would have.

    All that is at work below it stops. So does a turn that the news of them has begun meanwhile;
    one that is to begin for it does not. Where another person's prompt waits, or was heard by the
    turn that runs, nothing happens: what goes on is theirs.
    """
    actor = store.get(tx, address)
    if inbox.has_prompt(tx, address):
        return False
    if actor.status == "running":
        turn_id = actor.current_turn
        heard = turn_id is not None and inbox.heard_prompt(tx, address, turn_id)
        return False if heard else bool(stop(tx, address, "forced", tree=True))
    hold(tx, address)
    claims.rest_unless_due(tx, address)
    return bool(cancel_below(tx, address, "forced")) or actor.status == "pending"


def _mark(tx: Transaction, actor: Actor, mode: CancelMode) -> Actor:
    wanted: CancelMode = "forced" if "forced" in {mode, actor.cancel} else mode
    if actor.cancel == wanted:
        return actor
    failpoint("cancel.before")
    tx.run(
        "UPDATE actor SET cancel = ? WHERE session_id = ? AND actor_id = ?",
        (wanted, actor.session_id, actor.actor_id),
    )
    tx.emit(
        Event(
            "actor.cancelling",
            {"sessionID": actor.session_id, "actorID": actor.actor_id, "mode": wanted},
            session_id=actor.session_id,
        )
    )
    if actor.status == "running":
        changes.hush(tx, actor.address)
    failpoint("cancel.written")
    return msgspec.structs.replace(actor, cancel=wanted)


def hold(tx: Transaction, address: Address) -> None:
    """Let only a person, or its parent, wake the actor: a person has stopped it.

    What the runtime and other actors have to say waits, and is heard with the next words that
    wake it. One that was to run for nothing else sleeps.
    """
    tx.run(
        "UPDATE actor SET held = 1 WHERE session_id = ? AND actor_id = ?",
        (address.session_id, address.actor_id),
    )
    changes.hush(tx, address)
    rest_unless_due(tx, address)
