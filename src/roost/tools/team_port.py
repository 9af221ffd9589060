"""What the tool `team` needs of the runtime."""

from typing import Protocol

from msgspec import Struct

from roost.actors.teams import Reached as Reached
from roost.actors.teams import Team as Team


class Told(Struct, frozen=True):
    """A message to a team."""

    team: Team
    reached: tuple[Reached, ...]
    """One for each member that was meant."""


class TeamPort(Protocol):
    """The teams of a project, as seen by the actor whose call it is.

    Methods raise `UsageError`, `NotFoundError` or `ConflictError` with words for the model.
    """

    async def create(self, name: str, purpose: str, role: str) -> Team:
        """Make a team and be its first member."""
        ...

    async def join(self, name: str, role: str) -> Team:
        """Be a member, or get another role."""
        ...

    async def leave(self, name: str) -> Team:
        """Be no member any more."""
        ...

    async def listed(self) -> list[Team]:
        """The teams of the project by name."""
        ...

    async def team(self, name: str) -> Team:
        """One team with its members."""
        ...

    async def send(self, name: str, text: str, role: str | None) -> Told:
        """Say something to all other members, or to those of a role; who sleeps is woken."""
        ...
