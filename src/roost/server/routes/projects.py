"""A folder's configuration, agents, commands and models, and what project it belongs to."""

from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct

from roost.config.paths import home_of
from roost.config.show import masked
from roost.context.agents import Agent
from roost.core.clock import now_ms
from roost.core.errors import NotFoundError, UsageError
from roost.permissions.layers import layers_for
from roost.permissions.rules import rules_of
from roost.runtime import built_in, goal_command, side_command
from roost.runtime.project import Project
from roost.runtime.templates import placeholders
from roost.server.endpoint import Call, Endpoint, NoQuery, endpoint
from roost.server.listed_models import ListedProviders
from roost.server.wire import (
    AgentModel,
    AgentView,
    CommandView,
    ConfiguredProviders,
    PathView,
    ProjectTime,
    ProjectView,
    Providers,
)
from roost.sessions import store as sessions
from roost.workspace.git import git_output
from roost.workspace.git_folder import repository_of

_GIT_SECONDS: Final = 10.0
_MANY: Final = 10_000
"""Sessions that are looked at for the times of a project."""


async def get_config(call: Call[NoQuery, None]) -> dict[str, Any]:
    """The configuration in force, secrets masked."""
    return await shown_config(call)


async def shown_config(call: Call[Any, Any]) -> dict[str, Any]:
    """The same; sharing is told to be off, as it always is."""
    return {**masked((await call.project()).loaded), "share": "disabled"}


def _providers(call: Call[Any, Any], project: Project) -> ListedProviders:
    settings = call.service.runtime.settings
    config = project.loaded.config
    if settings.model:
        config = msgspec.structs.replace(config, model=settings.model)
    return ListedProviders(config, settings.environment)


async def configured_providers(call: Call[NoQuery, None]) -> ConfiguredProviders:
    """The providers that can be called, with their models."""
    known = _providers(call, await call.project())
    views = known.all()
    return ConfiguredProviders(views, known.defaults(views))


async def list_providers(call: Call[NoQuery, None]) -> Providers:
    """The providers that can be called, with their models, then those that only need a key."""
    known = _providers(call, await call.project())
    views = known.all()
    connected = [view.id for view in views]
    return Providers([*views, *known.others(connected)], known.defaults(views), connected)


async def list_agents(call: Call[NoQuery, None]) -> list[AgentView]:
    """The agents that actors can run as, with the rules that hold for them."""
    project = await call.project()
    environment = call.service.runtime.settings.environment
    home = home_of(environment)
    return [_agent_view(agent, project, home) for agent in project.agents.values()]


def _agent_view(agent: Agent, project: Project, home: Path) -> AgentView:
    provider, _, model = (agent.model or "").partition("/")
    layers = layers_for(
        project.loaded.permissions,
        home,
        agent=agent.name,
        agent_rules=rules_of(agent.permission, home),
    )
    return AgentView(
        name=agent.name,
        mode=agent.mode,
        permission=[rule for layer in layers for rule in layer.rules],
        options=agent.options,
        description=agent.description or None,
        native=agent.native,
        hidden=agent.hidden,
        top_p=agent.top_p,
        temperature=agent.temperature,
        color=agent.color,
        model=AgentModel(provider, model) if model else None,
        variant=agent.variant,
        steps=agent.steps,
    )


async def list_commands(call: Call[NoQuery, None]) -> list[CommandView]:
    """The commands that are built in, and those of the configuration."""
    project = await call.project()
    beside = [
        CommandView(
            name=one.NAME,
            template=one.TEMPLATE,
            hints=placeholders(one.TEMPLATE),
            description=one.DESCRIPTION,
        )
        for one in (goal_command, side_command)
    ]
    named = {one.name for one in beside}
    others = [
        CommandView(
            name=name,
            template=command.template,
            hints=placeholders(command.template),
            source="skill" if built_in.loads_skill(project, name) else "command",
            description=command.description,
            agent=command.agent,
            model=command.model,
            subtask=command.subtask,
        )
        for name, command in built_in.commands(project).items()
        if name not in named
    ]
    return [*beside, *others]


async def get_paths(call: Call[NoQuery, None]) -> PathView:
    """The folders in use."""
    project = await call.project()
    runtime = call.service.runtime
    return PathView(
        home=str(home_of(runtime.settings.environment)),
        state=str(runtime.paths.state),
        config=str(runtime.paths.config),
        worktree=str(project.root),
        directory=str(project.directory),
    )


async def list_projects(call: Call[NoQuery, None]) -> list[ProjectView]:
    """The projects that the server was opened for."""
    roots = call.service.directories.roots
    views = [await _project_view(call, await call.service.project(str(root))) for root in roots]
    return list({view.id: view for view in views}.values())


async def current_project(call: Call[NoQuery, None]) -> ProjectView:
    """The project of a folder."""
    return await _project_view(call, await call.project())


class ProjectDirectory(Struct, frozen=True):
    """A folder that sessions of a project work in."""

    directory: str


async def list_project_directories(call: Call[NoQuery, None]) -> list[ProjectDirectory]:
    """The folders of a project, its root first. Raises `NotFoundError` for another's id."""
    view = await current_project(call)
    if view.id != call.path["projectID"]:
        raise NotFoundError(f"{call.directory} is not of the project {call.path['projectID']}")
    return [ProjectDirectory(one) for one in (view.worktree, *view.sandboxes)]


async def begin_repository(call: Call[NoQuery, None]) -> ProjectView:
    """Make a folder a git repository, if it is in none."""
    project = await call.project()
    if repository_of(project.directory) is None:
        if await git_output(project.directory, ("init", "--quiet"), timeout=_GIT_SECONDS) is None:
            raise UsageError(f"git could not make a repository of {project.directory}")
        await call.service.runtime.forget_project(project.directory)
    return await current_project(call)


async def _project_view(call: Call[NoQuery, None], project: Project) -> ProjectView:
    runtime = call.service.runtime
    identity = await runtime.project_id(project.directory)
    known = await runtime.database.read(
        lambda db: sessions.listed(db, project_id=identity, limit=_MANY)
    )
    inside = [one for one in known if Path(one.directory).is_relative_to(project.root)]
    now = now_ms()
    return ProjectView(
        id=identity,
        worktree=str(project.root),
        time=ProjectTime(
            created=min((one.time.created for one in inside), default=now),
            updated=max((one.time.updated for one in inside), default=now),
        ),
        sandboxes=sorted({one.directory for one in known if one not in inside}),
        vcs="git" if repository_of(project.root) else None,
    )


async def dispose_instance(call: Call[NoQuery, None]) -> bool:
    """Read a folder's configuration again when it is next used. Running turns go on."""
    await call.service.runtime.forget_project(Path(call.directory))
    return True


async def dispose_all(call: Call[NoQuery, None]) -> bool:
    """The same for every folder that the server was opened for."""
    for root in call.service.directories.roots:
        await call.service.runtime.forget_project(root)
    return True


ROUTES: Final[tuple[Endpoint, ...]] = (
    endpoint("GET", "/config", get_config),
    endpoint("GET", "/config/providers", configured_providers),
    endpoint("GET", "/provider", list_providers),
    endpoint("GET", "/agent", list_agents),
    endpoint("GET", "/command", list_commands),
    endpoint("GET", "/path", get_paths),
    endpoint("GET", "/project", list_projects),
    endpoint("GET", "/project/current", current_project),
    endpoint("POST", "/project/git/init", begin_repository),
    endpoint("GET", "/project/{projectID}/directories", list_project_directories),
    endpoint("POST", "/instance/dispose", dispose_instance),
    endpoint("POST", "/global/dispose", dispose_all, scoped=False),
)
