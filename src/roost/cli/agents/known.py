"""The agents of a configuration, with where each is defined and which tools and rules it has."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct

from roost.cli.folders import working_folder
from roost.cli.storage import Home
from roost.cli.trusting import load_config
from roost.config.loaded import LayerKind, Loaded
from roost.config.paths import home_of
from roost.context.agents import Agent, agents
from roost.permissions.layers import layers_for
from roost.permissions.models import Layer, PermissionRequest, Rule, Traits
from roost.permissions.rules import evaluate, is_hidden, permission_of, rules_of
from roost.tools.registry import NAMES

_KINDS: Final[dict[LayerKind, str]] = {
    "global": "yours",
    "file": "ROOST_CONFIG",
    "project": "project",
    "inline": "ROOST_CONFIG_CONTENT",
}
_TRIED: Final = {
    "edit": PermissionRequest("edit", ("some/file",)),
    "run": PermissionRequest("bash", ("some-command",)),
    "fetch": PermissionRequest("webfetch", ("https://example.com",)),
}
"""What is tried to tell what an agent may do, by the word for it."""
_READING: Final = PermissionRequest("bash", ("ls",), traits=(Traits(read_only=True),))
ASKS: Final = "?"
"""Behind what is asked about first."""
READS: Final = "~"
"""Behind commands of which only those may be run that change nothing."""


class KnownAgent(Struct, frozen=True):
    """An agent as a configuration leaves it."""

    agent: Agent
    sources: tuple[str, ...]
    """The files that say something of it; none of one that is as built in."""
    places: tuple[str, ...]
    """The same, in a word each."""
    tools: tuple[str, ...]
    """Those that it is shown, on a model that takes them all."""
    may: tuple[str, ...]
    """What it may do beside reading: `edit`, `run?`, `fetch?`."""
    rules: tuple[Rule, ...]
    """Its own, behind those that hold for all."""

    def details(self) -> dict[str, Any]:
        """All of it, as JSON shows it."""
        shown = msgspec.to_builtins(self.agent)
        for name in ("permission", "native", "page", "remark"):
            shown.pop(name)
        return {
            **shown,
            "builtIn": self.agent.native,
            "sources": self.sources,
            "tools": self.tools,
            "may": self.may,
            "rules": msgspec.to_builtins(self.rules),
        }


def known_agents(home: Home, folder: str | None) -> tuple[Loaded, dict[str, KnownAgent]]:
    """The configuration of `folder` (None: the current one) and its agents, by name.

    Raises `UsageError` and `ConfigError`.
    """
    loaded = load_config(working_folder(folder), home.environ, home.paths)
    place = home_of(home.environ)
    return loaded, {name: _known(loaded, one, place) for name, one in agents(loaded).items()}


def _known(loaded: Loaded, agent: Agent, home: Path) -> KnownAgent:
    own = rules_of(agent.permission, home)
    layers = layers_for(loaded.permissions, home, agent=agent.name, agent_rules=own)
    said = [one for one in loaded.layers if agent.name in _agents_in(one.value)]
    built_in = ["built in"] if agent.native else []
    tools = tuple(
        name
        for name in NAMES
        if agent.may_call(name) and not is_hidden(permission_of(name), layers)
    )
    return KnownAgent(
        agent=agent,
        sources=tuple(one.source for one in said),
        places=tuple(dict.fromkeys([*built_in, *(_KINDS[one.kind] for one in said)])),
        tools=tools,
        may=tuple(_may(agent, layers)),
        rules=tuple(rule for layer in layers if layer.rank == "agent" for rule in layer.rules),
    )


def _agents_in(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    return settings.get("agent", {})


def _may(agent: Agent, layers: tuple[Layer, ...]) -> list[str]:
    found: list[str] = []
    for word, request in _TRIED.items():
        if not agent.may_call(request.permission):
            continue
        action = evaluate(request, layers).action
        if action != "deny":
            found.append(word + ASKS * (action == "ask"))
        elif word == "run" and evaluate(_READING, layers).action == "allow":
            found.append(word + READS)
    return found
