"""`roost teams`: the teams of a project, and who is in them."""

import sys
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

from roost.actors import teams
from roost.actors.teams import Member, Team
from roost.cli.failures import tell
from roost.cli.folders import working_folder
from roost.cli.short_ids import shown_ids
from roost.cli.storage import Home, database_of, run_at_home
from roost.cli.table import as_json, table
from roost.cli.terminal import columns_of
from roost.db.transaction import Reader
from roost.workspace.project import project_of

HEAD: Final = ["TEAM", "ROLE", "AGENT", "STATE", "WHAT"]
_INDENT: Final = "  "


class TeamsOptions(Struct, frozen=True, kw_only=True):
    """The command line of `roost teams`."""

    all: bool = False
    format: Literal["text", "json"] = "text"
    dir: str | None = None


def execute(given: dict[str, Any]) -> int:
    """List teams by name."""
    given.pop("action", None)
    options = msgspec.convert(given, TeamsOptions)
    return run_at_home(given, lambda home: _list(home, options))


async def _list(home: Home, options: TeamsOptions) -> int:
    ids = () if options.all else (await project_of(working_folder(options.dir))).ids
    watch = home.watch()
    with database_of(home) as database:
        found = await database.read(lambda db: _teams(db, ids or (None,)))
        states = await database.read(watch.states)
    if options.format == "json":
        print(as_json(found))
    elif found:
        print("\n".join(_lines(found, states)))
    else:
        where = "" if options.all else " in this project; --all lists those of every project"
        tell(f"There are no teams{where}.\n")
    return 0


def _teams(db: Reader, projects: tuple[str | None, ...]) -> list[Team]:
    return [team for project in projects for team in teams.listed(db, project)]


def _lines(found: list[Team], states: dict[str, Any]) -> list[str]:
    rows: list[list[str]] = [HEAD]
    width = columns_of(sys.stdout)
    members = [member for team in found for member in team.members]
    ids = shown_ids((member.session_id for member in members), width)
    starts = [""]
    for team in found:
        rows.append([team.name, "", "", "", team.purpose])
        starts.append("")
        for member in team.members:
            rows.append(_member(member, ids[member.session_id], states))
            starts.append(_INDENT)
    return table(rows, width, starts, spare=("AGENT",))


def _member(member: Member, shown: str, states: dict[str, Any]) -> list[str]:
    state = states.get(member.session_id, "")
    return [shown, member.role, member.agent, state, member.title]
