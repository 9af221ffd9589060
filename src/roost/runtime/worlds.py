"""Builds the world of a turn: which model, which tools, which rules, where."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from roost.actors import family, tree_budgets
from roost.actors import store as actors
from roost.actors.limits import ActorLimits
from roost.actors.models import Actor, Budgets, Terms
from roost.actors.owner import Owner
from roost.config.models import Config
from roost.config.paths import Paths, home_of
from roost.context.agents import Agent, choices
from roost.context.capacity import configured
from roost.context.skill_list import skills_block
from roost.context.system import system_prompt
from roost.core.errors import UsageError
from roost.db.database import Database
from roost.db.transaction import Reader
from roost.events.bus import Bus
from roost.hooks.journal import journal_path
from roost.inbox.models import Address
from roost.llm.client import ModelClient
from roost.llm.models import Model
from roost.permissions.gate import Gate
from roost.permissions.models import Layer
from roost.runtime.actor_port import ActorPort
from roost.runtime.desks import Desk, retry_policy
from roost.runtime.hand_offs import hand_offs
from roost.runtime.kept import Kept
from roost.runtime.model_names import ModelNames
from roost.runtime.models import PromptInput, Settings
from roost.runtime.plan_port import PlanPort
from roost.runtime.project import Project, Projects
from roost.runtime.remembering import Recall, Remembering
from roost.runtime.rights import Above, Asker, Rules
from roost.runtime.services import Services
from roost.runtime.session_port import SessionPort
from roost.runtime.team_port import TeamPort
from roost.runtime.undo import Undo
from roost.runtime.undo_record import UndoLog
from roost.runtime.undo_shelf import Shelf
from roost.sessions import store as sessions
from roost.sessions.models import ModelName, Session
from roost.tools.skill import NAME as SKILL
from roost.turn.policies import goal, limits, try_best
from roost.turn.verdict import NUDGES
from roost.turn.world import Caller, MaxMode, Place, World
from roost.workspace.git import Git
from roost.workspace.guard import Guard
from roost.workspace.ledger import ReadLedger

IDLE_LEDGERS: Final = 64
"""Sleeping actors whose knowledge of files is kept for their next turn."""
IDLE_SHELLS: Final = 4
"""Folders in which nobody works and whose shell is kept for the next turn."""
DEFAULT_LIMITS: Final[dict[str, float]] = {limits.STEPS: 1_000, limits.INVALID_CALLS: 12}
"""Limits of a turn that hold unless the config says otherwise."""


class _Kin(Struct, frozen=True):
    """An actor and what those above it leave it."""

    actor: Actor
    above: Above
    """What those above it leave it: it may do no more."""
    lenders: tuple[Agent, ...]
    """The agents of those above it in its own session: it uses no tool that one does not lend."""


class Worlds:
    """The services that all turns of this process share, and what differs by session."""

    def __init__(
        self,
        projects: Projects,
        database: Database,
        bus: Bus,
        paths: Paths,
        settings: Settings,
        owner: Owner,
    ) -> None:
        self.projects = projects
        self.settings = settings
        self.models = ModelClient()
        self._database = database
        self._bus = bus
        self._paths = paths
        self._ledgers: Kept[Address, ReadLedger] = Kept(IDLE_LEDGERS)
        self.gate = Gate(database, bus, interactive=settings.interactive, yes=settings.yes)
        self.names = ModelNames(self.models, settings.environment)
        self._services = Services(
            database=database,
            bus=bus,
            models=self.names,
            projects=projects,
            spill_folder=paths.data / "outputs",
        )
        self._desks: Kept[tuple[Path, int], Desk] = Kept(IDLE_SHELLS)
        self._shelf = Shelf(paths, home_of(settings.environment))
        self._remembering = Remembering(paths, database)
        self.undo = Undo(database, projects, self._shelf, owner, settings.environment)

    async def close(self) -> None:
        """End connections and child processes."""
        await self.undo.close()
        for desk in self._desks.clear():
            await desk.close()
        await self._shelf.close()
        self._remembering.close()
        await self.models.aclose()

    @property
    def shells(self) -> int:
        """How many shells are kept, in use or for the next turn."""
        return len(self._desks)

    @asynccontextmanager
    async def world_of(self, address: Address) -> AsyncGenerator[World]:
        """The world of the next turn of `address`, which must end with the block."""
        await self.undo.finish(address.session_id)
        session = await self._database.read(lambda db: sessions.get(db, address.session_id))
        project = await self.projects.open(Path(session.directory))
        ledger = self._ledgers.take(address, ReadLedger)
        files = self._shelf.take(project, session.project_id)
        async with self.desk_of(project) as desk:
            try:
                kin = await self._kin(address)
                undo = UndoLog(files if project.loaded.config.snapshot else None, self._database)
                yield self._world(kin, session, desk, ledger, undo)
            finally:
                await self._shelf.give_back(files, session.project_id)
                self._ledgers.give_back(address)

    @asynccontextmanager
    async def desk_of(self, project: Project) -> AsyncGenerator[Desk]:
        """What all that is run in `project` share, kept for a while behind the block."""
        # A folder whose configuration was read again is another project, with other secrets.
        key = (project.directory, id(project))
        desk = self._desks.take(key, lambda: Desk(project, self.settings.environment, self._paths))
        try:
            yield desk
        finally:
            for idle in self._desks.give_back(key):
                await idle.close()

    async def _kin(self, address: Address) -> _Kin:

        def read(db: Reader) -> tuple[Actor, list[tuple[Actor, Session]]]:
            actor = actors.get(db, address)
            above = family.ancestors(db, actor)
            return actor, [(one, sessions.get(db, one.session_id)) for one in above]

        lineage: list[tuple[Layer, ...]] = []
        lenders: list[Agent] = []
        plan = ""
        actor, above = await self._database.read(read)
        for one, session in above:
            project = await self.projects.open(Path(session.directory))
            agent = project.agent(one.agent)
            rules = Rules(project, session, self.settings)
            lineage += rules.lineage(agent)
            plan = plan or (rules.plan if agent.plans else "")
            if one.session_id == actor.session_id:
                lenders.append(agent)
        return _Kin(actor, Above(tuple(lineage), plan), tuple(lenders))

    async def _above(self, kin: _Kin) -> Above:
        """What those above an actor leave it now: they may have begun to plan since."""
        if kin.actor.parent is None:
            return kin.above
        return (await self._kin(kin.actor.address)).above

    def _plan_of(
        self, kin: _Kin, session: Session, project: Project
    ) -> Callable[[Caller], PlanPort]:
        async def model_of(agent: Agent) -> ModelName:
            ref = self.settings.model or agent.model or kin.actor.model
            return await self.names.choose(project, ref)

        return lambda caller: PlanPort(caller, session, project, model_of)

    def _guard(self, actor: Actor, project: Project) -> Guard:
        """The guard of the project; one who works on a task may also write its journal."""
        if actor.task_id is None or actor.parent is None:
            return project.guard
        session_id = actor.parent.session_id
        journal = journal_path(self._paths.data, session_id, actor.task_id)
        return project.guard.with_root(journal.parent)

    def _world(
        self,
        kin: _Kin,
        session: Session,
        desk: Desk,
        ledger: ReadLedger,
        undo: UndoLog,
    ) -> World:
        project = desk.project
        rules = Rules(project, session, self.settings)
        place = Place(
            directory=project.directory,
            root=project.root,
            guard=self._guard(kin.actor, project),
            ledger=ledger,
            spill_folder=self._services.spill_folder,
            shell=desk.shell,
        )

        def teams_of(caller: Caller) -> TeamPort:
            return TeamPort(caller, session, self._services)

        actors_of, sessions_of = self._ports(session, project)
        recall = self._remembering.of(session, project, desk.secrets)

        return World(
            database=self._database,
            bus=self._bus,
            models=self.models,
            asker=Asker(self.gate, session, rules, lambda: self._above(kin)),
            session=session,
            place=place,
            retry=retry_policy(project),
            secrets=desk.secrets,
            allow_private_hosts=project.loaded.config.tool.webfetch_private,
            resolve_model=lambda name: self.names.resolve(project, name.ref),
            window=lambda model: configured(model, project.loaded.config.compaction),
            checkpoints=project.loaded.config.checkpoint.enabled,
            judge=lambda model: self.names.judge(project, model),
            max_mode=self._max_mode(project),
            hand_offs=lambda brief: hand_offs(self.settings.environment, project.directory, brief),
            resolve_agent=project.agent,
            system=_system_of(project, recall, rules),
            tools=rules.tools,
            lenders=kin.lenders,
            hooks=desk.hooks,
            undo=undo,
            uncommitted=_uncommitted_in(project),
            actors=actors_of,
            sessions=sessions_of,
            teams=teams_of,
            plan=self._plan_of(kin, session, project),
            skills=project.skills,
            folder_rules=project.folder_rules,
            memory=recall.memory,
            history=recall.history,
            remembered=lambda name: recall.count(project.agents.get(name)),
            reap=desk.shell.reap,
        )

    def _max_mode(self, project: Project) -> MaxMode:
        config = project.loaded.config.max_mode
        given = {"candidates": config.candidates, "seconds": config.seconds}
        return MaxMode(
            on=config.on,
            judge=lambda model: self.names.chooser(project, model),
            **{name: value for name, value in given.items() if value is not None},
        )

    def _ports(
        self, session: Session, project: Project
    ) -> tuple[Callable[[Caller], ActorPort], Callable[[Caller], SessionPort]]:
        """What a call of a session's tool knows of other actors, and of other sessions."""

        def actors_of(caller: Caller) -> ActorPort:
            return ActorPort(caller, session, project, self._services)

        def sessions_of(caller: Caller) -> SessionPort:
            return SessionPort(caller, session, project, self._services)

        return actors_of, sessions_of

    async def terms_of(self, session_id: str) -> Terms:
        """The limits of a session: built in, then config, then this process's settings."""
        session = await self._database.read(lambda db: sessions.get(db, session_id))
        project = await self.projects.open(Path(session.directory))
        config = project.loaded.config
        return Terms(budgets=self._budgets(config), limits=ActorLimits.of(config.actors))

    def _budgets(self, whole: Config) -> Budgets:
        config = whole.limits
        configured = {
            limits.STEPS: config.steps,
            limits.TOKENS: config.tokens,
            limits.COST: config.cost,
            limits.SECONDS: config.seconds,
            tree_budgets.TOKENS: config.tree_tokens,
            tree_budgets.COST: config.tree_cost,
            tree_budgets.SECONDS: config.tree_seconds,
            goal.BUDGET: whole.goal.reentries,
            goal.SECONDS: whole.goal.seconds,
        }
        reminders, pauses = try_best.MODES[whole.try_best]
        configured |= {try_best.REMINDERS: reminders, try_best.PAUSES: pauses}
        configured |= dict.fromkeys(NUDGES, config.nudges)
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
        if agent.mode == "subagent" and actor.fronts:
            raise UsageError(
                f"the agent {agent.name!r} is a subagent and cannot be talked to",
                hint=choices(project.agents),
            )
        ref = given.model.ref if given.model else self.settings.model or agent.model or actor.model
        name = await self.names.choose(project, ref)
        variant = given.variant or (given.model.variant if given.model else None) or agent.variant
        return agent, msgspec.structs.replace(name, variant=variant)

    async def small_model(self, session_id: str, beside: ModelName) -> Model:
        """The model for titles and summaries of a session whose prompt runs on `beside`."""
        session = await self._database.read(lambda db: sessions.get(db, session_id))
        project = await self.projects.open(Path(session.directory))
        return self.names.small(project, beside)


def _uncommitted_in(project: Project) -> Callable[[], Awaitable[tuple[str, ...]]] | None:
    async def uncommitted() -> tuple[str, ...]:
        return tuple(one.path for one in await Git(project.directory).status() or ())

    return uncommitted if project.loaded.config.uncommitted_hint else None


def _system_of(
    project: Project, recall: Recall, rules: Rules
) -> Callable[[Agent, Model, str | None], tuple[str, ...]]:
    def system(agent: Agent, model: Model, extra: str | None) -> tuple[str, ...]:
        return system_prompt(
            agent,
            model,
            directory=project.directory,
            root=project.root,
            instructions=project.instructions,
            skills=_skills_told(rules, agent, model),
            memory=recall.block(agent, model),
            extra=extra,
        )

    return system


def _skills_told(rules: Rules, agent: Agent, model: Model) -> str:
    """What the system prompt says of skills to one who is shown their tool."""
    if model.small_prompt or not agent.may_call(SKILL):
        return ""
    return skills_block(rules.skills(agent))
