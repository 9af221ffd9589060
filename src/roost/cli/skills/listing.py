"""`roost skills list`."""

import sys
from typing import Any, Literal

import msgspec
from msgspec import Struct

from roost.cli.failures import tell
from roost.cli.skills.found import details, skills_in
from roost.cli.storage import Home, run_at_home
from roost.cli.table import as_json, table
from roost.cli.terminal import columns_of
from roost.cli.trusting import withheld_words
from roost.core.amounts import counted
from roost.core.text import terminal_safe


class ListOptions(Struct, frozen=True, kw_only=True):
    """The command line of `roost skills list`."""

    dir: str | None = None
    format: Literal["text", "json"] = "text"


def execute(given: dict[str, Any]) -> int:
    """List skills by name. Raises `UsageError` and `ConfigError`."""
    options = msgspec.convert(given, ListOptions)
    return run_at_home(given, lambda home: _list(home, options))


async def _list(home: Home, options: ListOptions) -> int:
    loaded, skills = skills_in(home, options.dir)
    if options.format == "json":
        print(as_json([details(one) for one in skills]))
        return 0
    rows = [["SKILL", "FROM", "WHAT"]]
    rows += [[one.name, one.owner, one.description] for one in skills]
    print("\n".join(table(rows, columns_of(sys.stdout), spare=("FROM",))))
    if skills.broken:
        words = counted(len(skills.broken), "SKILL.md cannot be used", "SKILL.md cannot be used")
        tell(f"note: {words}; `roost doctor` says why\n")
    if words := withheld_words(loaded):
        tell(terminal_safe(f"note: {words}\n"))
    return 0
