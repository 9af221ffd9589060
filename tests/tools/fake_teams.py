"""Teams as the tool sees them, without a runtime: what is asked is noted, answers set."""

from typing import Any

from roost.actors.teams import Member, Reached, Team
from roost.tools.team_port import Told


def a_member(session_id: str = "ses_one", role: str = "member", **changes: Any) -> Member:
    """A member that sleeps."""
    fields: dict[str, Any] = {
        "session_id": session_id,
        "actor_id": "main",
        "role": role,
        "joined": 1,
        "agent": "build",
        "status": "idle",
        "title": "The fix",
    }
    return Member(**{**fields, **changes})


class FakeTeams:
    """Holds one team: see `roost.tools.team_port.TeamPort`."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.known = Team("team_1", "p", "backend", "The API", 1, (a_member(),))
        self.reached = (
            Reached("ses_one", "main", "tests", "inb_1", busy=True),
            Reached("ses_two", "main", "docs", "inb_2"),
            Reached("ses_ten", "main", "docs", "inb_3", held=True),
            Reached("ses_six", "main", "docs", None, error="not accepted: its inbox is full"),
        )

    async def create(self, name: str, purpose: str, role: str) -> Team:
        self.calls.append(("create", name, purpose, role))
        return self.known

    async def join(self, name: str, role: str) -> Team:
        self.calls.append(("join", name, role))
        return self.known

    async def leave(self, name: str) -> Team:
        self.calls.append(("leave", name))
        return self.known

    async def listed(self) -> list[Team]:
        self.calls.append(("list",))
        return [self.known]

    async def team(self, name: str) -> Team:
        self.calls.append(("members", name))
        return self.known

    async def send(self, name: str, text: str, role: str | None) -> Told:
        self.calls.append(("send", name, text, role))
        return Told(self.known, self.reached)
