"""`roost tasks`: the list that a session keeps of its work, as a tree."""

import sys
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

from roost.cli.actors.tree import span
from roost.cli.failures import tell
from roost.cli.sessions.naming import chosen
from roost.cli.storage import Home, database_of, run_at_home
from roost.cli.table import as_json, table
from roost.cli.terminal import Look, columns_of, look_of
from roost.core.amounts import counted
from roost.core.clock import now_ms
from roost.db.transaction import Reader
from roost.sessions.models import Session
from roost.tasks import store
from roost.tasks.models import TERMINAL, Status, Task

_HEAD: Final = ["TASK", "STATE", "OWNER", "CHANGED", "WHAT"]
_SPARE: Final = ("CHANGED", "OWNER")
_INDENT: Final = "  "
_MARKS: Final[dict[Status, tuple[str, str]]] = {
    "open": ("○", "o"),
    "in_progress": ("◐", ">"),
    "blocked": ("⊘", "!"),
    "done": ("●", "x"),
    "abandoned": ("✕", "-"),
}
"""For streams that can show them, and for others."""


class TasksOptions(Struct, frozen=True, kw_only=True):
    """The command line of `roost tasks`."""

    session: str | None = None
    dir: str | None = None
    all: bool = False
    format: Literal["text", "json"] = "text"


def execute(given: dict[str, Any]) -> int:
    """List tasks; gives the exit code. Raises `RoostError`."""
    given.pop("action", None)
    options = msgspec.convert(given, TasksOptions)
    return run_at_home(given, lambda home: _list(home, options))


async def _list(home: Home, options: TasksOptions) -> int:
    def read(db: Reader) -> tuple[Session, list[Task]]:
        session = chosen(db, options.session, options.dir)
        return session, store.listed(db, session.id)

    with database_of(home) as database:
        session, found = await database.read(read)
    shown = [one for one in found if options.all or one.status not in TERMINAL]
    if options.format == "json":
        print(as_json(msgspec.to_builtins(shown)))
        return 0
    if shown:
        print("\n".join(lines(shown, look_of(sys.stdout, home.environ), columns_of(sys.stdout))))
    ended = len(found) - len(shown)
    if not found:
        tell(f"{session.id} has no tasks.\n")
    elif ended:
        tell(
            f"{counted(ended, 'task')} that {'is' if ended == 1 else 'are'} over; --all shows"
            f" {'it' if ended == 1 else 'them'}\n"
        )
    return 0


def lines(tasks: list[Task], look: Look, width: int | None) -> list[str]:
    """Tasks in tree order as a table; parts stand below what they are part of."""
    starts = ["", *(_INDENT * one.id.count(".") for one in tasks)]
    return table([_HEAD, *(_row(one, look) for one in tasks)], width, starts, spare=_SPARE)


def _row(task: Task, look: Look) -> list[str]:
    state = f"{look.icon(*_MARKS[task.status])} {task.status.replace('_', ' ')}"
    what = f"{task.summary} ({task.reason})" if task.reason else task.summary
    return [task.id, state, task.owner or "", f"{span((now_ms() - task.updated) / 1000)} ago", what]
