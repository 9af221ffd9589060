"""The goal of a session as it is shown."""

from msgspec import Struct

from roost.db.transaction import Reader
from roost.goals import store
from roost.goals.models import Goal, Verdict


class GoalView(Struct, frozen=True):
    """The goal that a session was given last, and what was said of it, oldest first."""

    goal: Goal | None = None
    verdicts: list[Verdict] = []


def read_goal(db: Reader, session_id: str) -> GoalView:
    """The goal of a session with its history."""
    goal = store.find(db, session_id)
    return GoalView() if goal is None else GoalView(goal, store.verdicts(db, goal.id))
