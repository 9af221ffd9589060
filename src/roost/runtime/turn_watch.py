"""Watches the turns that this process runs, by the news of their commits, for those who count and
log them. A turn never waits for it, and nothing that goes wrong here reaches one.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Protocol

from msgspec import Struct

from roost.actors import turn_store
from roost.actors.models import Claim, RetryStatus, Turn
from roost.core.errors import NotFoundError
from roost.core.log_fields import about
from roost.db.database import Database
from roost.db.transaction import Reader
from roost.events.bus import Bus
from roost.events.types import Event
from roost.inbox.of_turn import turns_that_led_to
from roost.sessions.models import AssistantInfo, Message
from roost.sessions.parts import Part

logger = logging.getLogger(__name__)
_NEWS = frozenset(
    {"message.updated", "message.part.updated", "message.part.removed", "actor.status"}
)


class StepSeen(Struct, frozen=True):
    """A step that has ended."""

    claim: Claim
    number: int
    """Among those of the turn that this process has taken, from 1."""
    message: Message


class RetrySeen(Struct, frozen=True):
    """A call of the model that failed and waits to be tried again."""

    claim: Claim
    message_id: str
    status: RetryStatus


class TurnSeen(Struct, frozen=True):
    """A turn that does not run here any more."""

    claim: Claim
    turn: Turn | None
    """As it is stored; without an outcome where another process goes on with it, None: gone."""
    led_by: tuple[str, ...]
    """The turns of other actors whose words it was for."""


class Observer(Protocol):
    """Is told of turns, in order. It must not raise, and must not take long."""

    def began(self, claim: Claim) -> None:
        """A turn begins."""
        ...

    def step(self, seen: StepSeen) -> None:
        """A step of it ended."""
        ...

    def retry(self, seen: RetrySeen) -> None:
        """A call of the model is tried again."""
        ...

    def ended(self, seen: TurnSeen) -> None:
        """It ended, or is not ours any more."""
        ...

    async def close(self) -> None:
        """Nothing more follows. It may take a bounded time."""
        ...


Place = tuple[str, str | None]
"""A session and an actor, as messages name them."""


class _Running:
    """A turn at work."""

    def __init__(self, claim: Claim) -> None:
        self.claim = claim
        self.steps = 0
        self.message_id = ""
        """The step at work; empty: none is."""
        self.parts: dict[str, Part] = {}
        """Its parts as they are now."""


class TurnWatch:
    """The turns of one process."""

    def __init__(self, database: Database, bus: Bus) -> None:
        self._database = database
        self._running: dict[Place, _Running] = {}
        self._steps: dict[str, _Running] = {}
        """The turns by their step at work."""
        self._observers: list[Observer] = []
        self._ends: set[asyncio.Task[None]] = set()
        """Ends of turns that are being told."""
        bus.listen(self._hear)

    def add(self, observer: Observer) -> None:
        """Tell `observer` of what happens from now on."""
        self._observers.append(observer)

    async def close(self) -> None:
        """Let the observers end what they do; all turns have ended."""
        await asyncio.gather(*self._ends)
        for observer in self._observers:
            await observer.close()

    @asynccontextmanager
    async def watching(self, claim: Claim) -> AsyncGenerator[None]:
        """Watch the turn of `claim` while the block runs it; what it logs is about it."""
        place, address = _place(claim), claim.address
        running = self._running[place] = _Running(claim)
        with about(session=address.session_id, actor=address.actor_id, turn=claim.turn.id):
            for observer in self._observers:
                observer.began(claim)
            try:
                yield
            finally:
                self._steps.pop(running.message_id, None)
                if self._running.get(place) is running:
                    del self._running[place]
                # Whoever stops the turn must not stop this.
                end = asyncio.create_task(self._tell_end(claim))
                self._ends.add(end)
                end.add_done_callback(self._ends.discard)

    async def _tell_end(self, claim: Claim) -> None:
        def read(db: Reader) -> TurnSeen:
            led_by = tuple(turns_that_led_to(db, claim.address, claim.turn.id))
            return TurnSeen(claim, _turn(db, claim.turn.id), led_by)

        try:
            seen = await self._database.read(read)
        except Exception:
            logger.exception("the end of a turn was not looked at")
            return
        for observer in self._observers:
            observer.ended(seen)

    def _hear(self, event: Event) -> None:
        if not self._running or event.type not in _NEWS:
            return
        try:
            self._follow(event)
        except Exception:
            logger.exception("the news %s was not counted", event.type)

    def _follow(self, event: Event) -> None:
        properties = event.properties
        match event.type:
            case "message.updated":
                if isinstance(info := properties["info"], AssistantInfo):
                    self._head(info)
            case "message.part.updated":
                part = properties["part"]
                if isinstance(part, Part) and (running := self._steps.get(part.message_id)):
                    running.parts[part.id] = part
            case "message.part.removed":
                if running := self._steps.get(properties["messageID"]):
                    running.parts.pop(properties["partID"], None)
            case _:
                if isinstance(status := properties["status"], RetryStatus):
                    self._retry(properties["sessionID"], properties["actorID"], status)

    def _head(self, info: AssistantInfo) -> None:
        running = self._running.get((info.session_id, info.agent_id))
        if running is None:
            return
        if info.time.completed is None and running.message_id != info.id:
            self._steps.pop(running.message_id, None)
            running.message_id, running.parts = info.id, {}
            self._steps[info.id] = running
        elif info.time.completed is not None and running.message_id == info.id:
            del self._steps[info.id]
            running.steps += 1
            message = Message(info, tuple(running.parts.values()))
            running.message_id, running.parts = "", {}
            for observer in self._observers:
                observer.step(StepSeen(running.claim, running.steps, message))

    def _retry(self, session_id: str, actor_id: str, status: RetryStatus) -> None:
        for running in self._running.values():
            address = running.claim.address
            if (address.session_id, address.actor_id) == (session_id, actor_id):
                seen = RetrySeen(running.claim, running.message_id, status)
                for observer in self._observers:
                    observer.retry(seen)


def _place(claim: Claim) -> Place:
    actor = claim.actor
    return (actor.session_id, None if actor.fronts else actor.actor_id)


def _turn(db: Reader, turn_id: str) -> Turn | None:
    try:
        return turn_store.get_turn(db, turn_id)
    except NotFoundError:
        return None
