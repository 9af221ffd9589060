"""The shapes of OpenCode 1.18's second API (`/api/*`), as far as its terminal interface reads it at
the start. Every answer says for which place it holds.
"""

from collections.abc import Mapping
from typing import Any, Final, Generic, Literal, TypeVar

import msgspec
from msgspec import Struct

from roost.core.wire_names import wire_name
from roost.llm.known_providers import KNOWN, KnownProvider
from roost.server.wire import AgentView, CommandView, Cost, Limits, Media, ModelView, ProviderView

T = TypeVar("T")


class PlaceProject(Struct, frozen=True):
    """The project of a place; `directory` is its root."""

    id: str
    directory: str


class Location(Struct, frozen=True):
    """The place that an answer is about."""

    directory: str
    project: PlaceProject


class Located(Struct, Generic[T], frozen=True):
    """What there is in a place."""

    location: Location
    data: list[T]


class ModelRef(Struct, frozen=True, rename=wire_name):
    """A model by its names."""

    id: str
    provider_id: str


class Sent(Struct, frozen=True):
    """What goes along with requests to a model: never told."""

    headers: dict[str, str] = {}
    body: dict[str, Any] = {}


class LocatedRule(Struct, frozen=True):
    """A permission rule."""

    action: str
    resource: str
    effect: str


class LocatedAgent(Struct, frozen=True, omit_defaults=True):
    """An agent."""

    id: str
    request: Sent
    mode: Literal["subagent", "primary", "all"]
    hidden: bool
    permissions: list[LocatedRule]
    model: ModelRef | None = None
    description: str | None = None
    color: str | None = None
    steps: int | None = None


class LocatedCommand(Struct, frozen=True, omit_defaults=True):
    """A command."""

    name: str
    template: str
    description: str | None = None
    agent: str | None = None
    model: ModelRef | None = None
    subtask: bool | None = None


class ProviderApi(Struct, frozen=True):
    """How a provider is reached."""

    package: str
    url: str
    type: str = "aisdk"


class LocatedProvider(Struct, frozen=True):
    """A provider that is set up."""

    id: str
    name: str
    api: ProviderApi
    request: Sent = Sent()


class ModelApi(ProviderApi, frozen=True, kw_only=True):
    """How a model is reached; `id` is its name there."""

    id: str


class Abilities(Struct, frozen=True):
    """What a model takes and gives."""

    tools: bool
    input: list[str]
    output: list[str]


class Released(Struct, frozen=True):
    """Milliseconds since the epoch; 0: unknown."""

    released: int = 0


class LocatedVariant(Struct, frozen=True):
    """A variant of a model."""

    id: str
    headers: dict[str, str] = {}
    body: dict[str, Any] = {}


class LocatedModel(Struct, frozen=True, rename=wire_name):
    """A model that can be chosen."""

    id: str
    provider_id: str
    name: str
    api: ModelApi
    capabilities: Abilities
    variants: list[LocatedVariant]
    cost: list[Cost]
    limit: Limits
    request: Sent = Sent()
    time: Released = Released()
    status: str = "active"
    enabled: bool = True


class SignIn(Struct, frozen=True, omit_defaults=True):
    """A way to give a key: with a form, or in variables of the environment."""

    type: Literal["key", "env"]
    names: list[str] = []


class Connection(Struct, frozen=True):
    """The variable that holds the key."""

    name: str
    type: str = "env"


class Integration(Struct, frozen=True):
    """A provider that Roost knows, and how it gets its key."""

    id: str
    name: str
    methods: list[SignIn]
    connections: list[Connection]


def agent(view: AgentView) -> LocatedAgent:
    """An agent in this shape."""
    model = view.model and ModelRef(view.model.model_id, view.model.provider_id)
    return LocatedAgent(
        id=view.name,
        request=Sent(),
        mode=view.mode,
        hidden=view.hidden,
        permissions=[LocatedRule(r.permission, r.pattern, r.action) for r in view.permission],
        model=model,
        description=view.description,
        color=view.color,
        steps=view.steps,
    )


def command(view: CommandView) -> LocatedCommand:
    """A command in this shape."""
    provider, _, name = (view.model or "").partition("/")
    return LocatedCommand(
        name=view.name,
        template=view.template,
        description=view.description,
        agent=view.agent,
        model=ModelRef(name, provider) if name else None,
        subtask=view.subtask,
    )


def provider(view: ProviderView) -> LocatedProvider:
    """A provider in this shape; it is reached as its first model is."""
    first = next(iter(view.models.values())).api
    return LocatedProvider(view.id, view.name, ProviderApi(first.npm, first.url))


def model(view: ModelView) -> LocatedModel:
    """A model in this shape."""
    capabilities = view.capabilities
    return LocatedModel(
        id=view.id,
        provider_id=view.provider_id,
        name=view.name,
        api=ModelApi(id=view.api.id, package=view.api.npm, url=view.api.url),
        capabilities=Abilities(
            capabilities.toolcall, _named(capabilities.input), _named(capabilities.output)
        ),
        variants=[LocatedVariant(name) for name in view.variants],
        cost=[view.cost],
        limit=view.limit,
    )


def _named(media: Media) -> list[str]:
    return [name for name, is_there in msgspec.structs.asdict(media).items() if is_there]


_FORM: Final = SignIn("key")


def integrations(environment: Mapping[str, str]) -> list[Integration]:
    """The providers that take a key."""
    return [_integration(known, environment) for known in KNOWN.values() if known.env]


def _integration(known: KnownProvider, environment: Mapping[str, str]) -> Integration:
    given = [Connection(name) for name in known.env if environment.get(name, "").strip()]
    return Integration(known.id, known.name, [_FORM, SignIn("env", list(known.env))], given)
