"""The goal of a session as a run shows it, and what it means for the exit code. Pure."""

from typing import Final

from roost.cli.terminal import Look
from roost.core.amounts import counted
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
    if goal.state == "active" and not goal.reentries:
        return f"{look.paint('goal:', 'cyan')} {condition}"
    if goal.state == "cleared":
        return f"{look.paint('goal: cleared', 'dim')} - {condition}"
    return f"{look.paint('goal:', 'cyan')} {state_line(goal, look)}"


def state_line(goal: Goal, look: Look) -> str:
    """The state of a goal, and why."""
    times = f" ({goal.reentries} of {goal.most})" if goal.reentries and goal.most else ""
    match goal.state:
        case "active" if goal.reentries:
            said = look.paint("not met yet", "yellow") + times
        case "met":
            said = look.paint("met", "green")
        case "active" | "cleared":
            said = goal.state
        case "impossible" | "paused":
            said = look.paint(goal.state, "red")
    reason = terminal_safe(" ".join(goal.reason.split()))
    return f"{said} - {reason}" if reason else said


def code_of(goal: Goal | None) -> int:
    """The exit code after a turn that ended well: 3 where a limit kept the goal from being met."""
    if goal is None or goal.state in {"met", "cleared"}:
        return 0
    return 3 if goal.cause in _LIMITED else 1


def unmet_words(goal: Goal) -> str:
    """That the goal is not met, for people; the reason stands in its own line."""
    if goal.state == "impossible":
        return "the goal cannot be reached"
    match goal.cause:
        case "reentries":
            return f"the goal was not met after {counted(goal.most or 0, 'time')} of going on"
        case "judge":
            return "the goal is paused, since its judge gave no verdict"
        case "limit":
            return "the goal is paused, since a limit left no room for its judge"
        case None:
            return "the goal was not judged"


def way_on(goal: Goal) -> str:
    """What to do about a goal that is not met."""
    if goal.state == "impossible":
        return "`roost goal resume` tries it all the same; `roost goal clear` gives it up."
    return _WAYS_ON[goal.cause]
