"""`roost sessions list`."""

import sys
from collections.abc import Iterable
from typing import Any, Literal

import msgspec
from msgspec import Struct

from roost.cli.failures import tell
from roost.cli.folders import working_folder
from roost.cli.short_ids import shown_ids
from roost.cli.since import moment
from roost.cli.states import ASKING, State, Watch
from roost.cli.storage import Home, database_of, run_at_home
from roost.cli.table import age, as_json, cut_words, table
from roost.cli.terminal import columns_of
from roost.core.amounts import counted
from roost.core.clock import now_ms
from roost.db.transaction import Reader
from roost.sessions import store as sessions
from roost.sessions.models import Session
from roost.workspace.project import project_of

Wanted = Literal["running", "asking", "waiting", "interrupted"]


class ListOptions(Struct, frozen=True, kw_only=True):
    """The command line of `roost sessions list`."""

    format: Literal["text", "json"] = "text"
    max_count: int = 50
    all: bool = False
    dir: str | None = None
    search: str | None = None
    since: str | None = None
    state: Wanted | None = None
    children: bool = False

    @property
    def narrows(self) -> bool:
        """Not all sessions are meant."""
        return self.search is not None or self.since is not None or self.state is not None


class _Row(Struct, frozen=True):
    session: Session
    state: State


def execute(given: dict[str, Any]) -> int:
    """List sessions, the last used first. Raises `UsageError`."""
    options = msgspec.convert(given, ListOptions)
    return run_at_home(given, lambda home: _list(home, options))


async def _list(home: Home, options: ListOptions) -> int:
    ids = () if options.all else (await project_of(working_folder(options.dir))).ids
    watch = home.watch()
    with database_of(home) as database:
        shown, there_are = await database.read(lambda db: _rows(db, ids or (None,), options, watch))
    if options.format == "json":
        print(as_json([_details(row) for row in shown]))
    elif shown:
        print("\n".join(_as_table(shown, everywhere=options.all)))
    else:
        tell(_nothing(options))
    for row in shown:
        if row.session.damage:
            tell(f"note: {row.session.id} is damaged: {row.session.damage}\n")
    if there_are > len(shown):
        tell(cut_words(len(shown), there_are, "session"))
    if asking := sum(row.state in ASKING.values() for row in shown):
        tell(f"{counted(asking, 'session waits', 'sessions wait')} for you: roost requests\n")
    return 0


def _nothing(options: ListOptions) -> str:
    such = " such" if options.narrows else ""
    if options.all:
        return f"There are no{such} sessions.\n"
    what = f"There are no{such} sessions of this project{'' if options.narrows else ' yet'}"
    return f"{what}; --all lists those of every project.\n"


def _rows(
    db: Reader, projects: tuple[str | None, ...], options: ListOptions, watch: Watch
) -> tuple[list[_Row], int]:
    """The sessions of any of `projects` (None: of all) that are shown, and how many there are."""
    states = watch.states(db)
    since = None if options.since is None else moment(options.since, now_ms())
    if options.state is not None:
        meant = [one for one, state in states.items() if _is_wanted(state, options.state)]
        known = [one for each in meant if (one := sessions.find(db, each)) is not None]
        found = [one for one in known if _fits(one, projects, options, since)]
        there_are = len(found)
    else:
        found, there_are = _matching(db, projects, options, since)
    found.sort(key=lambda session: session.time.updated, reverse=True)
    return [_Row(one, _state(one, states)) for one in found[: options.max_count]], there_are


def _matching(
    db: Reader, projects: tuple[str | None, ...], options: ListOptions, since: int | None
) -> tuple[list[Session], int]:
    """The newest sessions of each of `projects` that match, and how many match in all."""
    found: list[Session] = []
    there_are = 0
    for project in projects:
        wanted: dict[str, Any] = {
            "project_id": project,
            "roots": not options.children,
            "search": options.search,
            "since": since,
        }
        found += sessions.listed(db, **wanted, limit=options.max_count)
        there_are += sessions.count(db, **wanted)
    return found, there_are


def _is_wanted(state: State, wanted: Wanted) -> bool:
    return state in ASKING.values() if wanted == "asking" else state == wanted


def _fits(
    session: Session, projects: Iterable[str | None], options: ListOptions, since: int | None
) -> bool:
    """What `sessions.listed` asks for, of one session."""
    return (
        any(project in {None, session.project_id} for project in projects)
        and (options.children or session.parent_id is None)
        and (options.search or "").lower() in session.title.lower()
        and session.time.updated >= (since or 0)
    )


def _state(session: Session, states: dict[str, State]) -> State:
    idle: State = "" if session.time.archived is None else "archived"
    return states.get(session.id) or idle


def _details(row: _Row) -> dict[str, Any]:
    """In the shape of OpenCode's `session list --format json`, with the state."""
    session = row.session
    return {
        "id": session.id,
        "title": session.title,
        "updated": session.time.updated,
        "created": session.time.created,
        "projectId": session.project_id,
        "directory": session.directory,
        "state": row.state,
    }


def _as_table(rows: list[_Row], *, everywhere: bool) -> list[str]:
    now = now_ms()
    width = columns_of(sys.stdout)
    ids = shown_ids((row.session.id for row in rows), width)
    head = ["SESSION", "USED", "STATE", *(["FOLDER"] if everywhere else []), "TITLE"]
    lines = [
        [
            ids[row.session.id],
            age(row.session.time.updated, now),
            row.state,
            *([row.session.directory] if everywhere else []),
            row.session.title,
        ]
        for row in rows
    ]
    return table([head, *lines], width, spare=("USED",))
