"""The loop. One turn of one actor, from its claim until it sleeps."""

import asyncio
import logging
import time
from math import isfinite
from typing import Final

import msgspec

from roost.actors.models import Claim, Ending, Settled
from roost.core.errors import RoostError, StaleFenceError, StorageError, cause_of, own_fault
from roost.sessions.models import MessageError
from roost.turn.apply import ENDED, OUT_OF_TIME, STOPPED, apply, end_early, spend
from roost.turn.by_hand import run_commands
from roost.turn.checkpointing import consider
from roost.turn.decisions import decided
from roost.turn.ensemble import take_step
from roost.turn.hooking import (
    LAST_SECONDS,
    after_delivery,
    after_step,
    before_step,
    refusal,
    tell_the_end,
)
from roost.turn.intake import begin, intake
from roost.turn.memory import Memory
from roost.turn.models import Action, Facts, Sample, Shorten, Stop, Wait
from roost.turn.policies.limits import SECONDS
from roost.turn.prepare import prepare
from roost.turn.remarks import Remarks
from roost.turn.review import review
from roost.turn.shortening import shorten
from roost.turn.subtasks import run_subtasks
from roost.turn.verdict import verdict
from roost.turn.waiting import wait_for_mail
from roost.turn.world import World

logger = logging.getLogger(__name__)
OVERTIME: Final = 60.0
"""Seconds that a turn may go on after its limit of time, to report; then it is stopped."""


class TurnRun:
    """A turn that this process runs."""

    def __init__(self, world: World, claim: Claim) -> None:
        self._world = world
        self.claim = claim
        self._work: asyncio.Task[Settled] | None = None
        self._stopped = False
        self._expired = False
        self._asked: float | None = None
        self._memory: Memory | None = None
        self._farewell: asyncio.Task[None] | None = None
        """Hooks are being told how the turn ended: once, whatever comes in between."""

    @property
    def texts(self) -> dict[str, str]:
        """What the model has said in the step at work, saved or not, by part id."""
        recorder = self._memory.recorder if self._memory else None
        return recorder.texts if recorder else {}

    def stop(self) -> None:
        """Stop now: the request is closed, tools and their processes are ended."""
        self._stopped = True
        if self._work is not None:
            self._work.cancel()

    def asked_to_stop(self, grace: float) -> bool:
        """Note that the turn is to end gracefully; whether it has had `grace` seconds for that."""
        now = time.monotonic()
        self._asked = self._asked or now
        return now - self._asked > grace

    def _expire(self) -> None:
        self._expired = True
        if self._work is not None:
            self._work.cancel()

    async def run(self) -> Settled:
        """Run the turn to its end and tell whether another is due.

        A cancellation of this call itself, as when the process ends, interrupts the turn.
        """
        memory = self._memory = await begin(self._world, self.claim)
        memory.remarks = Remarks(self._world, self.claim)
        left = memory.budgets.left(SECONDS)
        timer = None
        if isfinite(left):
            loop = asyncio.get_running_loop()
            timer = loop.call_later(left + OVERTIME, self._expire)
        try:
            settled = await self._drive_stoppably(memory)
            await self._say_farewell(memory)
        except StaleFenceError as error:
            logger.warning("%s", error.message)
            return "idle"
        except asyncio.CancelledError:
            await self._say_farewell_soon(memory)
            raise
        else:
            return settled
        finally:
            if timer is not None:
                timer.cancel()
            await asyncio.gather(*map(self._world.reap, memory.ran))

    async def _say_farewell(self, memory: Memory) -> None:
        if self._farewell is None:
            self._farewell = asyncio.create_task(tell_the_end(self._world, memory))
        await asyncio.shield(self._farewell)

    async def _say_farewell_soon(self, memory: Memory) -> None:
        """The same when the process is asked to end: there is little time, and nothing may fail."""
        try:
            async with asyncio.timeout(LAST_SECONDS):
                await self._say_farewell(memory)
        except TimeoutError:
            logger.warning("hooks took too long at the end of turn %s", self.claim.turn.id)
        finally:
            if self._farewell is not None:
                self._farewell.cancel()
                await asyncio.gather(self._farewell, return_exceptions=True)

    async def _drive_stoppably(self, memory: Memory) -> Settled:
        try:
            async with asyncio.TaskGroup() as group:
                self._work = group.create_task(_drive(self._world, memory))
                if self._stopped:
                    self._work.cancel()
        except BaseExceptionGroup as group_error:
            return await self._fail(memory, cause_of(group_error))
        except asyncio.CancelledError:
            ending = Ending(outcome="interrupted")
            await end_early(self._world, memory, ending, ENDED)
            raise
        if self._work.cancelled() and self._expired and not self._stopped:
            ending = Ending(outcome="failure", error=OUT_OF_TIME)
            return await end_early(self._world, memory, ending, OUT_OF_TIME)
        if self._work.cancelled():
            return await end_early(self._world, memory, Ending(outcome="cancelled"), STOPPED)
        return self._work.result()

    async def _fail(self, memory: Memory, error: BaseException) -> Settled:
        """End the turn for an error that no policy foresaw."""
        if isinstance(error, StaleFenceError) or not isinstance(error, Exception):
            raise error
        if isinstance(error, RoostError):
            words = f"{error.message}. {error.hint}" if error.hint else error.message
        else:
            logger.error("turn %s failed", self.claim.turn.id, exc_info=error)
            words = own_fault(error)
        shown = MessageError("UnknownError", {"message": words})
        ending = Ending(outcome="failure", error=shown)
        # A database that took no more text may well take the few bytes of an end.
        save = not isinstance(error, StorageError)
        return await end_early(self._world, memory, ending, shown, save=save)


async def _drive(world: World, memory: Memory) -> Settled:
    begun = await run_commands(world, memory, await intake(world, memory))
    if not isinstance(begun, Facts):
        return begun
    facts = msgspec.structs.replace(begun, refusal=await refusal(world, memory))
    while True:
        action = verdict(facts)
        step = None
        if isinstance(action, Sample):
            if (begun := await run_subtasks(world, memory, facts)) is not None:
                if not isinstance(begun, Facts):
                    return begun
                facts = begun
                continue
            facts = await before_step(world, memory, facts)
            action = verdict(facts)
        if isinstance(action, Sample):
            _keep(memory, facts, action)
            if action.spend:
                await spend(world, memory, action.spend)
            await consider(world, memory, facts)
            plan = await prepare(world, memory, facts, action)
            step = await take_step(world, memory, facts, plan)
            if step is None:  # a person spoke, or a stop was asked for, before anything was done
                facts = await intake(world, memory)
                continue
            facts = facts.after(step.outcome, tools=plan.request.tools, wait_until=step.wait_until)
            action = verdict(facts)
            step = await after_step(world, memory, facts, step, action)
        if isinstance(action, Shorten):
            _keep(memory, facts, action)
            facts = await shorten(world, memory, facts, step, action)
            continue
        if isinstance(action, Stop) and action.outcome == "success":
            facts, step = await review(world, memory, facts, step)
            action = verdict(facts)
        result = await apply(world, memory, step, _keep(memory, facts, action))
        if result == "finalizing":
            facts = await after_delivery(world, memory, facts)
            result = await apply(world, memory, None, _keep(memory, facts, verdict(facts)))
        if isinstance(result, Wait):
            result = await wait_for_mail(world, memory, result)
        if not isinstance(result, Facts):
            return result
        facts = result


def _keep(memory: Memory, facts: Facts, action: Action) -> Action:
    """Note what is to be kept of a verdict, to be stored with what follows from it."""
    if (kept := decided(facts, action)) is not None:
        memory.decisions.append(kept)
    return action
