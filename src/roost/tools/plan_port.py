"""What a tool asks of the session about its plan."""

from typing import Final, Protocol

from roost.core.errors import UsageError
from roost.tools.actor_port import Stored


class PlanPort(Protocol):
    """The plan of one call's session, and the way from it to the work."""

    @property
    def file(self) -> str:
        """Where the plan is, relative to the root of the project."""
        ...

    @property
    def successor(self) -> str:
        """The agent that carries the plan out."""
        ...

    def refusal(self) -> str:
        """Why the caller cannot propose to begin the work; empty if it can."""
        ...

    async def agreed(self) -> Stored:
        """What is true once the person's consent is stored: the work is next.

        Raises `RoostError` where the successor or its model cannot be used.
        """
        ...


_NO_PLAN: Final = "There is no plan here."


class NoPlan:
    """The port of a caller that has no session to plan in."""

    file = ""
    successor = ""

    def refusal(self) -> str:
        """Always refuses."""
        return _NO_PLAN

    async def agreed(self) -> Stored:
        """Raises `UsageError`, as there is nothing to agree to."""
        raise UsageError(_NO_PLAN)
