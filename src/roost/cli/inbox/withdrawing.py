"""`roost inbox withdraw`: takes back what nobody has heard yet."""

from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

from roost.actors.unheard import withdraw
from roost.cli.inbox.listing import words_of
from roost.cli.inbox.naming import named_message
from roost.cli.storage import Home, database_of, run_at_home
from roost.cli.table import as_json
from roost.core.errors import ConflictError
from roost.core.text import cut, terminal_safe
from roost.db.transaction import Transaction
from roost.inbox.models import InboxRow, State

_SHOWN: Final = 60
"""Characters of the words that are repeated."""
_TOO_LATE: Final[dict[State, str]] = {
    "delivered": "{} was heard already",
    "expired": "{} has expired: nobody heard it in time",
}


class WithdrawOptions(Struct, frozen=True, kw_only=True):
    """The command line of `roost inbox withdraw`."""

    id: str
    format: Literal["text", "json"] = "text"


def execute(given: dict[str, Any]) -> int:
    """Take it back. Raises `NotFoundError`, and `ConflictError` once it was heard."""
    options = msgspec.convert(given, WithdrawOptions)
    return run_at_home(given, lambda home: _withdraw(home, options))


async def _withdraw(home: Home, options: WithdrawOptions) -> int:
    with database_of(home) as database:
        row, is_new = await database.write(lambda tx: _take_back(tx, options.id))
    if options.format == "json":
        print(as_json({"id": row.id, "state": "rejected", "new": is_new}))
        return 0
    said = terminal_safe(cut(" ".join(words_of(row.body).split()), _SHOWN))
    print(f"taken back: {said}" if is_new else f"{row.id} was taken back before: {said}")
    return 0


def _take_back(tx: Transaction, inbox_id: str) -> tuple[InboxRow, bool]:
    """The message, and whether it was taken back just now."""
    row = named_message(tx, inbox_id)
    if row.state == "rejected":
        return row, False
    if words := _TOO_LATE.get(row.state):
        raise ConflictError(words.format(row.id))
    return withdraw(tx, row.id), True
