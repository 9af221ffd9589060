"""What OpenCode 1.18's terminal interface asks of its second API: when it starts, and for files."""

from typing import Annotated, Any, Final, Literal, TypeVar

from msgspec import Meta, Struct

from roost.server import located
from roost.server.endpoint import Call, Endpoint, NoQuery, endpoint
from roost.server.file_names import Kind
from roost.server.located import (
    Integration,
    Located,
    LocatedAgent,
    LocatedCommand,
    LocatedModel,
    LocatedProvider,
    Location,
    PlaceProject,
)
from roost.server.routes.files import ListQuery, list_files
from roost.server.routes.projects import configured_providers, list_agents, list_commands

T = TypeVar("T")


class Alive(Struct, frozen=True):
    """It answers."""

    healthy: bool = True


async def answers(call: Call[NoQuery, None]) -> Alive:
    """Whether the server answers, told to those who know its secret."""
    del call
    return Alive()


async def get_location(call: Call[NoQuery, None]) -> Location:
    """The folder that is meant, and its project."""
    return await _location(call)


async def _location(call: Call[Any, None]) -> Location:
    project = await call.project()
    identity = await call.service.runtime.project_id(project.directory)
    return Location(str(project.directory), PlaceProject(identity, str(project.root)))


async def located_in(call: Call[Any, None], data: list[T]) -> Located[T]:
    """`data` with the folder that it is of."""
    return Located(await _location(call), data)


async def list_located_agents(call: Call[NoQuery, None]) -> Located[LocatedAgent]:
    """The agents that actors can run as."""
    return await located_in(call, [located.agent(one) for one in await list_agents(call)])


async def list_located_commands(call: Call[NoQuery, None]) -> Located[LocatedCommand]:
    """The commands."""
    return await located_in(call, [located.command(one) for one in await list_commands(call)])


async def list_located_models(call: Call[NoQuery, None]) -> Located[LocatedModel]:
    """The models that can be called."""
    found = (await configured_providers(call)).providers
    return await located_in(call, [located.model(m) for one in found for m in one.models.values()])


async def list_located_providers(call: Call[NoQuery, None]) -> Located[LocatedProvider]:
    """The providers that can be called."""
    found = (await configured_providers(call)).providers
    return await located_in(call, [located.provider(one) for one in found])


async def list_integrations(call: Call[NoQuery, None]) -> Located[Integration]:
    """The providers that Roost knows, and how they get their keys."""
    environment = call.service.runtime.settings.environment
    return await located_in(call, located.integrations(environment))


class Entry(Struct, frozen=True):
    """A file or a folder, relative to the folder that is meant; folders end with a slash."""

    path: str
    type: Literal["file", "directory"]


class FindQuery(Struct, frozen=True):
    """Letters of a path, in order."""

    query: Annotated[str, Meta(max_length=1_000)]
    type: Kind | None = None
    limit: Annotated[int, Meta(ge=1, le=200)] = 20


async def find_entries(call: Call[FindQuery, None]) -> Located[Entry]:
    """The paths below a folder that are most like the letters given."""
    project = await call.project()
    query = call.query
    found = await call.service.file_names.find(
        project.directory, query.query, kind=query.type, limit=query.limit
    )
    return await located_in(call, [_entry(path) for path in found])


async def list_entries(call: Call[ListQuery, None]) -> Located[Entry]:
    """The entries of a folder, folders first."""
    nodes = await list_files(call)
    paths = [f"{one.path}/" if one.type == "directory" else one.path for one in nodes]
    return await located_in(call, [_entry(path) for path in paths])


def _entry(path: str) -> Entry:
    return Entry(path, "directory" if path.endswith("/") else "file")


async def nothing_located(call: Call[NoQuery, None]) -> Located[dict[str, Any]]:
    """Nothing: Roost has none of these."""
    nothing: list[dict[str, Any]] = []
    return await located_in(call, nothing)


ROUTES: Final[tuple[Endpoint, ...]] = (
    endpoint("GET", "/api/health", answers, scoped=False),
    endpoint("GET", "/api/location", get_location),
    endpoint("GET", "/api/agent", list_located_agents),
    endpoint("GET", "/api/command", list_located_commands),
    endpoint("GET", "/api/model", list_located_models),
    endpoint("GET", "/api/provider", list_located_providers),
    endpoint("GET", "/api/integration", list_integrations),
    endpoint("GET", "/api/fs/find", find_entries),
    endpoint("GET", "/api/fs/list", list_entries),
    endpoint("GET", "/api/reference", nothing_located, name="list_located_references"),
)
