"""Agents: named configurations that an actor runs as; built-in ones and those of the config."""

from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

from roost.config.models import Config
from roost.core.errors import ConfigError

DEFAULT_AGENT: Final = "build"


class Agent(Struct, frozen=True, kw_only=True):
    """How an actor thinks and what it may do."""

    name: str
    description: str = ""
    mode: Literal["primary", "subagent", "all"] = "all"
    native: bool = False
    hidden: bool = False
    prompt: str = ""
    """Replaces the standard system prompt."""
    model: str | None = None
    variant: str | None = None
    temperature: float | None = None
    top_p: float | None = None
    steps: int | None = None
    """Most model calls of a turn."""
    color: str | None = None
    permission: Any = None
    """As configured, for showing; what decides are the layers of `Loaded.permissions`."""
    options: dict[str, Any] = {}
    """Extra fields of every request body."""


_BUILT_IN: Final = (
    Agent(
        name=DEFAULT_AGENT,
        description="Does the work: reads, edits, runs commands as the permissions allow.",
        mode="primary",
        native=True,
    ),
)


def agents(config: Config) -> dict[str, Agent]:
    """Every agent by name; the config changes built-in ones field by field, or disables them."""
    known = {agent.name: agent for agent in _BUILT_IN}
    for name, entry in (config.agent or {}).items():
        if entry.disable:
            known.pop(name, None)
            continue
        given = {
            field: value
            for field in Agent.__struct_fields__
            if (value := getattr(entry, field, None)) is not None
        }
        base = known.get(name, Agent(name=name))
        known[name] = msgspec.structs.replace(base, **given)
    return known


def choose_agent(config: Config, wanted: str | None) -> Agent:
    """The agent `wanted`, else the configured default, else `build`.

    Raises `ConfigError` naming those there are.
    """
    known = agents(config)
    name = wanted or config.default_agent or DEFAULT_AGENT
    if (agent := known.get(name)) is None:
        raise ConfigError(
            f"there is no agent {name!r}", hint=f"There are: {', '.join(sorted(known))}."
        )
    return agent
