"""The candidates of one round: each streams its proposal, with retries and time of its own. What
one of them does, or fails to do, is nothing to the others.
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import Final

from msgspec import Struct

from roost.llm.models import ModelError, StreamEvent, Usage
from roost.llm.retry import GiveUp, decide
from roost.turn.asking import patience as retries
from roost.turn.memory import Memory
from roost.turn.prepare import Plan
from roost.turn.proposals import Draft, Proposal, SpoiledError, why_not
from roost.turn.sampler import price, tokens_of
from roost.turn.world import World

TRIES: Final = 2
"""Times that the call of a candidate is tried again."""
Patience = Callable[[Sequence[float], float], float | None]
_jitter: Final = random.SystemRandom()


class Candidate(Struct, frozen=True, kw_only=True):
    """What became of one candidate."""

    number: int
    """From 1."""
    seconds: float
    proposal: Proposal | None = None
    """None: its stream did not come to a good end."""
    error: ModelError | None = None
    events: tuple[StreamEvent, ...] = ()
    """What can be played again."""
    why: str = ""
    """Why it cannot be taken; empty: it can."""

    @property
    def usable(self) -> bool:
        """Whether it can be taken."""
        return not self.why


class Spent(Struct, frozen=True):
    """What calls of a model used."""

    tokens: int = 0
    cost: float = 0.0
    """US dollars."""

    def plus(self, other: "Spent") -> "Spent":
        """Both together."""
        return Spent(self.tokens + other.tokens, self.cost + other.cost)


class Candidates:
    """All of a round. What they use stands in the progress of the turn as soon as it is known."""

    def __init__(
        self,
        world: World,
        memory: Memory,
        plan: Plan,
        count: int,
        ended: Callable[[Candidate], Awaitable[None]],
    ) -> None:
        """`ended` is told of each that comes to its end, one after another."""
        self._world = world
        self._memory = memory
        self._plan = plan
        self._ended = ended
        self._before = memory.progress
        self._drafts: dict[int, Draft] = {}
        self._results: dict[int, Candidate] = {}
        self._newest: dict[int, Spent] = {}
        """What the last call of each used."""
        self.count = count
        self.beside = Spent()
        """All that was used; once a candidate is given back, without its newest call."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many characters each has written by now."""
        drafts = [self._drafts.get(number) for number in range(1, self.count + 1)]
        return tuple(draft.size if draft else 0 for draft in drafts)

    @property
    def fates(self) -> tuple[str, ...]:
        """What became of each, in words."""
        results = [self._results.get(number) for number in range(1, self.count + 1)]
        return tuple("left" if one is None else one.why or "usable" for one in results)

    async def proposed(self, patience: Patience) -> list[Candidate]:
        """Let all propose; those that are later than `patience` has it are dropped."""
        began = time.monotonic()
        async with asyncio.TaskGroup() as group:
            pending = {
                group.create_task(self._propose(number, began))
                for number in range(1, self.count + 1)
            }
            while pending:
                took = [one.seconds for one in self._results.values() if one.usable]
                left = patience(took, time.monotonic() - began)
                done, pending = await asyncio.wait(
                    pending, timeout=left, return_when=asyncio.FIRST_COMPLETED
                )
                if not done:
                    break
            for task in pending:
                task.cancel()
        for number in range(1, self.count + 1):
            late = Candidate(number=number, seconds=time.monotonic() - began, why="it was too slow")
            self._results.setdefault(number, late)
        return [self._results[number] for number in range(1, self.count + 1)]

    async def _propose(self, number: int, began: float) -> None:
        try:
            async with asyncio.timeout(self._world.max_mode.seconds):
                candidate = await self._candidate(number, began)
        except TimeoutError:
            seconds = time.monotonic() - began
            candidate = Candidate(number=number, seconds=seconds, why="it took too long")
        self._results[number] = candidate
        await self._ended(candidate)

    async def _candidate(self, number: int, began: float) -> Candidate:
        policy = retries(self._world.retry, self._world.max_mode.seconds, TRIES, TRIES)
        attempt = 0
        while True:
            attempt += 1
            draft = self._drafts[number] = Draft()
            try:
                await self._stream(number, draft)
            except SpoiledError as error:
                return Candidate(
                    number=number,
                    seconds=time.monotonic() - began,
                    events=tuple(draft.events) if draft.loops else (),
                    why=str(error),
                )
            except ModelError as error:
                elapsed = time.monotonic() - began
                decision = decide(error, attempt, elapsed, policy, _jitter.random())
                if isinstance(decision, GiveUp):
                    return Candidate(number=number, seconds=elapsed, error=error, why=error.message)
                await asyncio.sleep(decision.delay)
            else:
                return self._of(number, draft, time.monotonic() - began)

    async def _stream(self, number: int, draft: Draft) -> None:
        request, cache = self._plan.request, self._memory.encoded
        try:
            async with aclosing(self._world.models.stream(request, cache)) as stream:
                async for event in stream:
                    draft.take(event)
        finally:
            self._charge_call(number, draft.usage)

    def _of(self, number: int, draft: Draft, seconds: float) -> Candidate:
        proposal = draft.proposal
        return Candidate(
            number=number,
            seconds=seconds,
            proposal=proposal,
            events=proposal.events,
            why=why_not(proposal, self._plan.tools, self._plan.request.tools),
        )

    # What it costs

    def _charge_call(self, number: int, usage: Usage) -> None:
        spent = Spent(tokens_of(usage).total, price(self._plan.request.model, usage))
        self._newest[number] = spent
        self.charge(spent.tokens, spent.cost)

    def charge(self, tokens: int, cost: float) -> None:
        """Count what a call used that is not the step's own."""
        self._set(self.beside.plus(Spent(tokens, cost)))

    def without(self, candidate: Candidate) -> Spent:
        """What was used but for the newest call of `candidate`, if that can be played again."""
        if not candidate.events:
            return self.beside
        own = self._newest.get(candidate.number, Spent())
        return Spent(self.beside.tokens - own.tokens, self.beside.cost - own.cost)

    def give_back(self, candidate: Candidate) -> None:
        """Count that call no more: it becomes the step, which counts it."""
        self._set(self.without(candidate))

    def _set(self, spent: Spent) -> None:
        self.beside = spent
        self._memory.progress = self._before.charged(spent.tokens, spent.cost)
