"""Writes in the name of a turn: refused once another process has taken its actor over."""

from collections.abc import Callable
from typing import TypeVar

from roost.actors.models import Claim
from roost.actors.store import check_held
from roost.db.database import Database
from roost.db.transaction import Transaction

T = TypeVar("T")


async def write_fenced(database: Database, claim: Claim, change: Callable[[Transaction], T]) -> T:
    """Run `change` as one transaction, if `claim` still holds its actor.

    Raises `StaleFenceError`, and then nothing is written.
    """

    def checked(tx: Transaction) -> T:
        check_held(tx, claim)
        return change(tx)

    return await database.write(checked)
