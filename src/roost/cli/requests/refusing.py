"""`roost requests deny`."""

from typing import Any, Literal

import msgspec
from msgspec import Struct

from roost.cli.requests.pending import named, require_waiting
from roost.cli.requests.told import tell_of
from roost.cli.requests.words import answer_of
from roost.cli.states import Watch
from roost.cli.storage import Home, database_of, run_at_home
from roost.core.errors import ConflictError, UsageError
from roost.core.text import clean
from roost.db.transaction import Transaction
from roost.permissions import asks
from roost.permissions.asks import Ask
from roost.permissions.gate import reply
from roost.sessions import store as sessions


class DenyOptions(Struct, frozen=True, kw_only=True):
    """The command line of `roost requests deny`."""

    id: str
    because: str | None = None
    format: Literal["text", "json"] = "text"


def execute(given: dict[str, Any]) -> int:
    """Refuse. Raises `NotFoundError`, `UsageError`, and `ConflictError` for what was allowed."""
    options = msgspec.convert(given, DenyOptions)
    return run_at_home(given, lambda home: _deny(home, options))


async def _deny(home: Home, options: DenyOptions) -> int:
    watch = home.watch()
    with database_of(home) as database:
        ask, is_new = await database.write(lambda tx: _refuse(tx, options, watch))
    tell_of(ask, options.format, is_new=is_new)
    return 0


def _refuse(tx: Transaction, options: DenyOptions, watch: Watch) -> tuple[Ask, bool]:
    """The request as it is then, and whether it was not refused before."""
    ask = named(tx, options.id)
    because = clean(options.because or "").strip() or None
    if ask.kind == "question" and because:
        raise UsageError(
            f"{ask.id} is a question, which is left unanswered without words",
            hint=f"Say them as the answer: roost requests answer {ask.id} ANSWER",
        )
    if ask.state != "open":
        answer = ask.answer or {}
        if answer.get("reply") == "reject" or answer.get("rejected"):
            return ask, False
        raise ConflictError(f"{ask.id} was {answer_of(ask)} already")
    require_waiting(tx, watch, ask)
    if ask.kind == "question":
        return asks.answer(tx, ask.id, "question", {"rejected": True}), True
    project = sessions.get(tx, ask.session_id).project_id
    return reply(tx, ask.id, "reject", because, project), True
