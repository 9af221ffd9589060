"""The one file that an actor may write while it plans."""

from datetime import UTC, datetime
from typing import Final

from roost.sessions.models import Session

PLANS: Final = ".roost/plans"
"""The folder of plans, below the root of the project."""


def plan_file(session: Session) -> str:
    """The plan of `session`, relative to the root of the project.

    It never changes: it is made of the day on which the session began and of its slug.
    """
    day = datetime.fromtimestamp(session.time.created / 1000, UTC).date()
    return f"{PLANS}/{day.isoformat()}-{session.slug}.md"
