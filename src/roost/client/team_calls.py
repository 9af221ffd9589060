"""The part of the typed client that is about teams."""

from typing import Any

from msgspec import Struct

from roost.actors.teams import Reached, Team
from roost.client.connection import Connection
from roost.core.wire_names import wire_name


class _Receipts(Struct, frozen=True, rename=wire_name):
    receipts: list[Reached]


class TeamCalls:
    """What a client can ask of the teams of the folder's project; see `Client`."""

    _connection: Connection

    async def teams(self) -> list[Team]:
        """The teams by name, with their members."""
        return await self._connection.ask("GET", "/team", list[Team])

    async def team(self, team_id: str) -> Team:
        """One team with its members."""
        return await self._connection.ask("GET", f"/team/{team_id}", Team)

    async def create_team(self, name: str, purpose: str = "") -> Team:
        """Make a team without members; `ConflictError` if the name is taken."""
        body = {"name": name, "purpose": purpose}
        return await self._connection.ask("POST", "/team", Team, body=body)

    async def delete_team(self, team_id: str) -> None:
        """Remove a team; its members and what was said in it stay."""
        await self._connection.tell("DELETE", f"/team/{team_id}")

    async def add_member(self, team_id: str, session_id: str, role: str = "") -> Team:
        """Put a session into a team, or give it another role there."""
        body = {"sessionID": session_id, "role": role}
        return await self._connection.ask("POST", f"/team/{team_id}/member", Team, body=body)

    async def remove_member(self, team_id: str, session_id: str, actor_id: str) -> Team:
        """Let a member go."""
        path = f"/team/{team_id}/member/{session_id}/{actor_id}"
        return await self._connection.ask("DELETE", path, Team)

    async def tell_team(self, team_id: str, text: str, role: str | None = None) -> list[Reached]:
        """Prompt every member, or those of a role; one receipt for each.

        Raises `RateError` when the server takes no more prompts now; nothing is stored then.
        """
        body: dict[str, Any] = {"text": text, "role": role}
        path = f"/team/{team_id}/message"
        return (await self._connection.ask("POST", path, _Receipts, body=body)).receipts
