"""`roost requests allow`."""

from typing import Any, Literal

import msgspec
from msgspec import Struct

from roost.cli.requests.pending import named, require_waiting
from roost.cli.requests.told import tell_of
from roost.cli.requests.words import answer_of, patterns_of
from roost.cli.states import Watch
from roost.cli.storage import Home, database_of, run_at_home
from roost.core.errors import ConflictError, UsageError
from roost.db.transaction import Transaction
from roost.permissions.asks import Ask
from roost.permissions.gate import reply
from roost.sessions import store as sessions


class AllowOptions(Struct, frozen=True, kw_only=True):
    """The command line of `roost requests allow`."""

    id: str
    always: bool = False
    format: Literal["text", "json"] = "text"


def execute(given: dict[str, Any]) -> int:
    """Agree. Raises `NotFoundError`, `UsageError`, and `ConflictError` for what was refused."""
    options = msgspec.convert(given, AllowOptions)
    return run_at_home(given, lambda home: _allow(home, options))


async def _allow(home: Home, options: AllowOptions) -> int:
    watch = home.watch()
    with database_of(home) as database:
        ask, is_new = await database.write(lambda tx: _agree(tx, options, watch))
    tell_of(ask, options.format, is_new=is_new)
    if options.always and is_new and options.format == "text":
        print(f"from now on allowed in this project: {', '.join(patterns_of(ask, 'always'))}")
    return 0


def _agree(tx: Transaction, options: AllowOptions, watch: Watch) -> tuple[Ask, bool]:
    """The request as it is then, and whether it was not allowed before."""
    ask = named(tx, options.id)
    if ask.kind == "question":
        raise UsageError(
            f"{ask.id} is a question", hint=f"Answer it: roost requests answer {ask.id} ANSWER"
        )
    if ask.state != "open":
        if (ask.answer or {}).get("reply") in {"once", "always"} and not options.always:
            return ask, False
        raise ConflictError(f"{ask.id} was {answer_of(ask)} already")
    require_waiting(tx, watch, ask)
    if options.always and not patterns_of(ask, "always"):
        raise UsageError(
            f"{ask.id} is one that a person has to agree to each time",
            hint="Leave --always out to allow it this once.",
        )
    project = sessions.get(tx, ask.session_id).project_id
    return reply(tx, ask.id, "always" if options.always else "once", None, project), True
