"""`/goal clear` on the command line of `roost run`: nothing is said to a model."""

from typing import Any

import msgspec

from roost.cli import goal
from roost.cli.run.request import RunOptions
from roost.core.errors import UsageError


def clear_goal(options: RunOptions) -> int:
    """Clear the goal of the session that is meant. Raises `UsageError` where none is named."""
    if not options.resumes:
        raise UsageError(
            "a new session has no goal to clear", hint="Name the session: -c, or -s ID."
        )
    given: dict[str, Any] = msgspec.structs.asdict(options)
    wanted = {name: given[name] for name in ("session", "dir", *goal.LOG)}
    as_json = options.format == "json"
    return goal.execute({"action": "clear", "format": "json" if as_json else "text", **wanted})
