"""`roost agents list`."""

import sys
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

from roost.cli.agents.known import ASKS, READS, KnownAgent, known_agents
from roost.cli.failures import tell
from roost.cli.storage import Home, run_at_home
from roost.cli.table import as_json, table
from roost.cli.terminal import columns_of
from roost.cli.trusting import withheld_words
from roost.core.text import terminal_safe

HEAD: Final = ["AGENT", "MODE", "MODEL", "FROM", "MAY", "WHAT"]
_MODEL: Final = HEAD.index("MODEL")
_LEGEND: Final = {
    ASKS: f"{ASKS}: asked about first, where no rule of yours allows it",
    READS: f"{READS}: only commands that change nothing",
}


class ListOptions(Struct, frozen=True, kw_only=True):
    """The command line of `roost agents list`."""

    dir: str | None = None
    format: Literal["text", "json"] = "text"


def execute(given: dict[str, Any]) -> int:
    """List agents, the primary ones first. Raises `UsageError` and `ConfigError`."""
    options = msgspec.convert(given, ListOptions)
    return run_at_home(given, lambda home: _list(home, options))


async def _list(home: Home, options: ListOptions) -> int:
    loaded, known = known_agents(home, options.dir)
    order = {"primary": 0, "all": 1, "subagent": 2}
    shown = sorted(known.values(), key=lambda one: order[one.agent.mode])
    if options.format == "json":
        print(as_json([one.details() for one in shown]))
        return 0
    rows = [HEAD, *(_row(one) for one in shown if not one.agent.hidden)]
    marks = "".join(row[HEAD.index("MAY")] for row in rows)
    if not any(one.agent.model for one in shown):
        rows = [[*row[:_MODEL], *row[_MODEL + 1 :]] for row in rows]
    print("\n".join(table(rows, columns_of(sys.stdout), spare=("FROM", "MODE"))))
    tell("".join(f"{words}\n" for mark, words in _LEGEND.items() if mark in marks))
    if words := withheld_words(loaded):
        tell(terminal_safe(f"note: {words}\n"))
    return 0


def _row(one: KnownAgent) -> list[str]:
    agent = one.agent
    may = ", ".join(one.may) or "read"
    return [
        agent.name,
        agent.mode,
        agent.model or "default",
        " + ".join(one.places),
        may,
        agent.description,
    ]
