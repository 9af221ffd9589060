"""Waits of clients: for a turn, for an actor to sleep, for all that works below it."""

from collections.abc import Callable
from typing import Final

from msgspec import Struct

from roost.actors import family, turn_store
from roost.actors import store as actors
from roost.actors.models import Actor, Turn
from roost.actors.settle import DELETED, DELETED_HINT
from roost.core.errors import ConflictError, NotFoundError
from roost.db.database import Database
from roost.db.transaction import Reader
from roost.db.watching import until
from roost.events.bus import Bus
from roost.events.types import Event
from roost.inbox import store as inbox
from roost.inbox.models import Address
from roost.runtime.models import TurnResult
from roost.runtime.scheduler import Scheduler
from roost.sessions import store as sessions
from roost.sessions import transcript

_POLL_SECONDS: Final = 1.0
"""How often news of another process on the same database is looked for."""
_NEWS: Final = frozenset({"actor.status", "turn.ended", "inbox.updated", "session.deleted"})
"""What may end a wait for a turn. A look at each delta of an answer would cost more than it."""


class _Tree(Struct, frozen=True):
    """How an actor and those below it stand."""

    busy: bool
    turn: Turn
    """The last that came of what is waited for."""
    sessions: frozenset[str]
    """Where somebody is at work."""


class TurnWaits:
    """Waits, and meanwhile takes up what another process left when it died."""

    def __init__(self, database: Database, bus: Bus, scheduler: Scheduler) -> None:
        self._database = database
        self._bus = bus
        self._scheduler = scheduler

    async def turn(self, session_id: str, message_id: str) -> TurnResult:
        """See `roost.runtime.runtime.Runtime.wait_turn`."""
        turn = await until(
            self._database,
            self._bus,
            lambda db: _turn_of(db, session_id, message_id),
            lambda turn: turn is not None and turn.phase == "ended",
            concerns=_about(session_id),
            poll=_POLL_SECONDS,
            unheard=lambda _: self._scheduler.recover(session_id),
        )
        assert turn is not None
        return await self._result(turn)

    async def idle(self, address: Address) -> Actor:
        """See `roost.runtime.runtime.Runtime.wait_idle`."""
        return await until(
            self._database,
            self._bus,
            lambda db: actors.get(db, address),
            lambda actor: actor.status == "idle",
            concerns=_about(address.session_id),
            poll=_POLL_SECONDS,
            unheard=lambda _: self._scheduler.recover(address.session_id),
        )

    async def tree(self, address: Address, result: TurnResult) -> TurnResult:
        """See `roost.runtime.runtime.Runtime.wait_tree`."""
        tree = await until(
            self._database,
            self._bus,
            lambda db: _tree(db, address, result.turn),
            lambda tree: not tree.busy,
            concerns=lambda event: event.type in _NEWS,
            poll=_POLL_SECONDS,
            unheard=self._recover_all,
        )
        same = tree.turn.id == result.turn.id
        return result if same else await self._result(tree.turn)

    async def _recover_all(self, tree: _Tree) -> None:
        for session_id in sorted(tree.sessions):
            await self._scheduler.recover(session_id)

    async def _result(self, turn: Turn) -> TurnResult:
        message_id = turn.result_message_id
        message = (
            await self._database.read(
                lambda db: transcript.find_message(db, turn.session_id, message_id)
            )
            if message_id
            else None
        )
        return TurnResult(turn, message)


def _about(session_id: str) -> Callable[[Event], bool]:
    return lambda event: event.session_id == session_id and event.type in _NEWS


def _turn_of(db: Reader, session_id: str, message_id: str) -> Turn | None:
    _require(db, session_id)
    row = inbox.get(db, message_id)
    if row.state in {"rejected", "expired"}:
        raise NotFoundError(f"the prompt {message_id} was withdrawn, or waited for too long")
    return turn_store.get_turn(db, row.turn_id) if row.turn_id else None


def _require(db: Reader, session_id: str) -> None:
    """Raise `ConflictError` for a session that somebody has deleted."""
    if sessions.find(db, session_id) is None:
        raise ConflictError(DELETED.format(session_id), hint=DELETED_HINT)


def _tree(db: Reader, address: Address, first: Turn) -> _Tree:
    _require(db, address.session_id)
    turn, is_last = _last_of(db, address, first)
    below = family.descendants(db, address, at_work=True)
    at_work = bool(below) or actors.get(db, address).status != "idle"
    busy = is_last and at_work and not inbox.has_prompt(db, address)
    return _Tree(busy, turn, frozenset({address.session_id, *(one.session_id for one in below)}))


def _last_of(db: Reader, address: Address, first: Turn) -> tuple[Turn, bool]:
    """The last turn after `first` that no further prompt began, and whether no turn follows it."""
    last = first
    while (turn := turn_store.find_turn(db, address, last.number + 1)) is not None:
        is_open = turn.outcome is None
        if inbox.heard_prompt(db, address, turn.id) or (is_open and inbox.has_prompt(db, address)):
            return last, False
        last = turn
    return last, True
