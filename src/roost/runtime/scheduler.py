"""Runs turns: wakes an actor by an asyncio task, renews leases, hands on cancels.

This is the seam for other engines: nothing above it knows that a wake is a task of this process.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Final

from roost.actors import claim as claims
from roost.actors import store as actors
from roost.actors.models import Actor, Budgets, Claim, Reason
from roost.actors.owner import Owner
from roost.core.errors import RoostError, StorageError
from roost.db.database import Database
from roost.db.transaction import Transaction
from roost.events.bus import Bus
from roost.events.types import Event
from roost.inbox.models import Address
from roost.permissions.asks import withdraw_lost
from roost.sessions.models import MessageError
from roost.turn.driver import TurnRun
from roost.turn.refuse import refuse
from roost.turn.world import World

logger = logging.getLogger(__name__)
RETRY_SECONDS: Final = 2.0
"""Pause before a turn that the database refused is tried again."""
FIRST_PAUSE: Final = 0.01
LONGEST_PAUSE: Final = 5.0
BUSY_SECONDS: Final = 0.5
"""Pauses in seconds between turns of one actor that each end sooner than `BUSY_SECONDS`."""
RECOVER_SECONDS: Final = 5.0
"""How often a server looks for turns whose process died."""

WorldOf = Callable[[Address], Awaitable[World]]
BudgetsOf = Callable[[str], Awaitable[Budgets]]


class Scheduler:
    """The actors that this process runs, from `start` to `close`."""

    def __init__(
        self, database: Database, bus: Bus, owner: Owner, *, recover_all: bool = False
    ) -> None:
        self._database = database
        self._bus = bus
        self._owner = owner
        self._recover_all = recover_all
        self._running: dict[Address, TurnRun] = {}
        self._waking: dict[Address, asyncio.Task[None]] = {}
        self._group = asyncio.TaskGroup()
        self._again: set[Address] = set()
        self._closing = False
        self._background: list[asyncio.Task[None]] = []
        self.in_order = True
        """Every turn that began here has its end in the database."""
        self.world_of: WorldOf
        self.budgets_of: BudgetsOf

    async def start(self, world_of: WorldOf, budgets_of: BudgetsOf) -> None:
        """Begin to renew leases; `budgets_of` takes a session id."""
        self.world_of = world_of
        self.budgets_of = budgets_of
        await self._group.__aenter__()
        self._background.append(self._group.create_task(self._beat()))
        if self._recover_all:
            self._background.append(self._group.create_task(self._recover_regularly()))

    async def close(self) -> None:
        """Interrupt every turn, wait until each has stored that, and stop."""
        self._closing = True
        for task in (*self._background, *self._waking.values()):
            task.cancel()
        await self._group.__aexit__(None, None, None)

    def wake(self, address: Address, reason: Reason = "prompt") -> None:
        """Let `address` run a turn if mail waits for it; cheap, and harmless when it runs."""
        if self._closing:
            return
        if address in self._waking:
            self._again.add(address)
            return
        task = self._group.create_task(self._serve(address, reason))
        self._waking[address] = task

    def is_running(self, address: Address) -> bool:
        """Whether this process is running a turn for `address`."""
        return address in self._waking

    def texts(self, session_id: str) -> dict[str, str]:
        """The text that streams here in a session, as far as it has come, by part id."""
        runs = [run for address, run in self._running.items() if address.session_id == session_id]
        return {part_id: text for run in runs for part_id, text in run.texts.items()}

    def stop(self, address: Address, turn_id: str | None = None) -> bool:
        """Stop the turn that runs here for `address`; False if none does."""
        run = self._running.get(address)
        if run is None or turn_id not in {None, run.claim.turn.id}:
            return False
        run.stop()
        return True

    async def recover(self, session_id: str | None = None) -> None:
        """Close turns whose process is gone, and wake those that mail waits for.

        What this process runs itself is never taken for dead, however long the machine slept.
        """
        found = await self._database.read(lambda db: actors.restless(db, session_id))
        for address in found:
            if address not in self._waking and await self._recovered(address):
                self.wake(address)
        await self._database.write(withdraw_lost)

    async def _recovered(self, address: Address) -> bool:
        """Recover one actor; a fault of its rows stays its own."""

        def mend(tx: Transaction) -> bool:
            return claims.recover_actor(tx, address, self._owner.is_dead)

        try:
            return await self._database.write(mend)
        except StorageError:
            raise
        except Exception:
            logger.exception("%s in %s cannot be recovered", address.actor_id, address.session_id)
            return False

    async def _serve(self, address: Address, reason: Reason) -> None:
        """Turns of one actor, one after the other, until nothing waits for it."""
        try:
            pause = FIRST_PAUSE
            while True:
                self._again.discard(address)
                began = time.monotonic()
                settled = await self._one_turn(address, reason)
                if not settled and address not in self._again:
                    return
                reason = "mail"
                if time.monotonic() - began > BUSY_SECONDS:
                    pause = FIRST_PAUSE
                    continue
                await asyncio.sleep(pause)  # turns that end at once must not spin
                pause = min(pause * 2, LONGEST_PAUSE)
        finally:
            self._waking.pop(address, None)
            self._running.pop(address, None)

    async def _one_turn(self, address: Address, reason: Reason) -> bool:
        """Run one turn; whether another is due."""
        try:
            world = await self.world_of(address)
            claimed = await self._claim(address, reason)
            return claimed is not None and await self._run(world, claimed)
        except StorageError as error:
            self._report(address, error)
            await asyncio.sleep(RETRY_SECONDS)
            return True
        except RoostError as error:
            await self._refuse(address, reason, error)
            return False
        except Exception as error:
            logger.exception("the actor %s could not be run", address.actor_id)
            await self._refuse(address, reason, RoostError(f"Roost itself failed: {error!r}"))
            return False

    async def _refuse(self, address: Address, reason: Reason, error: RoostError) -> None:
        """Let a turn that cannot begin fail, with the mail that it was for."""
        logger.error("%s: %s", address.session_id, error.message)

        def fail(tx: Transaction) -> None:
            claimed = self._claimed(tx, address, reason, Budgets())
            if claimed is not None:
                refuse(tx, claimed, error)

        try:
            await self._database.write(fail)
        except StorageError as storage_error:
            self._report(address, storage_error)
        except Exception:
            logger.exception("the turn of %s could not be refused", address.actor_id)

    async def _claim(self, address: Address, reason: Reason) -> Claim | None:
        budgets = await self.budgets_of(address.session_id)
        return await self._database.write(lambda tx: self._claimed(tx, address, reason, budgets))

    def _claimed(
        self, tx: Transaction, address: Address, reason: Reason, budgets: Budgets
    ) -> Claim | None:
        owner = self._owner
        return claims.claim(
            tx, address, owner=owner.id, is_dead=owner.is_dead, budgets=budgets, reason=reason
        )

    async def _run(self, world: World, claimed: Claim) -> bool:
        address = claimed.address
        run = TurnRun(world, claimed)
        self._running[address] = run
        try:
            return await run.run() == "pending"
        finally:
            self._running.pop(address, None)

    def _report(self, address: Address, error: StorageError) -> None:
        """Tell clients that the database cannot be written; no transaction could carry this."""
        self.in_order = False
        logger.error("%s: %s", address.session_id, error.message)
        shown = MessageError("UnknownError", {"message": error.message})
        about = {"sessionID": address.session_id, "error": shown}
        self._bus.publish([Event("session.error", about, session_id=address.session_id)])

    async def _beat(self) -> None:
        """Renew the leases, and stop turns that another process asked to stop."""
        await asyncio.sleep(claims.RENEW_SECONDS)
        self._owner.remove_dead(await self._database.read(actors.owners))
        while True:
            await asyncio.sleep(claims.RENEW_SECONDS)
            if not self._running:
                continue
            try:
                held = await self._database.write(self._renew)
            except StorageError as error:
                logger.warning("leases were not renewed: %s", error.message)
                continue
            for actor in held:
                if actor.cancel == "forced":
                    self.stop(actor.address, actor.current_turn)
            fences = {actor.address: actor.fence for actor in held}
            for address, run in list(self._running.items()):
                if fences.get(address) != run.claim.turn.fence:
                    run.stop()  # another process took the actor over: its tools must not go on

    def _renew(self, tx: Transaction) -> list[Actor]:
        return claims.renew(tx, self._owner.id)

    async def _recover_regularly(self) -> None:
        while True:
            try:
                await self.recover()
            except StorageError as error:
                logger.warning("interrupted turns were not looked for: %s", error.message)
            await asyncio.sleep(RECOVER_SECONDS)
