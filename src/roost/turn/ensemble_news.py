"""What is told and kept of a round of proposals, in one transaction with what it has used."""

import asyncio
import time
from typing import Any, Final, Literal

from roost.actors.store import check_fence
from roost.actors.traces import Proposed, keep
from roost.actors.turn_store import save_progress
from roost.core.failpoints import failpoint
from roost.core.text import clean, cut
from roost.db.transaction import Transaction
from roost.events.types import Event
from roost.sessions.models import Chosen
from roost.turn.candidates import Candidate, Candidates
from roost.turn.memory import Memory
from roost.turn.world import World

SHOW_SECONDS: Final = 5.0
"""How often it is told how far candidates have come; also their sign of life."""
_LINE: Final = 200
Phase = Literal["proposing", "judging", "chosen", "left", "single"]


class Round:
    """Tells of one round."""

    def __init__(self, world: World, memory: Memory, message_id: str, count: int) -> None:
        self._world = world
        self._memory = memory
        self._message_id = message_id
        self.count = count
        self._began = time.monotonic()
        self._ended = 0
        self._dropped = 0

    async def ended(self, candidate: Candidate) -> None:
        """A candidate has come to its end: what it used is stored at once."""
        self._ended += 1
        self._dropped += not candidate.usable
        await self.tell("proposing")
        failpoint("ensemble.candidate")

    async def tell_regularly(self, candidates: Candidates) -> None:
        """Tell how far they have come, until this is cancelled."""
        before: tuple[int, ...] = ()
        while True:
            await asyncio.sleep(SHOW_SECONDS)
            if (now := candidates.sizes) != before:
                before = now
                await self.tell("proposing", characters=now)

    async def tell_single(self, why: str) -> None:
        """There is nothing to choose from."""
        await self.tell("single", Proposed(message_id=self._message_id, words=why), reason=why)

    async def tell_left(self, candidates: Candidates, why: str) -> None:
        """Nothing was chosen, and nothing is to be."""
        kept = Proposed(
            candidates=_short(candidates.fates),
            words=why,
            seconds=self._seconds,
            tokens=candidates.beside.tokens,
            cost=candidates.beside.cost,
        )
        await self.tell("left", kept, reason=why)

    async def tell_chosen(self, candidates: Candidates, note: Chosen, judge: str) -> None:
        """The step is the one of this candidate; what it used itself is counted with the step."""
        kept = Proposed(
            message_id=self._message_id,
            candidates=_short(candidates.fates),
            taken=note.candidate,
            by=note.by,
            model=judge,
            words=note.reason,
            seconds=self._seconds,
            tokens=note.tokens,
            cost=note.cost,
        )
        shown = {"candidate": note.candidate, "by": note.by, "reason": note.reason}
        await self.tell("chosen", kept, usable=note.usable, **shown)

    async def tell(self, phase: Phase, kept: Proposed | None = None, **more: Any) -> None:
        """Tell where the round stands; store what it has used, and `kept` for who looks later."""
        claim, progress = self._memory.claim, self._memory.progress
        about = {
            "sessionID": claim.address.session_id,
            "actorID": claim.address.actor_id,
            "messageID": self._message_id,
            "phase": phase,
            "candidates": self.count,
            "ended": self._ended,
            "dropped": self._dropped,
            "seconds": self._seconds,
            **more,
        }

        def store(tx: Transaction) -> None:
            check_fence(tx, claim)
            save_progress(tx, claim, progress)
            keep(tx, claim.turn.id, (kept,) if kept is not None else ())
            tx.emit(Event("session.max_mode", about, session_id=claim.address.session_id))

        await self._world.database.write(store)

    @property
    def _seconds(self) -> float:
        return round(time.monotonic() - self._began, 3)


def _short(fates: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(cut(clean(one), _LINE) for one in fates)
