"""`roost goal`: shows the goal of a session, gives it one, gives it up, goes on with it.

Only going on runs anything here; what a process that works in the session does next follows from
what is stored.
"""

import os
import sys
import time
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

from roost.cli.run.goal_lines import state_line
from roost.cli.sessions.naming import chosen
from roost.cli.storage import Home, database_of, run_at_home
from roost.cli.table import as_json
from roost.cli.terminal import Look, look_of
from roost.core.amounts import dollars
from roost.core.errors import UsageError
from roost.core.text import terminal_safe
from roost.db.database import Database
from roost.goals import store as goals
from roost.goals.models import Goal, Verdict
from roost.goals.view import GoalView, read_goal
from roost.sessions.models import Session

_NO_GOAL: Final = "This session has no goal."
LOG: Final = ("print_logs", "log_level", "log_format")
_COLOURS: Final[dict[str, Literal["green", "yellow", "red", "dim"]]] = {
    "met": "green",
    "gap": "yellow",
    "impossible": "red",
    "error": "red",
    "dropped": "dim",
}


class GoalOptions(Struct, frozen=True, kw_only=True):
    """The command line of `roost goal`."""

    action: Literal["show", "set", "clear", "resume"] | None = None
    condition: list[str] = []
    session: str | None = None
    dir: str | None = None
    format: Literal["text", "json"] = "text"
    yes: bool = False


def execute(given: dict[str, Any]) -> int:
    """Do what was asked for; without an action, show. Raises `RoostError`."""
    options = msgspec.convert(given, GoalOptions)
    if options.action == "resume":
        return _resume(given, options)
    return run_at_home(given, lambda home: _act(home, options))


async def _act(home: Home, options: GoalOptions) -> int:
    with database_of(home) as database:
        session = await database.read(lambda db: chosen(db, options.session, options.dir))
        match options.action:
            case "set":
                return await _set(database, session, options)
            case "clear":
                return await _clear(database, session, options)
            case _:
                return await _show(database, session, options)


async def _set(database: Database, session: Session, options: GoalOptions) -> int:
    condition = " ".join(options.condition)
    goal = await database.write(lambda tx: goals.set_goal(tx, session.id, condition))
    if options.format == "json":
        print(as_json(goal))
    else:
        print(f"a judge looks at it when a turn in {session.id} is about to end well")
        print("have it worked on with: roost goal resume")
    return 0


async def _clear(database: Database, session: Session, options: GoalOptions) -> int:
    goal = await database.write(lambda tx: goals.clear(tx, session.id))
    if options.format == "json":
        print(as_json({"cleared": goal is not None, "goal": goal}))
    else:
        print(f"cleared: {terminal_safe(goal.condition)}" if goal else _NO_GOAL)
    return 0


async def _show(database: Database, session: Session, options: GoalOptions) -> int:
    view = await database.read(lambda db: read_goal(db, session.id))
    if options.format == "json":
        print(as_json(view))
    elif view.goal is None:
        print(_NO_GOAL)
    else:
        print("\n".join(_lines(view.goal, view)))
    return 0


def _lines(goal: Goal, view: GoalView) -> list[str]:
    look = look_of(sys.stdout, os.environ)
    lines = [terminal_safe(goal.condition), state_line(goal, look)]
    return [*lines, *([""] if view.verdicts else []), *(_verdict(v, look) for v in view.verdicts)]


def _verdict(verdict: Verdict, look: Look) -> str:
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(verdict.created / 1000))
    took = f"{verdict.seconds:.1f} s, {verdict.tokens.total:,} tokens"
    cost = f", ${dollars(verdict.cost)}" if verdict.cost else ""
    said = look.paint(verdict.result, _COLOURS[verdict.result])
    about = look.paint(f"{verdict.model}, {took}{cost}", "dim") if verdict.model else ""
    return f"{when}  {said}: {terminal_safe(verdict.reason)}  {about}".rstrip()


def _resume(given: dict[str, Any], options: GoalOptions) -> int:
    """Run the session with the prompt that goes on with its goal."""
    if options.condition:
        raise UsageError("resume takes no condition", hint="`roost goal set` gives another goal.")
    from roost.cli.run.prompt import PipedInput
    from roost.cli.run.work import work

    wanted = {name: given[name] for name in ("dir", "yes", "format", *LOG) if name in given}
    which = {"session": options.session} if options.session else {"continue_": True}
    nothing = os.open(os.devnull, os.O_RDONLY)
    try:
        piped = PipedInput(beside_words=True, descriptor=nothing)
        return work({"message": ["/goal resume"], **which, **wanted}, piped)
    finally:
        os.close(nothing)
