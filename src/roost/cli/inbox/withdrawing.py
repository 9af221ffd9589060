"""`roost inbox withdraw`: takes back what nobody has heard yet."""

from typing import Any, Final

import msgspec
from msgspec import Struct

from roost.cli.inbox.listing import words_of
from roost.cli.storage import Home, database_of, run_at_home
from roost.core.text import cut, terminal_safe
from roost.inbox.changes import withdraw

_SHOWN: Final = 60
"""Characters of the words that are repeated."""


class WithdrawOptions(Struct, frozen=True, kw_only=True):
    """The command line of `roost inbox withdraw`."""

    id: str


def execute(given: dict[str, Any]) -> int:
    """Take it back. Raises `NotFoundError`, and `ConflictError` once it was heard."""
    options = msgspec.convert(given, WithdrawOptions)
    return run_at_home(given, lambda home: _withdraw(home, options))


async def _withdraw(home: Home, options: WithdrawOptions) -> int:
    with database_of(home) as database:
        row = await database.write(lambda tx: withdraw(tx, options.id))
    print(f"taken back: {terminal_safe(cut(' '.join(words_of(row.body).split()), _SHOWN))}")
    return 0
