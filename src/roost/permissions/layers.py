"""The layers of rules that hold for an agent: defaults, configuration, agent, session."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from roost.config.loaded import LayerKind, PermissionLayer
from roost.config.sources import PROJECT_FILES, PROJECT_FOLDERS
from roost.permissions.models import Layer, Rank, Rule
from roost.permissions.rules import rules_of, rules_of_tools
from roost.permissions.wildcards import OUTSIDE, READ_ONLY

_EXAMPLES: Final = ("*.env.example", "*.env.sample", "*.env.template")


def _defaults() -> tuple[Rule, ...]:
    rules = [Rule("*", "*", "ask")]
    rules += [Rule(name, "*", "allow") for name in ("read", "edit", "glob", "grep", "list", "lsp")]
    rules += [
        Rule(name, "*", "allow") for name in ("actor", "session", "team", "skill", "question")
    ]
    rules += [Rule(name, "*", "allow") for name in ("memory", "history")]
    rules += [Rule("memory", "global/*", "ask")]
    rules += [Rule("read", pattern, "ask") for pattern in ("*.env", "*.env.*", "*.envrc")]
    rules += [Rule("read", pattern, "allow") for pattern in _EXAMPLES]
    # What these hold decides what Roost runs and allows next time.
    for name in (*PROJECT_FILES, *(f"{folder}/*" for folder in PROJECT_FOLDERS)):
        rules += [Rule("edit", pattern, "ask") for pattern in (name, f"*/{name}")]
    rules += [Rule("edit", pattern, "allow") for pattern in (".roost/plans/*", "*/.roost/plans/*")]
    rules += [Rule(name, OUTSIDE, "ask") for name in ("edit", "session")]
    rules += [Rule("bash", "*", "ask"), Rule("bash", READ_ONLY, "allow")]
    return tuple(rules)


DEFAULTS: Final = Layer("defaults", "defaults", _defaults())
"""Reading is free but for secrets, editing in the project but for configuration, shell commands
that change nothing; all else asks: other commands, paths outside, the network, repeated calls."""

_RANKS: Final[dict[LayerKind, Rank]] = {
    "global": "user",
    "file": "user",
    "inline": "user",
    "project": "project",
}
_USER_KINDS: Final = {"global", "file", "inline"}


def layers_for(
    permissions: Sequence[PermissionLayer],
    home: Path,
    *,
    agent: str | None = None,
    agent_rules: tuple[Rule, ...] = (),
    session_rules: tuple[Rule, ...] = (),
) -> tuple[Layer, ...]:
    """All layers for an actor that runs as `agent`, lowest authority first.

    `permissions` is `Loaded.permissions`. `agent_rules` is what the agent is built in with; what
    the user's configuration says about the agent stands in the same layer behind it, so that a
    user can loosen a built-in agent, and a repository cannot lift what the user denied.
    """
    found = [DEFAULTS]
    found += [_layer(one, home) for one in permissions if one.agent is None]
    own = [one for one in permissions if agent is not None and one.agent == agent]
    users = [rule for one in own if one.kind in _USER_KINDS for rule in _rules(one, home)]
    if agent_rules or users:
        found.append(Layer(f"agent {agent}", "agent", (*agent_rules, *users)))
    for one in own:
        if one.kind == "project":
            name = f"agent {agent} in {one.source}"
            rules = _rules(one, home)
            found.append(Layer(name, "agent", rules, tighten_only=not one.trusted))
    if session_rules:
        found.append(Layer("session", "session", session_rules))
    return tuple(found)


def _layer(one: PermissionLayer, home: Path) -> Layer:
    rank = _RANKS[one.kind]
    return Layer(one.source, rank, _rules(one, home), tighten_only=not one.trusted)


def _rules(one: PermissionLayer, home: Path) -> tuple[Rule, ...]:
    return rules_of_tools(one.tools) + rules_of(one.permission, home)
