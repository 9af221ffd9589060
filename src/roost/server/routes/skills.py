"""The skills of a folder."""

from typing import Any, Final

from msgspec import Struct

from roost.server.endpoint import Call, Endpoint, NoQuery, endpoint
from roost.server.routes.located import Located, located_in


class SkillView(Struct, frozen=True):
    """A skill. `location` is the path of its page, `content` what stands below its settings."""

    name: str
    description: str
    location: str
    content: str


async def list_skills(call: Call[NoQuery, None]) -> list[SkillView]:
    """The skills that can be used in a folder, by name."""
    return await _skills(call)


async def list_located_skills(call: Call[NoQuery, None]) -> Located[SkillView]:
    """The same."""
    return await located_in(call, await _skills(call))


async def _skills(call: Call[Any, None]) -> list[SkillView]:
    project = await call.project()
    return [SkillView(one.name, one.description, str(one.page), one.body) for one in project.skills]


ROUTES: Final[tuple[Endpoint, ...]] = (
    endpoint("GET", "/skill", list_skills),
    endpoint("GET", "/api/skill", list_located_skills),
)
