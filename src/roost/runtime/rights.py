"""What an actor may do: the rules for it and for those above it, and the tools that it sees."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from roost.actors.models import Actor
from roost.config.paths import home_of
from roost.context.agents import Agent
from roost.core.errors import DeniedError
from roost.llm.models import Model
from roost.permissions.forwarding import ForwardTerms
from roost.permissions.gate import Gate, Requester
from roost.permissions.layers import layers_for
from roost.permissions.models import Layer, PermissionRequest, Rule
from roost.permissions.read_only import floor, way_out
from roost.permissions.rules import evaluate, rules_of
from roost.runtime.actor_port import spawnable
from roost.runtime.models import Settings
from roost.runtime.project import Project
from roost.runtime.session_port import directable
from roost.sessions.models import Session
from roost.sessions.plan_file import plan_file
from roost.skills.models import Skill
from roost.tools.actor import NAME as ACTOR
from roost.tools.actor import ActorOffer
from roost.tools.contract import Question, Tool
from roost.tools.registry import tools_for
from roost.tools.skill import NAME as SKILL
from roost.turn.world import CallPlace


class Rules:
    """The permission rules of one session, by agent."""

    def __init__(self, project: Project, session: Session, settings: Settings) -> None:
        self._project = project
        self._session = session
        self._settings = settings
        self._home = home_of(settings.environment)
        self._layers: dict[str, tuple[Layer, ...]] = {}
        self._tools: dict[tuple[str, str, bool], Mapping[str, Tool[Any]]] = {}

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

    @property
    def plan(self) -> str:
        """The file that the session's actors may write while they plan."""
        return plan_file(self._session)

    def lineage(self, agent: Agent) -> tuple[tuple[Layer, ...], ...]:
        """What narrows an actor that runs as `agent`, and everyone whom it starts."""
        layers = self.layers(agent)
        return (layers, floor(self.plan, layers)) if agent.plans else (layers,)

    def tools(self, agent: Agent, model: Model, spawns: bool) -> Mapping[str, Tool[Any]]:
        """The tools that `agent` may see on `model`, the same ones at each step.

        `spawns`: it is shown how to make other actors.
        """
        key = (agent.name, model.ref, spawns)
        if key not in self._tools:
            shown = tools_for(
                self.layers(agent),
                model,
                interactive=self._settings.interactive,
                actors=self._offer(spawns=spawns),
                sessions=directable(self._project.agents) if spawns else None,
                teams=spawns,
                plans=spawns,
            )
            self._tools[key] = {name: tool for name, tool in shown.items() if agent.may_call(name)}
        return self._tools[key]

    def skills(self, agent: Agent) -> list[Skill]:
        """The skills that `agent` may load, or ask to load."""
        layers = self.layers(agent)
        return [
            one
            for one in self._project.skills
            if evaluate(PermissionRequest(SKILL, (one.name,)), layers).action != "deny"
        ]

    def _offer(self, *, spawns: bool) -> ActorOffer:
        style = self._project.loaded.config.tool.style_of(ACTOR)
        return ActorOffer(agents=spawnable(self._project.agents) if spawns else {}, style=style)


class Above(Struct, frozen=True):
    """What those above an actor leave it, as they are at this moment."""

    lineage: tuple[tuple[Layer, ...], ...] = ()
    """The layers of each of them, its parent's first."""
    plan: str = ""
    """The plan of the nearest of them that plans; empty if none does."""


class Asker:
    """Hands the requests of tools to the gate, under the rules of their session."""

    def __init__(
        self, gate: Gate, session: Session, rules: Rules, above: Callable[[], Awaitable[Above]]
    ) -> None:
        """`above` looks at each request: who is above may begin to plan while the actor works."""
        self._gate = gate
        self._session = session
        self._rules = rules
        self._above = above

    def _by(self, call: CallPlace, above: Above) -> Requester:
        layers, *floors = self._rules.lineage(call.agent)
        return Requester(
            call.claim,
            call.message_id,
            call.call_id,
            self._session.project_id,
            layers,
            (*floors, *above.lineage),
            terms=ForwardTerms(call.claim.limits.ask_seconds, call.claim.limits.hops),
            alone=_is_reader(call.claim.actor),
        )

    async def permission(self, request: PermissionRequest, call: CallPlace) -> None:
        above = await self._above()
        try:
            await self._gate.check(request, self._by(call, above))
        except DeniedError as error:
            if not (above.plan or call.agent.plans):
                raise
            raise DeniedError(
                error.message,
                hint=way_out(above.plan or self._rules.plan, below=bool(above.plan)),
                permission=error.permission,
                needs_person=error.needs_person,
            ) from error

    async def question(
        self, questions: tuple[Question, ...], call: CallPlace
    ) -> tuple[tuple[str, ...], ...]:
        shown = [msgspec.to_builtins(question) for question in questions]
        answers = await self._gate.question(shown, self._by(call, Above()))
        return tuple(tuple(chosen) for chosen in answers)


def _is_reader(actor: Actor) -> bool:
    """Whether the actor only reads what another session holds, for one who waits for it, or
    answers a person aside.
    """
    parent = actor.parent
    return actor.aside or (
        parent is not None and parent.session_id != actor.session_id and not actor.background
    )
