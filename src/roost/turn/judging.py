"""Asks an independent judge whether the goal of a session is reached, when a turn is about to end
well. What it says is a fact that the policies judge; `apply` stores it with what follows.
"""

import asyncio
import random
import time
from contextlib import aclosing
from typing import Final

import msgspec
from msgspec import Struct

from roost.actors import family
from roost.actors.models import Actor, RetryState
from roost.actors.store import check_fence, set_retry
from roost.core.clock import now_ms
from roost.core.errors import RoostError
from roost.core.failpoints import failpoint
from roost.core.ids import new_id
from roost.core.text import clean
from roost.db.transaction import Reader
from roost.db.watching import until
from roost.events.types import Event
from roost.goals import judge
from roost.goals import store as goals
from roost.goals.digest import Evidence
from roost.goals.judge import Opinion, UnreadableOpinionError
from roost.goals.models import Goal, Result, Verdict
from roost.inbox import store as inbox
from roost.llm.models import Finish, Model, ModelError, ModelRequest, TextDelta, Usage
from roost.llm.providers.cache import EncodingCache
from roost.llm.retry import Budget, GiveUp, RetryPolicy, budget_of, decide
from roost.sessions.parts import Tokens
from roost.turn.memory import Memory
from roost.turn.models import Facts
from roost.turn.policies.goal import PATIENCE, SECONDS
from roost.turn.sampler import price, tokens_of
from roost.turn.world import World
from roost.workspace.git import Git

TRIES: Final = 4
"""Times that a call of a judge is tried again; what the session's own calls may is no measure."""
REPAIRS: Final = 2
"""Times that a judge is asked again for an answer that can be read."""
EARLIER: Final = 5
"""Earlier verdicts that a judge is told of."""
GIT_SECONDS: Final = 3.0
_POLL_SECONDS: Final = 5.0
"""How often what another process wrote is looked for."""
_NEWS: Final = frozenset({"inbox.arrived", "session.goal", "actor.cancelling"})
_jitter: Final = random.SystemRandom()


class DueGoal(Struct, frozen=True):
    """A goal that is to be judged now."""

    goal: Goal
    earlier: tuple[Verdict, ...]
    """What was said of it before, oldest first."""


async def due_goal(world: World, memory: Memory) -> DueGoal | None:
    """The goal of the session, if it is to be judged now.

    It is not while somebody is at work below the actor, whose news will wake it, or while mail
    waits that the turn goes on with.
    """

    def read(db: Reader) -> DueGoal | None:
        actor, address = memory.claim.actor, memory.claim.address
        goal = goals.active(db, address.session_id) if actor.fronts else None
        if goal is None or family.works_below(db, address) or inbox.has_mail(db, address):
            return None
        return DueGoal(goal, tuple(goals.verdicts(db, goal.id, EARLIER)))

    return await world.database.read(read)


async def judged(world: World, memory: Memory, facts: Facts, due: DueGoal) -> Facts:
    """The facts with what a judge says of the goal."""
    assert facts.review is not None
    failpoint("goal.asking")
    evidence = Evidence(messages=facts.messages, changed=await _changed(world), earlier=due.earlier)
    verdict = await _ask(world, memory, facts, due.goal, evidence)
    failpoint("goal.judged")
    found = msgspec.structs.replace(facts.review, verdict=verdict)
    return msgspec.structs.replace(facts, review=found)


async def _changed(world: World) -> tuple[str, ...] | None:
    found = await Git(world.place.directory, timeout=GIT_SECONDS).status()
    if found is None:
        return None
    return tuple(clean(f"{one.index}{one.tree} {one.path}") for one in found)


class _Said(Struct, frozen=True):
    """What came of asking."""

    result: Result
    reason: str


async def _ask(
    world: World, memory: Memory, facts: Facts, goal: Goal, evidence: Evidence
) -> Verdict:
    began = time.monotonic()
    seconds = facts.budgets.limits.get(SECONDS, PATIENCE)
    try:
        model = world.judge(facts.model)
    except RoostError as error:
        said = _Said("error", f"the judge cannot be asked: {error.message}")
        return _verdict(memory, facts, goal, said, began=began, call=None)
    asked = judge.request(model, goal.condition, evidence)
    call = _Call(world, memory, asked, seconds)
    try:
        async with asyncio.timeout(seconds):
            said = await _unless_overtaken(world, memory, goal, call)
    except TimeoutError:
        said = _Said("error", f"the judge {model.ref} did not answer within {seconds:.0f} seconds")
    finally:
        memory.progress = memory.progress.charged(call.tokens.total, call.cost)
        await call.show_no_retry()
    return _verdict(memory, facts, goal, said, began=began, call=call)


def _verdict(
    memory: Memory, facts: Facts, goal: Goal, said: _Said, *, began: float, call: "_Call | None"
) -> Verdict:
    return Verdict(
        id=new_id("verdict"),
        goal_id=goal.id,
        result=said.result,
        reason=clean(said.reason),
        model=call.model.ref if call else "",
        turn_id=memory.claim.turn.id,
        message_id=facts.last.info.id if facts.last else "",
        created=now_ms(),
        seconds=round(time.monotonic() - began, 3),
        tokens=call.tokens if call else Tokens(),
        cost=call.cost if call else 0.0,
    )


async def _unless_overtaken(world: World, memory: Memory, goal: Goal, call: "_Call") -> _Said:
    """What the judge says; it is left as soon as its answer can no longer count."""
    async with asyncio.TaskGroup() as group:
        asking = group.create_task(call.said())
        watching = group.create_task(_overtaken(world, memory, goal))
        await asyncio.wait({asking, watching}, return_when=asyncio.FIRST_COMPLETED)
        asking.cancel()
        watching.cancel()
    if asking.cancelled():
        return _Said("dropped", watching.result())
    return asking.result()


async def _overtaken(world: World, memory: Memory, goal: Goal) -> str:
    """Return, with words for it, once an answer of the judge would be out of date."""
    session_id = memory.claim.address.session_id

    def concerns(event: Event) -> bool:
        return event.session_id == session_id and event.type in _NEWS

    def look(db: Reader) -> str:
        actor: Actor = check_fence(db, memory.claim)
        now = goals.active(db, session_id)
        if now is None or now.id != goal.id:
            return "the goal was changed meanwhile"
        if inbox.has_prompt(db, actor.address):
            return "a person spoke meanwhile"
        return "the turn was asked to stop" if actor.cancel is not None else ""

    return await until(world.database, world.bus, look, bool, concerns=concerns, poll=_POLL_SECONDS)


class _Call:
    """One question to a judge, with its retries, and what they used."""

    def __init__(self, world: World, memory: Memory, asked: ModelRequest, seconds: float) -> None:
        self._world = world
        self._memory = memory
        self._asked = asked
        self._policy = _patience(world.retry, seconds)
        self._retrying = False
        self.tokens = Tokens()
        self.cost = 0.0

    @property
    def model(self) -> Model:
        """The judge."""
        return self._asked.model

    async def said(self) -> _Said:
        """The answer, asked for again where that may help."""
        began, attempt, request = time.monotonic(), 0, self._asked
        while True:
            attempt += 1
            answer = _Answer()
            try:
                opinion = await self._opinion(request, answer)
            except UnreadableOpinionError as error:
                failure = ModelError("invalid_stream", f"its answer cannot be read: {error}")
                request = judge.again(self._asked, answer.text, str(error))
            except ModelError as error:
                failure = error
            else:
                return _Said(opinion.verdict, opinion.reason)
            elapsed = time.monotonic() - began
            decision = decide(failure, attempt, elapsed, self._policy, _jitter.random())
            if isinstance(decision, GiveUp):
                why = f"the judge {self.model.ref} gave no verdict: {failure.message}"
                return _Said("error", f"{why} ({decision.reason})")
            await self._wait(failure, attempt, decision.delay)

    async def _opinion(self, request: ModelRequest, answer: "_Answer") -> Opinion:
        try:
            stream = self._world.models.stream(request, EncodingCache())
            async with aclosing(stream) as events:
                async for event in events:
                    answer.take(event)
        finally:
            self.tokens = self.tokens.plus(tokens_of(answer.usage))
            self.cost += price(request.model, answer.usage)
        if answer.finish == "content-filter":
            raise ModelError("content_filter", "the provider's content filter withheld the answer")
        if answer.finish == "length":
            raise UnreadableOpinionError("it was cut off at the output limit")
        return judge.read(answer.text)

    async def _wait(self, failure: ModelError, attempt: int, delay: float) -> None:
        """Sleep until the next try is due, visibly."""
        budget = budget_of(failure, self._policy)
        due = now_ms() + int(delay * 1000)
        words = f"the judge: {failure.message}"
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


class _Answer:
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


def _patience(policy: RetryPolicy, seconds: float) -> RetryPolicy:
    """The retries of a judge: those of the session, within what a judge may take."""

    def less(budget: Budget, tries: int) -> Budget:
        return msgspec.structs.replace(
            budget, tries=min(budget.tries, tries), total=min(budget.total, seconds)
        )

    return msgspec.structs.replace(
        policy,
        rate_limit=less(policy.rate_limit, TRIES),
        server=less(policy.server, TRIES),
        network=less(policy.network, TRIES),
        unreached=less(policy.unreached, TRIES),
        unreadable=less(policy.unreadable, REPAIRS),
        longest_retry_after=min(policy.longest_retry_after, seconds),
    )
