"""Max mode: several candidates propose a step side by side, a judge chooses, and what was chosen is
played again through the same reducer, so that the transcript is as if it had been alone.

A candidate acts on nothing, so nothing is lost but money when a round is left: by a stop, by words
of a person, by the death of the process. No message is stored before one is chosen.
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from typing import Literal

import msgspec
from msgspec import Struct

from roost.core.errors import RoostError
from roost.core.failpoints import failpoint
from roost.db.transaction import Reader
from roost.llm.models import ModelError, ModelRequest, StreamEvent
from roost.llm.providers.cache import EncodingCache
from roost.sessions.models import Chosen
from roost.turn import ensemble_judge
from roost.turn.asking import NoOpinionError, Question, overtaken
from roost.turn.candidates import Candidate, Candidates
from roost.turn.ensemble_judge import Choice, Option
from roost.turn.ensemble_news import Round
from roost.turn.ensemble_size import has_room, patience, size_of
from roost.turn.memory import Memory
from roost.turn.models import Facts
from roost.turn.prepare import Plan
from roost.turn.proposals import Proposal, signature
from roost.turn.sampler import Step, sample
from roost.turn.world import ModelSource, World

By = Literal["judge", "agreement", "default"]


async def take_step(world: World, memory: Memory, facts: Facts, plan: Plan) -> Step | None:
    """Take the step that `plan` describes, chosen from several proposals where that is asked for.

    None: it was not taken, since a person spoke or a stop was asked for while all was still only
    proposed; what was used is counted.
    """
    fronts = memory.claim.actor.fronts
    size = size_of(facts, plan, world.max_mode, fronts=fronts)
    if size.count < 2:
        if size.why and size.why != memory.single:
            await Round(world, memory, plan.info.id, 1).tell_single(size.why)
        memory.single = size.why
        return await sample(world, memory, plan)
    failpoint("ensemble.begin")
    chosen = await _Ensemble(world, memory, facts, plan, size.count).chosen()
    failpoint("ensemble.chosen")
    if chosen is None:
        return None
    info = msgspec.structs.replace(plan.info, cost=chosen.note.cost, chosen=chosen.note)
    replayed = msgspec.structs.replace(world, models=chosen.source)
    return await sample(replayed, memory, msgspec.structs.replace(plan, info=info))


class _Replay:
    """Plays a recorded stream, or fails as it did; a further call is one like any other."""

    def __init__(
        self, models: ModelSource, found: Sequence[StreamEvent] | ModelError | None
    ) -> None:
        self._models = models
        self._found = found

    async def stream(
        self, request: ModelRequest, cache: EncodingCache
    ) -> AsyncGenerator[StreamEvent, None]:
        """The recorded events; raises `ModelError`."""
        found, self._found = self._found, None
        if isinstance(found, ModelError):
            raise found
        if found is not None:
            for event in found:
                yield event
            return
        async for event in self._models.stream(request, cache):
            yield event


class _Found(Struct, frozen=True):
    """What the step is to be."""

    source: ModelSource
    note: Chosen


class _Pick(Struct, frozen=True):
    """A candidate, and why it is the one."""

    candidate: Candidate
    note: Chosen


class _Ensemble:
    """One round of proposals."""

    def __init__(self, world: World, memory: Memory, facts: Facts, plan: Plan, count: int) -> None:
        self._world = world
        self._memory = memory
        self._facts = facts
        self._plan = plan
        self._news = Round(world, memory, plan.info.id, count)
        self._candidates = Candidates(world, memory, plan, count, self._news.ended)
        self._judge = ""

    async def chosen(self) -> _Found | None:
        """What the step is to be; None if the round was left."""
        await self._news.tell("proposing")
        async with asyncio.TaskGroup() as group:
            working = group.create_task(self._picked())
            watching = group.create_task(overtaken(self._world, self._memory, _nothing))
            showing = group.create_task(self._news.tell_regularly(self._candidates))
            await asyncio.wait({working, watching}, return_when=asyncio.FIRST_COMPLETED)
            for task in (working, watching, showing):
                task.cancel()
        if working.cancelled():
            await self._news.tell_left(self._candidates, watching.result())
            return None
        return await self._kept(working.result())

    async def _kept(self, pick: _Pick) -> _Found:
        """What was picked, with all that the round used but what it used itself."""
        candidate = pick.candidate
        spent = self._candidates.without(candidate)
        note = msgspec.structs.replace(pick.note, tokens=spent.tokens, cost=spent.cost)
        await self._news.tell_chosen(self._candidates, note, self._judge)
        self._candidates.give_back(candidate)
        found = candidate.error or candidate.events or None
        return _Found(_Replay(self._world.models, found), note)

    async def _picked(self) -> _Pick:
        candidates = await self._candidates.proposed(patience)
        usable = [one for one in candidates if one.usable]
        if not usable:
            return _Pick(_least_bad(candidates), self._note(_least_bad(candidates), 0, "default"))
        groups = self._groups(usable)
        if len(groups) == 1:
            return _Pick(usable[0], self._note(usable[0], len(usable), "agreement"))
        failpoint("ensemble.judging")
        await self._news.tell("judging")
        choice = await self._choice(groups)
        if isinstance(choice, Choice):
            first = groups[choice.choice - 1][0]
            note = self._note(first, len(usable), "judge", choice.reason)
        else:
            first = max(groups, key=len)[0]
            note = self._note(first, len(usable), "default", choice)
        return _Pick(first, note)

    def _note(self, candidate: Candidate, usable: int, by: By, reason: str = "") -> Chosen:
        return Chosen(
            candidates=self._news.count,
            by=by,
            candidate=candidate.number,
            usable=usable,
            tokens=0,
            cost=0.0,
            reason=reason,
        )

    def _groups(self, usable: Sequence[Candidate]) -> list[list[Candidate]]:
        """Candidates that propose the same, together."""
        groups: dict[bytes, list[Candidate]] = {}
        for one in usable:
            groups.setdefault(signature(_of(one), self._plan.tools), []).append(one)
        return list(groups.values())

    async def _choice(self, groups: Sequence[Sequence[Candidate]]) -> Choice | str:
        """What a judge says, or why there is no judge that says anything."""
        spent = self._candidates.beside
        if not has_room(self._facts, spent.tokens, spent.cost):
            return "a limit leaves no room for a judge"
        try:
            model = self._world.max_mode.judge(self._facts.model)
        except RoostError as error:
            return f"the judge cannot be asked: {error.message}"
        options = [Option(_of(group[0]), len(group)) for group in groups]
        seconds = self._world.max_mode.seconds
        question = Question(
            self._world,
            self._memory,
            ensemble_judge.request(model, self._facts.messages, options),
            read=ensemble_judge.reader(len(options)),
            again=ensemble_judge.again,
            seconds=seconds,
        )
        self._judge = model.ref
        try:
            async with asyncio.timeout(seconds):
                return await question.answer()
        except NoOpinionError as error:
            return str(error)
        except TimeoutError:
            return f"the judge {model.ref} did not answer within {seconds:.0f} seconds"
        finally:
            self._candidates.charge(question.tokens.total, question.cost)
            await question.show_no_retry()


def _of(candidate: Candidate) -> Proposal:
    assert candidate.proposal is not None
    return candidate.proposal


def _least_bad(candidates: Sequence[Candidate]) -> Candidate:
    """Of those that cannot be taken, the one from which an ordinary step goes on best: what it said
    and is to be mended, what it repeated, the error that it met.
    """
    ended = [one for one in candidates if one.proposal is not None]
    looped = [one for one in candidates if one.events]
    failed = [one for one in candidates if one.error is not None]
    return (ended or looped or failed or list(candidates))[0]


def _nothing(_db: Reader) -> str:
    return ""
