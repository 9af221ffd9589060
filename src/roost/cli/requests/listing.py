"""`roost requests list`."""

import sys
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

from roost.cli.failures import tell
from roost.cli.requests.pending import Pending, pending
from roost.cli.requests.words import what
from roost.cli.sessions.naming import named
from roost.cli.short_ids import shown_ids
from roost.cli.storage import Home, database_of, run_at_home
from roost.cli.table import age, as_json, table
from roost.cli.terminal import columns_of
from roost.core.clock import now_ms

HEAD: Final = ["REQUEST", "ASKED", "SESSION", "ACTOR", "WHAT"]
_WAYS: Final[dict[str, str]] = {
    "permission": "agree with: roost requests allow ID (`deny` refuses, `show` tells all of it)",
    "question": "answer with: roost requests answer ID ANSWER",
}


class ListOptions(Struct, frozen=True, kw_only=True):
    """The command line of `roost requests list`."""

    session: str | None = None
    format: Literal["text", "json"] = "text"


def execute(given: dict[str, Any]) -> int:
    """List what waits, the oldest first. Raises `NotFoundError` and `UsageError`."""
    options = msgspec.convert(given, ListOptions)
    return run_at_home(given, lambda home: _list(home, options))


async def _list(home: Home, options: ListOptions) -> int:
    watch = home.watch()
    word = options.session
    with database_of(home) as database:
        session = None if word is None else await database.read(lambda db: named(db, word))
        within = session.id if session else None
        found = await database.read(lambda db: pending(db, watch, within))
    if options.format == "json":
        print(as_json([one.details() for one in found]))
    elif found:
        print("\n".join(_table(found, columns_of(sys.stdout))))
        kinds = {one.ask.kind for one in found}
        tell("".join(f"{way}\n" for kind, way in _WAYS.items() if kind in kinds))
    else:
        tell("Nobody asks you anything.\n")
    return 0


def _table(found: list[Pending], width: int | None) -> list[str]:
    requests = shown_ids((one.ask.id for one in found), width)
    sessions = shown_ids((one.ask.session_id for one in found), width)
    rows = [
        [
            requests[one.ask.id],
            age(one.ask.created, now_ms()),
            sessions[one.ask.session_id],
            one.ask.actor_id,
            what(one.ask),
        ]
        for one in found
    ]
    return table([HEAD, *rows], width)
