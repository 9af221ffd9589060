"""Builds the world of a turn: which model, which tools, which rules, where."""

import re
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import msgspec

from roost.actors import store as actors
from roost.actors import trees
from roost.actors.limits import ActorLimits
from roost.actors.models import Budgets, Terms
from roost.config.models import LimitsConfig
from roost.config.paths import Paths, home_of
from roost.config.show import is_secret
from roost.context.agents import Agent
from roost.context.system import system_prompt
from roost.core.errors import UsageError
from roost.core.secrets import Secrets
from roost.db.database import Database
from roost.events.bus import Bus
from roost.inbox.models import Address
from roost.llm.choice import choose, default_ref
from roost.llm.client import ModelClient
from roost.llm.groups import (
    LIST_LIMIT,
    ListedChoice,
    is_derived,
    list_models,
    resolve_model_name,
    small_model,
)
from roost.llm.known_providers import known_key_variables
from roost.llm.models import Model
from roost.llm.resolve import ModelSettings, resolve
from roost.llm.retry import RetryPolicy
from roost.permissions.gate import Gate, Requester
from roost.permissions.layers import layers_for
from roost.permissions.models import Layer, PermissionRequest, Rule
from roost.permissions.rules import rules_of
from roost.runtime.kept import Kept
from roost.runtime.models import PromptInput, Settings
from roost.runtime.project import Project, Projects
from roost.sessions import store as sessions
from roost.sessions.models import ModelName, Session
from roost.tools.contract import Question, Tool
from roost.tools.registry import tools_for
from roost.turn.policies import limits
from roost.turn.verdict import REFILLED_BY_A_PERSON
from roost.turn.world import CallPlace, Place, World
from roost.workspace.environment import OWN_SECRETS
from roost.workspace.ledger import ReadLedger
from roost.workspace.shell import Shell

_ORDINARY: Final = frozenset(
    {"HOME", "PATH", "USER", "LOGNAME", "SHELL", "LANG", "PWD", "TMPDIR", "TERM"}
)
"""Variables that commands need, and that are no secret wherever a configuration names them."""
IDLE_LEDGERS: Final = 64
"""Sleeping actors whose knowledge of files is kept for their next turn."""
IDLE_SHELLS: Final = 4
"""Folders in which nobody works and whose shell is kept for the next turn."""
DEFAULT_LIMITS: Final[dict[str, float]] = {limits.STEPS: 1_000, limits.INVALID_CALLS: 12}
"""Limits of a turn that hold unless the config says otherwise."""


class Worlds:
    """The services that all turns of this process share, and what differs by session."""

    def __init__(
        self, projects: Projects, database: Database, bus: Bus, paths: Paths, settings: Settings
    ) -> None:
        self.projects = projects
        self.settings = settings
        self.models = ModelClient()
        self._database = database
        self._bus = bus
        self._paths = paths
        self._ledgers: Kept[Address, ReadLedger] = Kept(IDLE_LEDGERS)
        self._gate = Gate(database, bus, interactive=settings.interactive, yes=settings.yes)
        self._models: dict[Path, _Models] = {}
        self._desks: Kept[tuple[Path, int], _Desk] = Kept(IDLE_SHELLS)

    async def close(self) -> None:
        """End connections and child processes."""
        for desk in self._desks.clear():
            await desk.shell.close()
        await self.models.aclose()

    @property
    def shells(self) -> int:
        """How many shells are kept, in use or for the next turn."""
        return len(self._desks)

    @asynccontextmanager
    async def world_of(self, address: Address) -> AsyncGenerator[World]:
        """The world of the next turn of `address`, which must end with the block."""
        session = await self._database.read(lambda db: sessions.get(db, address.session_id))
        project = await self.projects.open(Path(session.directory))
        # A folder whose configuration was read again is another project, with other secrets.
        key = (project.directory, id(project))
        desk = self._desks.take(key, lambda: _Desk(project, self.settings.environment))
        ledger = self._ledgers.take(address, ReadLedger)
        try:
            yield self._world(session, desk, ledger)
        finally:
            self._ledgers.give_back(address)
            for idle in self._desks.give_back(key):
                await idle.shell.close()

    def _world(self, session: Session, desk: "_Desk", ledger: ReadLedger) -> World:
        project = desk.project
        rules = _Rules(project, session, self.settings)
        place = Place(
            directory=project.directory,
            root=project.root,
            guard=project.guard,
            ledger=ledger,
            spill_folder=self._paths.data / "outputs",
            shell=desk.shell,
        )

        def resolve_model(name: ModelName) -> Model:
            return self._model(project, name.ref)

        return World(
            database=self._database,
            bus=self._bus,
            models=self.models,
            asker=_Asker(self._gate, session, rules),
            session=session,
            place=place,
            retry=_retry_policy(project),
            secrets=desk.secrets,
            allow_private_hosts=project.loaded.config.tool.webfetch_private,
            resolve_model=resolve_model,
            resolve_agent=project.agent,
            system=_system_of(project),
            tools=rules.tools,
            reap=desk.shell.reap,
        )

    async def terms_of(self, session_id: str) -> Terms:
        """The limits of a session: built in, then config, then this process's settings."""
        session = await self._database.read(lambda db: sessions.get(db, session_id))
        project = await self.projects.open(Path(session.directory))
        config = project.loaded.config
        return Terms(budgets=self._budgets(config.limits), limits=ActorLimits.of(config.actors))

    def _budgets(self, config: LimitsConfig) -> Budgets:
        configured = {
            limits.STEPS: config.steps,
            limits.TOKENS: config.tokens,
            limits.COST: config.cost,
            limits.SECONDS: config.seconds,
            trees.TOKENS: config.tree_tokens,
            trees.COST: config.tree_cost,
            trees.SECONDS: config.tree_seconds,
        }
        configured |= dict.fromkeys(REFILLED_BY_A_PERSON, config.nudges)
        given = {name: float(value) for name, value in configured.items() if value is not None}
        return Budgets({**DEFAULT_LIMITS, **given, **self.settings.limits})

    async def choice(
        self, project: Project, given: PromptInput, address: Address
    ) -> tuple[Agent, ModelName]:
        """Agent and model for a prompt.

        Agent: as given, else the actor's. Model: as given, else what `roost` was started with, else
        the agent's, the actor's, the one in the configuration, or what is found.
        """
        actor = await self._database.read(lambda db: actors.get(db, address))
        agent = project.agent(given.agent or actor.agent)
        if agent.mode == "subagent" and actor.mode == "main":
            raise UsageError(f"the agent {agent.name!r} is a subagent and cannot be talked to")
        ref = given.model.ref if given.model else self.settings.model or agent.model or actor.model
        name = await self._name(project, ref)
        variant = given.variant or (given.model.variant if given.model else None) or agent.variant
        return agent, msgspec.structs.replace(name, variant=variant)

    async def small_model(self, session_id: str, beside: ModelName) -> Model:
        """The model for titles and summaries of a session whose prompt runs on `beside`."""
        session = await self._database.read(lambda db: sessions.get(db, session_id))
        project = await self.projects.open(Path(session.directory))
        large = self._model(project, beside.ref)
        return small_model(large, _settings(project), self.settings.environment)

    async def _name(self, project: Project, wanted: str | None) -> ModelName:
        """The name of the model to use; looks around when nobody names one.

        Raises `UsageError` or `ConfigError` when it cannot be used.
        """
        settings, environment = _settings(project), self.settings.environment
        ref = wanted or settings.model or default_ref(settings, environment)
        if ref and not is_derived(ref, settings):
            found = self._model(project, ref)
        else:
            found = (await choose(ref, settings, environment, self.models)).model
            self._models_of(project)[found.ref] = found
        return ModelName.of(found.ref)

    def model_named(self, project: Project, name: str, beside: ModelName) -> ModelName:
        """What a group, `provider/model` or bare name means to an actor that runs on `beside`.

        Raises `UsageError` or `ConfigError`, with words for whoever chose it.
        """
        current, settings = self._model(project, beside.ref), _settings(project)
        found = resolve_model_name(name, current, settings, self.settings.environment)
        return ModelName.of(found.ref)

    def models_to_choose(
        self, project: Project, beside: ModelName, *, vision: bool | None, limit: int = LIST_LIMIT
    ) -> list[ListedChoice]:
        """See `list_models`."""
        current, settings = self._model(project, beside.ref), _settings(project)
        environment = self.settings.environment
        return list_models(current, settings, environment, vision=vision, limit=limit)

    def _model(self, project: Project, ref: str) -> Model:
        known = self._models_of(project)
        if ref not in known:
            known[ref] = resolve(ref, _settings(project), self.settings.environment)
        return known[ref]

    def _models_of(self, project: Project) -> dict[str, Model]:
        """The models that were resolved for `project`, as its configuration was last read."""
        known = self._models.get(project.directory)
        if known is None or known.project is not project:
            known = self._models[project.directory] = _Models(project)
        return known.by_ref


class _Models:
    """The models of a project by name."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.by_ref: dict[str, Model] = {}


class _Desk:
    """What all actors that work in a project share: its shell, and what no tool may show."""

    def __init__(self, project: Project, environment: Mapping[str, str]) -> None:
        self.project = project
        hidden = _secret_variables(project)
        self.secrets = _secrets(project, hidden, environment)
        self.shell = Shell(environment, secrets=hidden, hidden=self.secrets)


def _settings(project: Project) -> ModelSettings:
    return ModelSettings.in_force(project.loaded)


def _retry_policy(project: Project) -> RetryPolicy:
    """The retry budgets, with the config's own number of tries and first wait."""
    config = project.loaded.config.limits
    changes: dict[str, Any] = {}
    if config.retries is not None:
        changes["tries"] = config.retries
    if config.retry_wait is not None:
        changes |= {"base": config.retry_wait, "first": None}
    policy = RetryPolicy()
    kinds = ("rate_limit", "server", "network", "unreadable")
    budgets = {kind: msgspec.structs.replace(getattr(policy, kind), **changes) for kind in kinds}
    # Of an endpoint that never answered patience is no help, however much of it is configured.
    fewer = changes | {"tries": min(changes.get("tries", 99), policy.unreached.tries)}
    budgets["unreached"] = msgspec.structs.replace(policy.unreached, **fewer)
    return msgspec.structs.replace(policy, **budgets)


def _secret_variables(project: Project) -> frozenset[str]:
    """Variables that no child process of a tool may see."""
    providers = project.loaded.config.provider.values()
    named = {name for provider in providers for name in provider.env or ()}
    for path, written in project.loaded.references.items():
        if is_secret(path):
            named.update(re.findall(r"\{env:([^}]+)\}", written))
    return known_key_variables() | frozenset(OWN_SECRETS) | (named - _ORDINARY)


def _secrets(
    project: Project, variables: frozenset[str], environment: Mapping[str, str]
) -> Secrets:
    """The keys of the providers, wherever they come from, and the server's password."""
    named = {name: environment[name] for name in variables if name in environment}
    for name, provider in project.loaded.config.provider.items():
        options = provider.settings
        named[f"key of {name}"] = options.api_key or ""
        named |= {
            f"{one} of {name}": options.headers[one] for one in options.headers if is_secret((one,))
        }
    return Secrets(named)


def _system_of(project: Project) -> Callable[[Agent, Model, str | None], tuple[str, ...]]:
    def system(agent: Agent, model: Model, extra: str | None) -> tuple[str, ...]:
        return system_prompt(
            agent,
            model,
            directory=project.directory,
            root=project.root,
            instructions=project.instructions,
            extra=extra,
        )

    return system


class _Rules:
    """The permission rules of one session, by agent."""

    def __init__(self, project: Project, session: Session, settings: Settings) -> None:
        self._project = project
        self._session = session
        self._settings = settings
        self._home = home_of(settings.environment)
        self._layers: dict[str, tuple[Layer, ...]] = {}
        self._tools: dict[tuple[str, str], Mapping[str, Tool[Any]]] = {}

    def layers(self, agent: Agent) -> tuple[Layer, ...]:
        """Every layer for an actor that runs as `agent`."""
        if agent.name not in self._layers:
            self._layers[agent.name] = layers_for(
                self._project.loaded.permissions,
                self._home,
                agent=agent.name,
                agent_rules=rules_of(agent.permission, self._home),
                session_rules=tuple(
                    msgspec.convert(rule, Rule) for rule in self._session.permission or ()
                ),
            )
        return self._layers[agent.name]

    def tools(self, agent: Agent, model: Model) -> Mapping[str, Tool[Any]]:
        """The tools that `agent` may see on `model`, the same ones at each step."""
        key = (agent.name, model.ref)
        if key not in self._tools:
            shown = tools_for(self.layers(agent), model, interactive=self._settings.interactive)
            self._tools[key] = {name: tool for name, tool in shown.items() if agent.may_call(name)}
        return self._tools[key]


class _Asker:
    """Hands the requests of tools to the gate, under the rules of their session."""

    def __init__(self, gate: Gate, session: Session, rules: _Rules) -> None:
        self._gate = gate
        self._session = session
        self._rules = rules

    def _by(self, call: CallPlace) -> Requester:
        return Requester(
            call.claim.address,
            call.claim.turn.id,
            call.message_id,
            call.call_id,
            self._session.project_id,
            self._rules.layers(call.agent),
        )

    async def permission(self, request: PermissionRequest, call: CallPlace) -> None:
        await self._gate.check(request, self._by(call))

    async def question(
        self, questions: tuple[Question, ...], call: CallPlace
    ) -> tuple[tuple[str, ...], ...]:
        shown = [msgspec.to_builtins(question) for question in questions]
        answers = await self._gate.question(shown, self._by(call))
        return tuple(tuple(chosen) for chosen in answers)
