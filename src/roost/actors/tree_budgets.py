"""What an actor and all its descendants use together, since a person last spoke to the first one.

A row is kept only where a limit is set. It is charged in the transaction that stores a step.
"""

from typing import Final

import msgspec

from roost.actors.models import Actor, Budgets, Claim
from roost.core.clock import now_ms
from roost.db.transaction import Reader, Transaction
from roost.inbox.models import Address
from roost.sessions.unreadable import FAULTS

TOKENS: Final = "tree_tokens"
COST: Final = "tree_cost"
SECONDS: Final = "tree_seconds"
"""Names of the budgets, whose limits stand in each turn's row."""
NAMES: Final = frozenset({TOKENS, COST, SECONDS})


def root_of(actor: Actor) -> Address:
    """The first actor of the tree."""
    return actor.root or actor.address


def is_limited(budgets: Budgets) -> bool:
    """Whether the tree has a limit."""
    return not NAMES.isdisjoint(budgets.limits)


def begin(tx: Transaction, claim: Claim, budgets: Budgets) -> None:
    """Count from nothing: a person has spoken to an actor of the tree."""
    if not is_limited(budgets):
        return
    root = root_of(claim.actor)
    limits = {name: limit for name, limit in budgets.limits.items() if name in NAMES}
    tx.run(
        "INSERT INTO tree (session_id, actor_id, limits, tokens, cost, started)"
        " VALUES (?, ?, ?, 0, 0, ?) ON CONFLICT (session_id, actor_id) DO UPDATE"
        " SET limits = excluded.limits, tokens = 0, cost = 0, started = excluded.started",
        (root.session_id, root.actor_id, msgspec.json.encode(limits).decode(), now_ms()),
    )


def charge(tx: Transaction, claim: Claim, tokens: int, cost: float) -> None:
    """Add what a step used."""
    if not is_limited(claim.turn.budgets):
        return
    root = root_of(claim.actor)
    tx.run(
        "UPDATE tree SET tokens = tokens + ?, cost = cost + ?"
        " WHERE session_id = ? AND actor_id = ?",
        (tokens, cost, root.session_id, root.actor_id),
    )


def read(db: Reader, claim: Claim, budgets: Budgets) -> Budgets:
    """`budgets` with what the whole tree has used of them by now.

    The limits are those that held when the person spoke: what a child's own folder says cannot
    lift them. Where they cannot be read any more, those of the turn hold.
    """
    root = root_of(claim.actor)
    row = db.one(
        "SELECT * FROM tree WHERE session_id = ? AND actor_id = ?",
        (root.session_id, root.actor_id),
    )
    if row is None:
        return budgets
    limits = _limits(row["limits"])
    seconds = (now_ms() - row["started"]) / 1000
    used = {TOKENS: row["tokens"], COST: row["cost"], SECONDS: seconds}
    return Budgets({**budgets.limits, **limits}, {**budgets.used, **used})


def _limits(data: str) -> dict[str, float]:
    try:
        return msgspec.json.decode(data, type=dict[str, float])
    except FAULTS:
        return {}
