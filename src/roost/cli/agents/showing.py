"""`roost agents show`: one agent, with all that is known of it."""

import os
import sys
from collections.abc import Iterator
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

from roost.cli.agents.known import KnownAgent, known_agents
from roost.cli.missing import not_there
from roost.cli.storage import Home, run_at_home
from roost.cli.table import as_json, table
from roost.cli.terminal import Look, look_of
from roost.core.amounts import counted
from roost.core.text import terminal_safe

_SHOWN: Final = 12
"""Lines of its prompt that are shown."""


class ShowOptions(Struct, frozen=True, kw_only=True):
    """The command line of `roost agents show`."""

    name: str
    dir: str | None = None
    format: Literal["text", "json"] = "text"


def execute(given: dict[str, Any]) -> int:
    """Show one agent. Raises `NotFoundError`, `UsageError` and `ConfigError`."""
    options = msgspec.convert(given, ShowOptions)
    return run_at_home(given, lambda home: _show(home, options))


async def _show(home: Home, options: ShowOptions) -> int:
    _, known = known_agents(home, options.dir)
    if (one := known.get(options.name)) is None:
        raise not_there("agent", options.name, sorted(known))
    if options.format == "json":
        print(as_json(one.details()))
    else:
        print("\n".join(_lines(one, look_of(sys.stdout, os.environ))))
    return 0


def _lines(one: KnownAgent, look: Look) -> Iterator[str]:
    agent = one.agent
    yield look.paint(terminal_safe(agent.name), "bold")
    if agent.description:
        yield terminal_safe(agent.description)
    yield ""
    for name, value in _facts(one):
        yield f"{name:<8} {terminal_safe(value)}"
    if one.rules:
        yield from ("", "Its own rules, behind those of `permission` in `roost config`:")
        rules = [[f"  {rule.permission}", rule.pattern, rule.action] for rule in one.rules]
        yield from table(rules)
    if agent.prompt:
        yield from ("", "Its prompt, in place of the usual one:", *_prompt(agent.prompt, look))


def _facts(one: KnownAgent) -> Iterator[tuple[str, str]]:
    agent = one.agent
    mode = {
        "primary": "primary: you prompt it",
        "subagent": "subagent: other actors start it",
        "all": "all: you prompt it, and other actors start it",
    }
    yield "mode", mode[agent.mode] + (" (hidden)" if agent.hidden else "")
    variant = f", variant {agent.variant}" if agent.variant else ""
    yield "model", (agent.model or "the one in use") + variant
    for name, value in (("temp.", agent.temperature), ("top_p", agent.top_p)):
        if value is not None:
            yield name, f"{value:g}"
    if agent.steps is not None:
        yield "steps", f"at most {counted(agent.steps, 'model call')} a turn"
    built_in = ["built in"] if agent.native else []
    yield "from", ", ".join([*built_in, *one.sources])
    yield "tools", ", ".join(one.tools) or "none"


def _prompt(text: str, look: Look) -> Iterator[str]:
    lines = terminal_safe(text.strip()).split("\n")
    yield from (f"  {line}" for line in lines[:_SHOWN])
    if len(lines) > _SHOWN:
        rest = counted(len(lines) - _SHOWN, "more line")
        yield look.paint(f"  … {rest} (--format json shows all)", "dim")
