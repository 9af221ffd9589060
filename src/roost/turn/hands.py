"""Which tools an actor may use: those of its row, of its agent, and of who started it. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from roost.actors.models import Actor
from roost.context.agents import Agent
from roost.tools.contract import Tool


def refusal(tool: str, agent: Agent, actor: Actor, lenders: Sequence[Agent]) -> str:
    """Why `actor`, which works as `agent`, does not run a call of `tool`; empty if it may.

    `lenders`: the agents of those above it whose lists of tools hold for it too.
    """
    if not agent.may_call(tool):
        return f"Not run: the agent {agent.name} does not use the tool {tool}."
    if actor.tools is not None and tool not in actor.tools:
        return f"Not run: you were started without the tool {tool}."
    mean = next((one.name for one in lenders if not one.lends(tool)), None)
    if mean is None:
        return ""
    return f"Not run: {mean}, which started you, does not use the tool {tool}; nor may you."


def lent(
    tools: Mapping[str, Tool[Any]], actor: Actor, lenders: Sequence[Agent]
) -> Mapping[str, Tool[Any]]:
    """Those of `tools`, which its agent may use, that `actor` is left."""
    if actor.tools is None and not lenders:
        return tools
    return {
        name: tool
        for name, tool in tools.items()
        if (actor.tools is None or name in actor.tools) and all(one.lends(name) for one in lenders)
    }
