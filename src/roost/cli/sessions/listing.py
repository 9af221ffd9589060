"""`roost sessions list`."""

import shutil
import sys
from typing import Any, Literal

import msgspec
from msgspec import Struct

from roost.cli.failures import tell
from roost.cli.folders import working_folder
from roost.cli.states import State, Watch
from roost.cli.storage import Home, database_of, run_at_home
from roost.cli.table import age, table
from roost.cli.terminal import is_terminal
from roost.core.clock import now_ms
from roost.db.transaction import Reader
from roost.sessions import store as sessions
from roost.sessions.models import Session
from roost.workspace.project import project_of


class ListOptions(Struct, frozen=True, kw_only=True):
    """The command line of `roost sessions list`."""

    format: Literal["table", "json"] = "table"
    max_count: int = 50
    all: bool = False
    dir: str | None = None


class _Row(Struct, frozen=True):
    session: Session
    state: State


def execute(given: dict[str, Any]) -> int:
    """List sessions, the last used first."""
    options = msgspec.convert(given, ListOptions)
    return run_at_home(given, lambda home: _list(home, options))


async def _list(home: Home, options: ListOptions) -> int:
    ids = () if options.all else (await project_of(working_folder(options.dir))).ids
    watch = home.watch()
    with database_of(home) as database:
        rows = await database.read(lambda db: _rows(db, ids or (None,), options.max_count, watch))
    shown = rows[: options.max_count]
    if options.format == "json":
        document = msgspec.json.encode([_as_json(row.session) for row in shown])
        print(msgspec.json.format(document, indent=2).decode())
    elif shown:
        print("\n".join(_as_table(shown, everywhere=options.all)))
    else:
        where = "" if options.all else " of this project yet; --all lists those of every project"
        tell(f"There are no sessions{where}.\n")
    for row in shown:
        if row.session.damage:
            tell(f"note: {row.session.id} is damaged: {row.session.damage}\n")
    if len(rows) > len(shown):
        tell(f"… older sessions; -n shows more of them (now -n {options.max_count})\n")
    return 0


def _rows(db: Reader, projects: tuple[str | None, ...], count: int, watch: Watch) -> list[_Row]:
    """The sessions of any of `projects`, one more than `count` if there are; None: of all."""
    states = watch.states(db)
    found = [
        session
        for project in projects
        for session in sessions.listed(db, project_id=project, roots=True, limit=count + 1)
    ]
    found.sort(key=lambda session: session.time.updated, reverse=True)
    return [_Row(session, states.get(session.id, "")) for session in found[: count + 1]]


def _as_json(session: Session) -> dict[str, Any]:
    """In the shape of OpenCode's `session list --format json`."""
    return {
        "id": session.id,
        "title": session.title,
        "updated": session.time.updated,
        "created": session.time.created,
        "projectId": session.project_id,
        "directory": session.directory,
    }


def _as_table(rows: list[_Row], *, everywhere: bool) -> list[str]:
    now = now_ms()
    head = ["SESSION", "USED", "STATE", *(["FOLDER"] if everywhere else []), "TITLE"]
    lines = [
        [
            row.session.id,
            age(row.session.time.updated, now),
            row.state,
            *([row.session.directory] if everywhere else []),
            row.session.title,
        ]
        for row in rows
    ]
    width = shutil.get_terminal_size().columns if is_terminal(sys.stdout) else None
    return table([head, *lines], width)
