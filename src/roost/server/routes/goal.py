"""The goal of a session: shown, set, cleared. A prompt may give one, too: its field `goal`."""

from typing import Annotated, Final

from msgspec import Meta, Struct

from roost.goals.models import CONDITION_LIMIT, Goal
from roost.goals.view import GoalView
from roost.runtime import goals
from roost.server.endpoint import Call, Endpoint, NoQuery, endpoint


class GoalBody(Struct, frozen=True):
    """What is to be true when the session ends its turn."""

    condition: Annotated[str, Meta(min_length=1, max_length=CONDITION_LIMIT)]


async def get_goal(call: Call[NoQuery, None]) -> GoalView:
    """The goal that a session was given last, and what its judge said of it, oldest first."""
    session = await call.session()
    return await goals.view_goal(call.service.runtime, session.id)


async def set_goal(call: Call[NoQuery, GoalBody]) -> Goal:
    """Give a session a goal in place of the one it has; its next good end of a turn is judged.

    Nothing is said to it: a session that sleeps goes on sleeping until it is prompted.
    """
    session = await call.session()
    return await goals.set_goal(call.service.runtime, session.id, call.body.condition)


async def clear_goal(call: Call[NoQuery, None]) -> bool:
    """Give up the goal of a session; false if there was none."""
    session = await call.session()
    return await goals.clear_goal(call.service.runtime, session.id) is not None


ROUTES: Final[tuple[Endpoint, ...]] = (
    endpoint("GET", "/session/{sessionID}/goal", get_goal),
    endpoint("PUT", "/session/{sessionID}/goal", set_goal),
    endpoint("DELETE", "/session/{sessionID}/goal", clear_goal),
)
