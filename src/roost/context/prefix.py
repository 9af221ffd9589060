"""How the requests of an actor begin: its system prompt and its tools, pinned so that a provider
finds them in its cache at every step, in every turn, after every restart. Pure.

A prefix belongs to a session and a profile, that is to everything that was chosen: model, agent,
what a prompt added, which tools. What is found in files (instructions) is read when the prefix is
pinned and does not change it any more; only another set of tools makes a new one.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from roost.context.agents import Agent
from roost.llm.models import Model, ToolSpec

T = TypeVar("T")


class Prefix(Struct, frozen=True, kw_only=True):
    """A pinned beginning."""

    profile: str
    system: tuple[str, ...]
    tools: tuple[str, ...]
    """Names, in the order in which the model is shown them."""
    tools_hash: str
    revision: int = 1
    """Counts how often the tools of this profile have changed."""


class Wanted(Struct, frozen=True, kw_only=True):
    """What was chosen, and so decides how requests begin."""

    agent: Agent
    model: Model
    extra: str | None
    """What the prompt adds to the system prompt."""
    tools: tuple[ToolSpec, ...]


def profile_of(wanted: Wanted) -> str:
    """What was chosen, as one short word; of the tools their names count, of the agent its words.

    Who switches between two agents that say the same goes on with the same beginning.
    """
    agent = wanted.agent
    chosen = (
        wanted.model.ref,
        (agent.prompt, agent.page, agent.remark),
        wanted.extra or "",
        sorted(one.name for one in wanted.tools),
    )
    return _hash(chosen)


def hash_of(tools: Sequence[ToolSpec]) -> str:
    """Tells sets of tools apart, by names, descriptions and schemas, whatever their order."""
    return _hash(sorted(((one.name, one.description, one.schema) for one in tools), key=_name))


def _name(shown: tuple[str, str, dict[str, Any]]) -> str:
    return shown[0]


def _hash(value: object) -> str:
    return hashlib.sha256(msgspec.json.encode(value, order="sorted")).hexdigest()[:32]


def made_of(wanted: Wanted, system: tuple[str, ...]) -> Prefix:
    """The prefix for `wanted` where none is pinned, with `system` as it reads now."""
    return Prefix(
        profile=profile_of(wanted),
        system=system,
        tools=tuple(one.name for one in wanted.tools),
        tools_hash=hash_of(wanted.tools),
    )


def holding(known: Prefix | None, new: Prefix) -> Prefix:
    """The prefix that holds: `known` while its tools are the same, else `new` in its place."""
    if known is None:
        return new
    if known.tools_hash == new.tools_hash:
        return known
    return msgspec.structs.replace(new, revision=known.revision + 1)


def in_order(prefix: Prefix, tools: Mapping[str, T]) -> dict[str, T]:
    """`tools` in the order of `prefix`, which has the same ones."""
    return {name: tools[name] for name in prefix.tools}
