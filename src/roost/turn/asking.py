"""Asks a model that is no actor one question, with retries of its own: a judge, of whatever kind.

Its answer is one JSON object; what is no such object is asked for again.
"""

import asyncio
import random
import time
from collections.abc import Callable
from contextlib import aclosing
from typing import Final, Generic, TypeVar

import msgspec

from roost.actors.models import Actor, RetryState
from roost.actors.store import check_fence, set_retry
from roost.core.clock import now_ms
from roost.db.transaction import Reader
from roost.db.watching import until
from roost.events.types import Event
from roost.goals.judge import UnreadableOpinionError
from roost.inbox import store as inbox
from roost.llm.models import Finish, Model, ModelError, ModelRequest, TextDelta, Usage
from roost.llm.providers.cache import EncodingCache
from roost.llm.retry import Budget, GiveUp, RetryPolicy, budget_of, decide
from roost.sessions.parts import Tokens
from roost.turn.memory import Memory
from roost.turn.sampler import price, tokens_of
from roost.turn.world import World

TRIES: Final = 4
"""Times that a call of a judge is tried again; what the session's own calls may is no measure."""
REPAIRS: Final = 2
"""Times that a judge is asked again for an answer that can be read."""
_POLL_SECONDS: Final = 5.0
"""How often what another process wrote is looked for."""
_NEWS: Final = frozenset({"inbox.arrived", "session.goal", "actor.cancelling"})
_jitter: Final = random.SystemRandom()
T = TypeVar("T")


class NoOpinionError(Exception):
    """There is no answer that counts; the words say why."""


class Question(Generic[T]):
    """One question, and what asking it used."""

    def __init__(
        self,
        world: World,
        memory: Memory,
        asked: ModelRequest,
        *,
        read: Callable[[str], T],
        again: Callable[[ModelRequest, str, str], ModelRequest],
        seconds: float,
        who: str = "the judge",
    ) -> None:
        """`read` raises `UnreadableOpinionError`; `again` asks once more after an answer, in view
        of what was wrong with it. `who` is how people are told of it.
        """
        self._world = world
        self._memory = memory
        self._asked = asked
        self._read = read
        self._again = again
        self._who = who
        self._policy = patience(world.retry, seconds, TRIES, REPAIRS)
        self._retrying = False
        self.tokens = Tokens()
        self.cost = 0.0

    @property
    def model(self) -> Model:
        """Who is asked."""
        return self._asked.model

    async def answer(self) -> T:
        """The answer, asked for again where that may help. Raises `NoOpinionError`."""
        began, attempt, request = time.monotonic(), 0, self._asked
        while True:
            attempt += 1
            said = _Said()
            try:
                return await self._opinion(request, said)
            except UnreadableOpinionError as error:
                failure = ModelError("invalid_stream", f"its answer cannot be read: {error}")
                request = self._again(self._asked, said.text, str(error))
            except ModelError as error:
                failure = error
            elapsed = time.monotonic() - began
            decision = decide(failure, attempt, elapsed, self._policy, _jitter.random())
            if isinstance(decision, GiveUp):
                why = f"{self._who} {self.model.ref} gave no verdict: {failure.message}"
                raise NoOpinionError(f"{why} ({decision.reason})")
            await self._wait(failure, attempt, decision.delay)

    async def _opinion(self, request: ModelRequest, said: "_Said") -> T:
        try:
            stream = self._world.models.stream(request, EncodingCache())
            async with aclosing(stream) as events:
                async for event in events:
                    said.take(event)
        finally:
            self.tokens = self.tokens.plus(tokens_of(said.usage))
            self.cost += price(request.model, said.usage)
        if said.finish == "content-filter":
            raise ModelError("content_filter", "the provider's content filter withheld the answer")
        if said.finish == "length":
            raise UnreadableOpinionError("it was cut off at the output limit")
        return self._read(said.text)

    async def _wait(self, failure: ModelError, attempt: int, delay: float) -> None:
        """Sleep until the next try is due, visibly."""
        budget = budget_of(failure, self._policy)
        due = now_ms() + int(delay * 1000)
        words = f"{self._who}: {failure.message}"
        shown = RetryState(attempt, words, due, budget.tries if budget else None)
        self._retrying = True
        await self._world.database.write(lambda tx: set_retry(tx, self._memory.claim, shown))
        await asyncio.sleep(delay)
        await self.show_no_retry()

    async def show_no_retry(self) -> None:
        """Take back that a retry is waited for."""
        if self._retrying:
            self._retrying = False
            await self._world.database.write(lambda tx: set_retry(tx, self._memory.claim, None))


class _Said:
    """What came of one stream so far."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self.usage = Usage()
        self.finish = ""

    @property
    def text(self) -> str:
        """Its words."""
        return "".join(self._texts)

    def take(self, event: object) -> None:
        """Add an event of the stream."""
        match event:
            case TextDelta(text=text):
                self._texts.append(text)
            case Usage():
                self.usage = event
            case Finish(reason=reason):
                self.finish = reason
            case _:
                pass


def patience(policy: RetryPolicy, seconds: float, tries: int, repairs: int) -> RetryPolicy:
    """The retries of a call beside the session's own: as those, within `seconds` and `tries`;
    an answer that cannot be read is asked for again `repairs` times.
    """

    def less(budget: Budget, most: int) -> Budget:
        return msgspec.structs.replace(
            budget, tries=min(budget.tries, most), total=min(budget.total, seconds)
        )

    return msgspec.structs.replace(
        policy,
        rate_limit=less(policy.rate_limit, tries),
        server=less(policy.server, tries),
        network=less(policy.network, tries),
        unreached=less(policy.unreached, tries),
        unreadable=less(policy.unreadable, repairs),
        longest_retry_after=min(policy.longest_retry_after, seconds),
    )


async def overtaken(world: World, memory: Memory, changed: Callable[[Reader], str]) -> str:
    """Return, with words for it, once what is asked for would be out of date: a person spoke, the
    turn was asked to stop, or `changed` says why.
    """
    session_id = memory.claim.address.session_id

    def concerns(event: Event) -> bool:
        return event.session_id == session_id and event.type in _NEWS

    def look(db: Reader) -> str:
        actor: Actor = check_fence(db, memory.claim)
        if words := changed(db):
            return words
        if inbox.has_prompt(db, actor.address):
            return "a person spoke meanwhile"
        return "the turn was asked to stop" if actor.cancel is not None else ""

    return await until(world.database, world.bus, look, bool, concerns=concerns, poll=_POLL_SECONDS)
