"""Asks an independent judge whether the goal of a session is reached, when a turn is about to end
well. What it says is a fact that the policies judge; `apply` stores it with what follows.
"""

import asyncio
import time
from typing import Final

import msgspec
from msgspec import Struct

from roost.actors import family
from roost.core.clock import now_ms
from roost.core.errors import RoostError
from roost.core.failpoints import failpoint
from roost.core.ids import new_id
from roost.core.text import clean
from roost.db.transaction import Reader
from roost.goals import judge
from roost.goals import store as goals
from roost.goals.digest import Evidence
from roost.goals.judge import Opinion
from roost.goals.models import Goal, Result, Verdict
from roost.inbox import store as inbox
from roost.sessions import transcript
from roost.sessions.effective import mark_of
from roost.sessions.models import Message
from roost.sessions.parts import Tokens
from roost.turn.asking import NoOpinionError, Question, overtaken
from roost.turn.memory import Memory
from roost.turn.models import Facts
from roost.turn.policies.goal import PATIENCE, SECONDS
from roost.turn.world import World
from roost.workspace.git import Git

EARLIER: Final = 5
"""Earlier verdicts that a judge is told of."""
GIT_SECONDS: Final = 3.0
LOOKED_AT: Final = 2_000
"""Messages of a conversation that was shortened, the newest."""


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
    whole = await _whole(world, memory, facts)
    evidence = Evidence(messages=whole, changed=await _changed(world), earlier=due.earlier)
    verdict = await _ask(world, memory, facts, due.goal, evidence)
    failpoint("goal.judged")
    found = msgspec.structs.replace(facts.review, verdict=verdict)
    return msgspec.structs.replace(facts, review=found)


async def _whole(world: World, memory: Memory, facts: Facts) -> tuple[Message, ...]:
    """The conversation, with what the actor itself is not shown any more."""
    if not facts.settled:
        return facts.messages
    where = memory.claim.address
    stored = await world.database.read(
        lambda db: transcript.load(db, where.session_id, where.actor_id, limit=LOOKED_AT)
    )
    return tuple(one for one in stored if mark_of(one) is None)


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
    call = Question(world, memory, asked, read=judge.read, again=judge.again, seconds=seconds)
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
    memory: Memory,
    facts: Facts,
    goal: Goal,
    said: _Said,
    *,
    began: float,
    call: Question[Opinion] | None,
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


async def _unless_overtaken(
    world: World, memory: Memory, goal: Goal, question: Question[Opinion]
) -> _Said:
    """What the judge says; it is left as soon as its answer can no longer count."""

    def changed(db: Reader) -> str:
        now = goals.active(db, memory.claim.address.session_id)
        return "the goal was changed meanwhile" if now is None or now.id != goal.id else ""

    async with asyncio.TaskGroup() as group:
        asking = group.create_task(_said(question))
        watching = group.create_task(overtaken(world, memory, changed))
        await asyncio.wait({asking, watching}, return_when=asyncio.FIRST_COMPLETED)
        asking.cancel()
        watching.cancel()
    if asking.cancelled():
        return _Said("dropped", watching.result())
    return asking.result()


async def _said(question: Question[Opinion]) -> _Said:
    try:
        opinion = await question.answer()
    except NoOpinionError as error:
        return _Said("error", str(error))
    return _Said(opinion.verdict, opinion.reason)
