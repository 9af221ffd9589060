"""The goal of a session as a run shows it, and what it means for the exit code. Pure."""

from typing import Final

from roost.cli.terminal import Look
from roost.core.text import cut, terminal_safe
from roost.goals.models import Cause, Goal, Verdict

LONGEST: Final = 160
"""Characters of a condition; what a judge says is shown whole."""
_LIMITED: Final = frozenset[Cause]({"reentries", "limit"})
_WAYS_ON: Final[dict[Cause | None, str]] = {
    "judge": "`roost goal resume` asks again; `roost goal show` tells what was said.",
    "reentries": "`roost goal resume` goes on; `goal.reentries` of your configuration allows more.",
    "limit": "Raise the limit, and go on with `roost goal resume`.",
    None: "`roost goal show` tells what was said of it.",
}


def is_told(goal: Goal, verdict: Verdict | None) -> bool:
    """Whether people are told of this change: of all but a goal that is merely taken up again."""
    if verdict is not None:
        return verdict.result != "dropped"
    return goal.state != "active" or goal.created == goal.updated


def goal_line(goal: Goal, look: Look) -> str:
    """How the goal stands, as one line: `goal: not met yet (1 of 12) - no test was run`."""
    condition = terminal_safe(cut(" ".join(goal.condition.split()), LONGEST))
    reason = terminal_safe(" ".join(goal.reason.split()))
    match goal.state:
        case "active" if goal.reentries:
            times = f" ({goal.reentries} of {goal.most})" if goal.most else ""
            return f"{look.paint('goal: not met yet', 'yellow')}{times} - {reason}"
        case "active":
            return f"{look.paint('goal:', 'cyan')} {condition}"
        case "met":
            return f"{look.paint('goal: met', 'green')} - {reason}"
        case "impossible" | "paused":
            return f"{look.paint(f'goal: {goal.state}', 'red')} - {reason}"
        case "cleared":
            return f"{look.paint('goal: cleared', 'dim')} - {condition}"


def code_of(goal: Goal | None) -> int:
    """The exit code after a turn that ended well: 3 where a limit kept the goal from being met."""
    if goal is None or goal.state in {"met", "cleared"}:
        return 0
    return 3 if goal.cause in _LIMITED else 1


def unmet_words(goal: Goal) -> str:
    """Why the goal is not met, for people."""
    match goal.state:
        case "impossible":
            return f"the goal cannot be reached: {goal.reason}"
        case "paused":
            return f"the goal is paused: {goal.reason}"
        case _:
            return "the goal was not judged"


def way_on(goal: Goal) -> str:
    """What to do about a goal that is not met."""
    if goal.state == "impossible":
        return "`roost goal resume` tries it all the same; `roost goal clear` gives it up."
    return _WAYS_ON[goal.cause]
