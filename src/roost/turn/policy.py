"""What a policy is: a pure rule over facts, with all that is to be said about it in one place.

`verdict.POLICIES` is the order; `docs/policies.md` is made from it.
"""

from collections.abc import Callable

from msgspec import Struct

from roost.turn.models import Action, Facts


class Allowance(Struct, frozen=True, kw_only=True):
    """A budget that a policy spends. What is used of it is stored, so it survives a restart and
    goes over to the turn that goes on with the work.
    """

    name: str
    limit: float
    """How much of it a turn has where the configuration says nothing."""
    refilled: bool = True
    """It begins anew when a person speaks."""
    kept: str = "the turn"
    """Whose row holds what is used of it, for people."""
    nudge: bool = True
    """`limits.nudges` of the configuration sets its limit."""


class Policy(Struct, frozen=True, kw_only=True):
    """One row of the decision table."""

    name: str
    looks_at: str
    """What makes it answer, for people."""
    answers: str
    """What it answers then, for people."""
    judge: Callable[[Facts], Action | None]
    """The rule; None: another policy is to decide."""
    allowances: tuple[Allowance, ...] = ()
    spent: str = ""
    """What it answers once its allowance is used up, for people."""
    words: tuple[str, ...] = ()
    """What it says to the model, with `{…}` where something is filled in."""
