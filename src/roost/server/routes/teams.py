"""Teams of a folder's project: made, joined, left, spoken to."""

from pathlib import Path
from typing import Annotated, Any, Final

from msgspec import Meta, Struct

from roost.actors import store as actors
from roost.actors import teams
from roost.actors.teams import Reached, Team
from roost.core.errors import NotFoundError
from roost.core.wire_names import wire_name
from roost.db.transaction import Transaction
from roost.inbox.models import Address
from roost.runtime.team_prompts import prompt_team
from roost.server.endpoint import Call, Endpoint, NoQuery, endpoint

Name = Annotated[str, Meta(min_length=1, max_length=200)]


class NewTeamBody(Struct, frozen=True):
    """What a team is called and for."""

    name: Name
    purpose: Annotated[str, Meta(max_length=10_000)] = ""


class NewMemberBody(Struct, frozen=True, rename=wire_name):
    """Who is to be in a team: a session, through the actor that fronts it."""

    session_id: str
    role: Annotated[str, Meta(max_length=200)] = ""


class TeamMessageBody(Struct, frozen=True):
    """A person's words to a team, or to those of a role."""

    text: Annotated[str, Meta(max_length=1_000_000)]
    role: Name | None = None


class Receipts(Struct, frozen=True):
    """What became of a message to a team, one receipt for each member that was meant."""

    receipts: list[Reached]


async def _projects(call: Call[NoQuery, Any]) -> list[str]:
    runtime = call.service.runtime
    folders = (call.directory, *map(str, call.service.directories.roots))
    return [await runtime.project_id(Path(folder)) for folder in dict.fromkeys(folders)]


async def _team(call: Call[NoQuery, Any]) -> Team:
    """The team in the path, of a project that is served. Raises `NotFoundError`."""
    team_id = call.path["teamID"]
    team = await call.service.runtime.database.read(lambda db: teams.get(db, team_id))
    if team.project_id not in await _projects(call):
        raise NotFoundError(f"there is no team {team_id} in this project")
    return team


async def list_teams(call: Call[NoQuery, None]) -> list[Team]:
    """The teams of a folder's project by name, with their members."""
    runtime = call.service.runtime
    project = await runtime.project_id(Path(call.directory))
    return await runtime.database.read(lambda db: teams.listed(db, project))


async def create_team(call: Call[NoQuery, NewTeamBody]) -> Team:
    """Make a team in a folder's project. 409 if its name is taken."""
    runtime, body = call.service.runtime, call.body
    project = await runtime.project_id(Path(call.directory))
    return await runtime.database.write(
        lambda tx: teams.create(tx, project, body.name, body.purpose, directory=call.directory)
    )


async def get_team(call: Call[NoQuery, None]) -> Team:
    """One team with its members."""
    return await _team(call)


async def delete_team(call: Call[NoQuery, None]) -> bool:
    """Remove a team; its members and what was said in it stay."""
    team = await _team(call)
    await call.service.runtime.database.write(
        lambda tx: teams.delete(tx, teams.get(tx, team.id), directory=call.directory)
    )
    return True


async def add_member(call: Call[NoQuery, NewMemberBody]) -> Team:
    """Put a session into a team, or give it another role there."""
    team = await _team(call)
    body = call.body
    session = await call.service.session(body.session_id)
    if session.project_id != team.project_id:
        raise NotFoundError(f"session {session.id} is not of the team's project")

    def join(tx: Transaction) -> Team:
        front = actors.front(tx, session.id)
        return teams.join(tx, teams.get(tx, team.id), front.address, body.role)

    return await call.service.runtime.database.write(join)


async def remove_member(call: Call[NoQuery, None]) -> Team:
    """Let a member go. 404 if it is none."""
    team = await _team(call)
    address = Address(call.path["sessionID"], call.path["actorID"])
    return await call.service.runtime.database.write(
        lambda tx: teams.leave(tx, teams.get(tx, team.id), address)
    )


async def message_team(call: Call[NoQuery, TeamMessageBody]) -> Receipts:
    """Prompt every member of a team, or those of a role. Once this answers it is stored.

    Members that are at work hear it at their next step, others are woken. Sources that send too
    many get 429 and `Retry-After`.
    """
    team = await _team(call)
    body = call.body
    for member in team.receivers(body.role, None):
        await call.service.session(member.session_id)
    call.count_prompt()
    told = await prompt_team(
        call.service.runtime, team.id, body.text, role=body.role, directory=call.directory
    )
    return Receipts(list(told.reached))


ROUTES: Final[tuple[Endpoint, ...]] = (
    endpoint("GET", "/team", list_teams),
    endpoint("POST", "/team", create_team),
    endpoint("GET", "/team/{teamID}", get_team),
    endpoint("DELETE", "/team/{teamID}", delete_team),
    endpoint("POST", "/team/{teamID}/member", add_member),
    endpoint("DELETE", "/team/{teamID}/member/{sessionID}/{actorID}", remove_member),
    endpoint("POST", "/team/{teamID}/message", message_team),
)
