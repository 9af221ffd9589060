"""Agents: named configurations that an actor runs as; built-in ones and those of the config."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

from roost.config.loaded import Loaded
from roost.config.models import AgentConfig, PermissionMap
from roost.core.errors import ConfigError
from roost.core.text import echo

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
    page: str = ""
    """The page of `prompts/` that does so where `prompt` is empty."""
    remark: str = ""
    """A page of `prompts/` that stands behind the system prompt and all instructions."""
    model: str | None = None
    """`provider/model`, or the name of a group."""
    variant: str | None = None
    temperature: float | None = None
    top_p: float | None = None
    steps: int | None = None
    """Most model calls of a turn."""
    color: str | None = None
    permission: PermissionMap | None = None
    """What the agent is built in with: its rules in `layers_for`. What the configuration says of it
    comes behind, from `Loaded.permissions`."""
    options: dict[str, Any] = {}
    """Extra fields of every request body."""
    tool_allowlist: tuple[str, ...] | None = None
    """The only tools that it is shown and may call; None: all that the rules leave. See `lends`."""
    max_mode: bool | int | None = None
    """Candidates that each of its steps is chosen from; true: as many as the config says; None: as
    the config says."""
    plans: bool = False
    """It changes nothing but the plan of its session, nor does anybody whom it starts; no
    configuration lifts that."""
    completion_gate: bool = False
    """Its turn ends only when its tasks are done, and its last words begin with a status."""

    def may_call(self, tool: str) -> bool:
        """Whether `tool` is on its list. `edit` stands for every tool that edits files."""
        if self.tool_allowlist is None:
            return tool not in _LISTED_ONLY
        names = (tool, "edit") if tool in _EDITING else (tool,)
        return any(fnmatchcase(name, one) for name in names for one in self.tool_allowlist)

    def lends(self, tool: str) -> bool:
        """Whether those that it starts may call `tool`: its list holds for them too, unless it
        directs sessions. Such a one has others do what it does not do itself.
        """
        listed = self.tool_allowlist is not None
        return not listed or self.may_call(_DIRECTING) or self.may_call(tool)


_DIRECTING: Final = "session"
_LISTED_ONLY: Final = {_DIRECTING}
"""Tools of those agents alone that list them."""
_EDITING: Final = {"write", "edit", "multiedit", "apply_patch"}
_READING: Final = ("read", "glob", "grep", "list", "webfetch", "memory", "history")
_READ_ONLY_SHELL: Final[PermissionMap] = {
    "bash": {"@changing": "deny"},
    "memory": {"@changing": "deny"},
}
_PLANS: Final[PermissionMap] = {
    "edit": {
        "*": "deny",
        ".roost/plans/*": "allow",
        "*/.roost/plans/*": "allow",
        "@outside": "deny",
    }
}

_BUILT_IN: Final = (
    Agent(
        name=DEFAULT_AGENT,
        description="Does the work: reads, edits, runs commands as the permissions allow.",
        mode="primary",
        native=True,
    ),
    Agent(
        name="plan",
        description="Looks and thinks and changes nothing; writes its plan to .roost/plans/.",
        mode="primary",
        native=True,
        plans=True,
        permission={**_PLANS, **_READ_ONLY_SHELL},
    ),
    Agent(
        name="orchestrator",
        description="Directs other sessions that do the work, and edits nothing itself.",
        mode="primary",
        native=True,
        page="orchestrator",
        tool_allowlist=(*_READING, "task", "question", "actor", "session", "team", "skill"),
    ),
    Agent(
        name="general",
        description=(
            "Carries out a piece of work on its own, of any kind and of several steps, and reports"
            " what came of it. Use it for parts that can be done side by side."
        ),
        mode="subagent",
        native=True,
        remark="general",
        permission={"question": "deny"},
        completion_gate=True,
    ),
    Agent(
        name="explore",
        description=(
            "Finds things out and changes nothing: where something is defined or used, how a part"
            " works, what a page says. Say how thorough it is to be."
        ),
        mode="subagent",
        native=True,
        page="explore",
        permission={"edit": "deny", "question": "deny", **_READ_ONLY_SHELL},
        tool_allowlist=(*_READING, "bash", "actor"),
    ),
)


def agents(loaded: Loaded) -> dict[str, Agent]:
    """Every agent by name; the config changes built-in ones field by field, or disables them.

    An agent that is named by nothing but a repository that is not trusted is left out.
    """
    known = {agent.name: agent for agent in _BUILT_IN}
    trusted = {
        name for layer in loaded.layers if layer.trusted for name in layer.value.get("agent", {})
    }
    for name, entry in loaded.config.agent.items():
        if name not in known and name not in trusted:
            continue
        if entry.disable:
            known.pop(name, None)
            continue
        known[name] = _changed(known.get(name, Agent(name=name)), entry)
    return known


_OF_CONFIG: Final = tuple(
    name
    for name in Agent.__struct_fields__
    if name in AgentConfig.__struct_fields__ and name != "permission"
)


def _changed(base: Agent, entry: AgentConfig) -> Agent:
    given = {name: value for name in _OF_CONFIG if (value := getattr(entry, name)) is not None}
    if entry.prompt:  # whoever writes a prompt of their own wants that one alone
        given |= {"page": "", "remark": ""}
    return msgspec.structs.replace(base, **given)


def choose_agent(known: Mapping[str, Agent], wanted: str | None) -> Agent:
    """The agent `wanted`. None: `build`. Raises `ConfigError` naming those there are."""
    name = wanted or DEFAULT_AGENT
    if (agent := known.get(name)) is None:
        raise ConfigError(f"there is no agent {echo(name)!r}", hint=choices(known))
    return agent


def choices(known: Mapping[str, Agent]) -> str:
    """Which agents there are, for one who named another: those that talk with a person first."""
    shown = sorted((one for one in known.values() if not one.hidden), key=lambda one: one.name)
    talking = ", ".join(one.name for one in shown if one.mode != "subagent")
    others = ", ".join(one.name for one in shown if one.mode == "subagent")
    return f"There are: {talking}." + (f" These start as subagents: {others}." if others else "")
