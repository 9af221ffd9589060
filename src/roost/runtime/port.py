"""What every port of a tool is: one call's way to the rest of the runtime."""

from collections.abc import Callable
from typing import TypeVar

from roost.actors.fenced import write_fenced
from roost.db.transaction import Transaction
from roost.inbox.models import Address
from roost.runtime.services import Services
from roost.sessions.models import Session
from roost.tools.registry import NAMES
from roost.turn.world import Caller

T = TypeVar("T")


class Port:
    """Speaks for one call of a tool; once the turn of the call is lost it writes no more."""

    def __init__(self, caller: Caller, session: Session, services: Services) -> None:
        self._caller = caller
        self._session = session
        self._services = services

    @property
    def _own(self) -> Address:
        """The actor whose call it is."""
        return self._caller.claim.address

    @property
    def _lent(self) -> tuple[str, ...] | None:
        """The tools that those have whom it starts; None: those of their agents."""
        off = self._caller.switched_off
        return tuple(name for name in NAMES if name not in off) if off else None

    async def _write(self, change: Callable[[Transaction], T]) -> T:
        return await write_fenced(self._services.database, self._caller.claim, change)
