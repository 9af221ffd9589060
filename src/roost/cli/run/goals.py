"""`/goal clear` and `/goal show` on the command line of `roost run`: a model hears nothing."""

from typing import Any, Literal

import msgspec

from roost.cli import goal
from roost.cli.run.request import RunOptions
from roost.core.errors import UsageError


def of_its_goal(options: RunOptions, action: Literal["clear", "show"]) -> int:
    """Do this with the goal of the session that is meant. Raises `UsageError` if none is named."""
    if not options.resumes:
        raise UsageError(
            f"a new session has no goal to {action}", hint="Name the session: -c, or -s ID."
        )
    given: dict[str, Any] = msgspec.structs.asdict(options)
    wanted = {name: given[name] for name in ("session", "dir", *goal.LOG)}
    as_json = options.format == "json"
    return goal.execute({"action": action, "format": "json" if as_json else "text", **wanted})
