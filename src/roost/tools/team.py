"""The tool `team`: groups of sessions of one project that talk to each other."""

from typing import Annotated, Any, ClassVar, Final, Literal, assert_never

import msgspec
from msgspec import Meta, Struct

from roost.actors.teams import Member, Reached, Team
from roost.core.amounts import counted
from roost.tools.contract import Tool, ToolContext, ToolError, ToolOutput
from roost.tools.team_port import Told

NAME: Final = "team"
Action = Literal["create", "join", "leave", "list", "members", "send"]


class TeamArguments(Struct, frozen=True):
    """What to do with which team."""

    action: Annotated[Action, Meta(description="What to do.")]
    name: Annotated[str, Meta(description="The team.")] | None = None
    purpose: Annotated[str, Meta(description="For create: what it is for.")] | None = None
    role: (
        Annotated[str, Meta(description="Your role in it; for send: only members of this role.")]
        | None
    ) = None
    text: Annotated[str, Meta(description="For send: what to say.")] | None = None


class TeamTool(Tool[TeamArguments]):
    """Makes, joins, leaves and lists teams, and talks to them."""

    name: ClassVar[str] = NAME
    parameters: ClassVar[type[Struct]] = TeamArguments
    permission: ClassVar[str] = NAME

    async def run(self, arguments: TeamArguments, context: ToolContext) -> ToolOutput:
        """Do what `action` says."""
        port = context.teams
        role = (arguments.role or "").strip()
        match arguments.action:
            case "list":
                return _list(await port.listed())
            case "members":
                return _members(await port.team(_needed(arguments, "name")))
            case "create":
                name = _needed(arguments, "name")
                team = await port.create(name, arguments.purpose or "", role)
                return _output(f"Created the team {team.name}; you are in it.", team)
            case "join":
                team = await port.join(_needed(arguments, "name"), role)
                return _output(f"You are in the team {team.name}.\n{_lines(team)}", team)
            case "leave":
                team = await port.leave(_needed(arguments, "name"))
                return _output(f"You have left the team {team.name}.", team)
            case "send":
                text = _needed(arguments, "text")
                return _told(await port.send(_needed(arguments, "name"), text, role or None))
            case _:
                assert_never(arguments.action)


def _list(found: list[Team]) -> ToolOutput:
    lines = [_line(team) for team in found] or ["There are no teams in this project yet."]
    return ToolOutput("\n".join(lines), counted(len(found), "team"), {"count": len(found)})


def _line(team: Team) -> str:
    count = len(team.members)
    about = f": {team.purpose}" if team.purpose else ""
    return f"{team.name} ({count} member{'' if count == 1 else 's'}){about}"


def _members(team: Team) -> ToolOutput:
    return _output(f"{_line(team)}\n{_lines(team)}", team)


def _lines(team: Team) -> str:
    return "\n".join(map(_member, team.members)) or "It has no members."


def _member(member: Member) -> str:
    about = f"{member.agent}, {member.status}"
    return f"- {member.session_id} [{member.role}] {member.title} ({about})"


def _told(told: Told) -> ToolOutput:
    lines = [f"- {one.session_id} [{one.role}]: {_fate(one)}" for one in told.reached]
    count = sum(one.inbox_id is not None for one in told.reached)
    head = f"Sent to {count} of {len(lines)} members of {told.team.name}:"
    shown: list[dict[str, Any]] = msgspec.to_builtins(told.reached)
    return ToolOutput(
        "\n".join([head, *lines]), f"Told {told.team.name}", {"receipts": shown, "count": count}
    )


def _fate(one: Reached) -> str:
    if one.error:
        return one.error
    if one.held:
        return "was stopped by the user, and hears it when they go on with it"
    return "hears it at its next step" if one.busy else "is woken by it"


def _output(words: str, team: Team) -> ToolOutput:
    shown: dict[str, Any] = msgspec.to_builtins(team)
    return ToolOutput(words.strip(), team.name, {"team": shown})


def _needed(arguments: TeamArguments, name: str) -> str:
    value: str | None = getattr(arguments, name)
    if not value or not value.strip():
        raise ToolError(f"{arguments.action} needs {name}.")
    return value.strip()
