"""The part of the typed client that is about goals."""

from roost.client.connection import Connection
from roost.goals.models import Goal
from roost.goals.view import GoalView


class GoalCalls:
    """What a client can ask of the goal of a session; see `Client`.

    To go on with one that is paused, prompt, or run the command `goal` with `resume`.
    """

    _connection: Connection

    async def goal(self, session_id: str) -> GoalView:
        """The goal that the session was given last, with what its judge said of it."""
        return await self._connection.ask("GET", f"/session/{session_id}/goal", GoalView)

    async def set_goal(self, session_id: str, condition: str) -> Goal:
        """Give the session a goal; `goal` of a prompt does so together with its first words."""
        body = {"condition": condition}
        return await self._connection.ask("PUT", f"/session/{session_id}/goal", Goal, body=body)

    async def clear_goal(self, session_id: str) -> bool:
        """Give up the goal; False if there was none."""
        return await self._connection.ask("DELETE", f"/session/{session_id}/goal", bool)
