"""Runs turns: wakes an actor by an asyncio task, renews leases, hands on cancels.

This is the seam for other engines: nothing above it knows that a wake is a task of this process.
"""

import asyncio
import logging
import time
from contextlib import AbstractAsyncContextManager
from typing import Final, Protocol

from roost.actors import claim as claims
from roost.actors import family, liveness
from roost.actors import store as actors
from roost.actors.limits import ActorLimits
from roost.actors.models import Actor, Budgets, Claim, Reason, Terms
from roost.actors.owner import Owner
from roost.core.clock import now_ms
from roost.core.errors import NotFoundError, RoostError, StorageError, own_fault
from roost.db.database import Database
from roost.db.transaction import Transaction
from roost.events.bus import Bus
from roost.events.types import Event
from roost.inbox.models import Address
from roost.permissions.asks import withdraw_lost
from roost.runtime.turn_watch import TurnWatch
from roost.runtime.undo_cleanup import clean_up, is_under_way
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
GRACE_SECONDS: Final = 60.0
"""How long a turn that was asked to stop gracefully may take to report, before it is forced."""


class TurnSource(Protocol):
    """Gives a turn what it needs."""

    def world_of(self, address: Address) -> AbstractAsyncContextManager[World]:
        """The world of the next turn of `address`. Raises `RoostError` when there can be none."""
        ...

    async def terms_of(self, session_id: str) -> Terms:
        """The limits of a session. Raises `RoostError` if its folder is gone or faulty."""
        ...


class Scheduler:
    """The actors that this process runs, from `start` to `close`.

    Whoever is sent mail that wakes is woken here, whatever sent it: the news of a commit is what
    the scheduler goes by.
    """

    def __init__(
        self,
        database: Database,
        bus: Bus,
        owner: Owner,
        source: TurnSource,
        watch: TurnWatch,
        *,
        recover_all: bool = False,
        runs_actors: bool = True,
    ) -> None:
        self._database = database
        self._bus = bus
        self._owner = owner
        self._source = source
        self._watch = watch
        self._recover_all = recover_all
        self._runs_actors = runs_actors
        self._sessions: set[str] = set()
        """Those of which a turn ran here: their mail is looked after, whichever process sent it."""
        self._running: dict[Address, TurnRun] = {}
        self._waking: dict[Address, asyncio.Task[None]] = {}
        self._group = asyncio.TaskGroup()
        self._again: set[Address] = set()
        self._unstored: dict[Address, MessageError] = {}
        """Why the end of a turn that ran here could not be stored."""
        self._closing = False
        self._background: list[asyncio.Task[None]] = []
        self.in_order = True
        """Every turn that began here has its end in the database."""

    async def start(self) -> None:
        """Begin to renew leases, and to wake who is sent mail."""
        await self._group.__aenter__()
        if not self._runs_actors:
            return
        self._bus.listen(self._hear)
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
        if self._closing or not self._runs_actors:
            return
        if address in self._waking:
            self._again.add(address)
            return
        task = self._group.create_task(self._serve(address, reason))
        self._waking[address] = task

    def is_running(self, address: Address) -> bool:
        """Whether this process is running a turn for `address`."""
        return address in self._waking

    def is_idle(self) -> bool:
        """Whether no actor is at work in this process."""
        return not self._running and not self._waking

    def texts(self, session_id: str) -> dict[str, str]:
        """The text that streams here in a session, as far as it has come, by part id."""
        runs = [run for address, run in self._running.items() if address.session_id == session_id]
        return {part_id: text for run in runs for part_id, text in run.texts.items()}

    async def recover(self, session_id: str | None = None) -> None:
        """Close turns whose process is gone, and wake those that mail waits for.

        What this process runs itself is never taken for dead, however long the machine slept.
        """
        if not self._runs_actors:
            return
        found = await self._database.read(lambda db: actors.restless(db, session_id))
        for address in found:
            if address not in self._waking and await self._recovered(address):
                self.wake(address)
        await self._database.write(withdraw_lost)

    def _hear(self, event: Event) -> None:
        """Wake whom a commit sent mail to, and stop whom it marked for a forced stop."""
        if event.type == "inbox.arrived":
            row = event.properties["row"]
            if row.wake:
                self.wake(row.receiver, "mail")
        elif event.type == "actor.cancelling":
            address = Address(event.properties["sessionID"], event.properties["actorID"])
            if event.properties["mode"] == "forced":
                run = self._running.get(address)
                if run is not None:
                    run.stop()
            self.wake(address, "mail")  # one that was still to run ends without running
        elif event.type == "session.deleted" and event.session_id is not None:
            self._sessions.discard(event.session_id)

    async def _recovered(self, address: Address) -> bool:
        """Recover one actor; a fault of its rows stays its own."""
        try:
            limits = await self._limits_of(address.session_id)
            return await self._database.write(
                lambda tx: claims.recover_actor(tx, address, self._owner.is_dead, limits)
            )
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
                if self._closing or (not settled and address not in self._again):
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
            async with self._source.world_of(address) as world:
                claimed = await self._claim(address, reason)
                self._unstored.pop(address, None)
                return claimed is not None and await self._run(world, claimed)
        except StorageError as error:
            self._report(address, error)
            if not self._closing:  # else it took the place of the cancellation
                await asyncio.sleep(RETRY_SECONDS)
            return True
        except RoostError as error:
            await self._refuse(address, reason, error)
            return False
        except Exception as error:
            logger.exception("the actor %s could not be run", address.actor_id)
            await self._refuse(address, reason, RoostError(own_fault(error)))
            return False

    async def _refuse(self, address: Address, reason: Reason, error: RoostError) -> None:
        """Let a turn that cannot begin fail, with the mail that it was for."""
        if isinstance(error, NotFoundError) and await self._is_gone(address):
            return
        logger.error("%s: %s", address.session_id, error.message)

        def fail(tx: Transaction) -> None:
            terms = Terms(budgets=Budgets(), limits=ActorLimits())
            claimed = self._claimed(tx, address, reason, terms)
            if claimed is not None:
                refuse(tx, claimed, error)

        try:
            await self._database.write(fail)
        except StorageError as storage_error:
            self._report(address, storage_error)
        except Exception:
            logger.exception("the turn of %s could not be refused", address.actor_id)

    async def _is_gone(self, address: Address) -> bool:
        """Whether an actor was taken out after it was to be woken."""
        try:
            return await self._database.read(lambda db: actors.find(db, address)) is None
        except StorageError:
            return False

    async def _limits_of(self, session_id: str) -> ActorLimits:
        """The limits of a session's actors; the built-in ones if its folder is gone or faulty."""
        try:
            return (await self._source.terms_of(session_id)).limits
        except StorageError:
            raise
        except RoostError:
            return ActorLimits()

    async def _claim(self, address: Address, reason: Reason) -> Claim | None:
        terms = await self._source.terms_of(address.session_id)
        self._sessions.add(address.session_id)
        return await self._database.write(lambda tx: self._claimed(tx, address, reason, terms))

    def _claimed(
        self, tx: Transaction, address: Address, reason: Reason, terms: Terms
    ) -> Claim | None:
        if is_under_way(tx, address.session_id):
            return None
        owner = self._owner
        claimed = claims.claim(
            tx,
            address,
            owner=owner.id,
            is_dead=owner.is_dead,
            budgets=terms.budgets,
            limits=terms.limits,
            reason=reason,
            unstored=self._unstored.get(address),
        )
        if claimed is not None:
            clean_up(tx, address.session_id)
        return claimed

    async def _run(self, world: World, claimed: Claim) -> bool:
        address = claimed.address
        run = TurnRun(world, claimed)
        self._running[address] = run
        try:
            async with self._watch.watching(claimed):
                return await run.run() == "pending"
        finally:
            self._running.pop(address, None)
            if claimed.actor.mode == "subagent" and not self._closing:
                await self._wake_crowded(address.session_id)

    async def _wake_crowded(self, session_id: str) -> None:
        """Wake the subagents of a session that had to wait for others to end."""
        for address in await self._database.read(
            lambda db: family.pending_subagents(db, session_id)
        ):
            self.wake(address, "mail")

    def _report(self, address: Address, error: StorageError) -> None:
        """Tell clients that the database cannot be written; no transaction could carry this."""
        self.in_order = False
        logger.error("%s: %s", address.session_id, error.message)
        shown = MessageError("UnknownError", {"message": error.message})
        self._unstored[address] = shown
        about = {"sessionID": address.session_id, "error": shown}
        self._bus.publish([Event("session.error", about, session_id=address.session_id)])

    async def _beat(self) -> None:
        """Renew the leases, and stop turns that another process asked to stop."""
        swept = False
        while True:
            await asyncio.sleep(claims.RENEW_SECONDS)
            try:
                if not swept:
                    self._owner.remove_dead(await self._database.read(actors.owners))
                    swept = True
                await self._look_after_sessions()
                if self._running:
                    await self._look_after_turns()
            except StorageError as error:
                logger.warning("leases were not renewed: %s", error.message)
            except Exception:  # one fault must not end what keeps all leases
                logger.exception("actors were not looked after")

    async def _look_after_sessions(self) -> None:
        """Wake those whom another process, or one that is gone, left with mail."""
        sessions = self._sessions
        if not sessions:
            return
        found = await self._database.read(lambda db: family.pending_in(db, sessions))
        for address in found:
            self.wake(address, "mail")

    async def _look_after_turns(self) -> None:
        """Renew the leases, and end what another process stopped or took over."""
        held = await self._database.write(self._renew)
        for actor in held:
            run = self._running.get(actor.address)
            if run is None or run.claim.turn.id != actor.current_turn:
                continue
            if actor.cancel == "forced" or (actor.cancel and run.asked_to_stop(GRACE_SECONDS)):
                run.stop()
        fences = {actor.address: actor.fence for actor in held}
        for address, run in list(self._running.items()):
            if fences.get(address) != run.claim.turn.fence:
                run.stop()  # another process took the actor over: its tools must not go on
        await self._tell_of_stalls(held)

    async def _tell_of_stalls(self, held: list[Actor]) -> None:
        for session_id in {actor.session_id for actor in held if liveness.is_watched(actor)}:
            limit = (await self._limits_of(session_id)).stall_seconds
            silent = [
                actor
                for actor in held
                if actor.session_id == session_id and liveness.is_stalled(actor, now_ms(), limit)
            ]
            if silent:
                await self._database.write(
                    lambda tx, silent=silent: liveness.tell_of_stalls(tx, silent)
                )

    def _renew(self, tx: Transaction) -> list[Actor]:
        return claims.renew(tx, self._owner.id)

    async def _recover_regularly(self) -> None:
        while True:
            try:
                await self.recover()
            except StorageError as error:
                logger.warning("interrupted turns were not looked for: %s", error.message)
            except Exception:  # nor end the looking
                logger.exception("interrupted turns were not looked for")
            await asyncio.sleep(RECOVER_SECONDS)
