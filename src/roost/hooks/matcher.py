"""Whether a hook is for an actor. Pure."""

from typing import Final

from roost.config.hooks import HookPoint, Matcher
from roost.hooks.models import Mode

BUILT_IN_AGENTS: Final = frozenset(
    {
        "main",
        "build",
        "plan",
        "compose",
        "orchestrator",
        "general",
        "explore",
        "title",
        "summary",
        "compaction",
        "checkpoint-writer",
        "dream",
        "distill",
    }
)
"""Agents that a hook at `actor.*` does not see unless its matcher names them.

Beside those of `context.agents` these are the names under which OpenCode and its kin run agents of
their own, for titles, summaries and memory: a hook that was written for those never sees them.
"""
TASK_WORKERS: Final = Matcher(
    exclude_only=(
        "checkpoint-writer",
        "title",
        "summary",
        "dream",
        "distill",
        "compaction",
        "main",
        "build",
        "plan",
    )
)
"""Who works on tasks that others gave: of the built-in agents `general`, `explore` and the like."""
ANYONE: Final = Matcher(exclude_only=())
"""Matches every actor."""


def applies(matcher: Matcher | None, on: HookPoint, agent: str, mode: Mode) -> bool:
    """Whether a hook with `matcher` runs at `on` for an actor of `mode` that runs as `agent`."""
    if matcher is None:
        matcher = Matcher() if on.startswith("actor.") else ANYONE
    if matcher.mode is not None and matcher.mode != mode:
        return False
    if matcher.exclude_only is not None:
        return agent not in matcher.exclude_only
    return agent not in matcher.exclude and _chosen(matcher.agent, agent)


def _chosen(wanted: str | tuple[str, ...] | None, agent: str) -> bool:
    if wanted is None:
        return agent not in BUILT_IN_AGENTS
    if not isinstance(wanted, str):
        return agent in wanted
    if agent in BUILT_IN_AGENTS and agent not in wanted.split("|"):
        return False
    # Imported here: most matchers hold no pattern.
    from roost.config.pattern import name_pattern

    return name_pattern(wanted).matches(agent)
