"""Runs the calls of one step: reads side by side, everything else in order, one result per call."""

import asyncio
import logging
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from roost.core.clock import now_ms
from roost.core.errors import DeniedError, RoostError, plain_words
from roost.core.failpoints import failpoint
from roost.core.ids import new_id
from roost.core.text import clean
from roost.permissions.asks import RejectedError
from roost.permissions.models import PermissionRequest
from roost.sessions.models import ModelName
from roost.sessions.parts import (
    FilePart,
    Span,
    ToolCompleted,
    ToolFailed,
    ToolRunning,
    ToolTime,
)
from roost.tools.actor_port import Stored
from roost.tools.arguments import ArgumentsError, Parsed, parse_call, read_object
from roost.tools.contract import Question, Tool, ToolContext, ToolError, ToolOutput
from roost.tools.output import cap
from roost.turn.duplicates import NOT_REPEATED, duplicates
from roost.turn.folder_rules import LOADED, StepRules
from roost.turn.hands import refusal
from roost.turn.loops import DUPLICATE
from roost.turn.memory import Memory
from roost.turn.prepare import Plan, switched_off
from roost.turn.recorder import CallDraft, Recorder
from roost.turn.world import Caller, CallPlace, World

logger = logging.getLogger(__name__)
PROGRESS_SECONDS = 0.5
"""How often the state of a running call is stored and shown, at most."""
FIRST_PROGRESS_SECONDS = 0.05
"""A call that ends sooner shows no progress, only its result."""
ABORTED = "The tool was stopped. It may have had effects; check before you repeat it."
NOT_RUN = "Not run: a call before it in this step was refused by the user."


class CallsResult(Struct, frozen=True):
    """What became of the calls of a step."""

    blocked: bool
    """A person refused one without a word on how to go on."""
    invalid: int
    """Calls that could not be read."""


async def run_calls(world: World, memory: Memory, plan: Plan, recorder: Recorder) -> CallsResult:
    """Run every call that the stream left in `recorder`, and store each result."""
    blocked = False
    invalid = 0
    repeated = duplicates(recorder.calls, plan.tools)
    drafts = [draft for draft in recorder.calls if draft.part.id not in repeated]
    batches = list(_batches(drafts, plan.tools))
    rules = StepRules(world.folder_rules, memory)
    if batches:
        world.undo.begin()
    for batch in batches:
        runs = [_Run(world, memory, plan, recorder, draft, rules=rules) for draft in batch]
        if blocked:
            for run in runs:
                await run.fail(NOT_RUN)
        elif len(runs) == 1:
            runs[0].ends_step = batch is batches[-1]
            await runs[0].go()
        else:
            async with asyncio.TaskGroup() as group:
                for run in runs:
                    group.create_task(run.go())
        blocked = blocked or any(run.blocked for run in runs)
        invalid += sum(run.invalid for run in runs)
    for draft in recorder.calls:
        if draft.part.id in repeated:
            run = _Run(world, memory, plan, recorder, draft, rules=rules)
            await run.repeat(repeated[draft.part.id])
    return CallsResult(blocked, invalid)


def _batches(
    drafts: Iterable[CallDraft], tools: Mapping[str, Tool[Any]]
) -> Iterable[list[CallDraft]]:
    """Neighbouring reads together, every other call alone."""
    reads: list[CallDraft] = []
    several = list(drafts)
    for draft in several:
        if len(several) > 1 and _only_reads(draft, tools):
            reads.append(draft)
            continue
        if reads:
            yield reads
            reads = []
        yield [draft]
    if reads:
        yield reads


def _only_reads(draft: CallDraft, tools: Mapping[str, Tool[Any]]) -> bool:
    try:
        parsed = parse_call(tools, draft.part.tool, draft.arguments, complete=draft.complete)
    except ArgumentsError:
        return False
    return parsed.tool.effects_of(parsed.arguments) == "reads"


class _Run:
    """One call on its way to its one result."""

    def __init__(
        self,
        world: World,
        memory: Memory,
        plan: Plan,
        recorder: Recorder,
        draft: CallDraft,
        *,
        rules: StepRules,
    ) -> None:
        self._world = world
        self._memory = memory
        self._plan = plan
        self._recorder = recorder
        self._draft = draft
        self._rules = rules
        self._touched: list[Path] = []
        self._part_id = draft.part.id
        self._agent = world.resolve_agent(plan.info.agent)
        self._start = now_ms()
        self._input: dict[str, Any] = {}
        self._title: str | None = None
        self._metadata: dict[str, Any] = {}
        self._news = asyncio.Event()
        self._show_due: asyncio.TimerHandle | None = None
        self._showing: asyncio.Task[None] | None = None
        self.blocked = False
        self.invalid = False
        self.ends_step = False
        """The step ends with this call: its result is stored with the end, in one transaction."""

    async def go(self) -> None:
        name = self._draft.part.tool
        tool = self._plan.tools.get(name)
        if tool is not None and not tool.given and (words := self._refusal(name)):
            await self.fail(words, denied={"denied": True})
            return
        try:
            parsed = parse_call(
                self._plan.tools,
                name,
                self._draft.arguments,
                complete=self._draft.complete,
            )
        except ArgumentsError as error:
            self.invalid = True
            self._input = error.input
            await self.fail(error.message)
            return
        self._input = parsed.input
        await self._recorder.set_tool(self._part_id, ToolRunning(self._input, Span(self._start)))
        self._memory.ran.append(self._part_id)
        failpoint("tool.running")
        await self._execute(parsed)
        failpoint("tool.done")

    def _refusal(self, name: str) -> str:
        return refusal(name, self._agent, self._memory.claim.actor, self._world.lenders)

    async def _execute(self, parsed: Parsed) -> None:
        try:
            output = await self._with_progress(parsed)
        except asyncio.CancelledError:
            await self.fail(ABORTED, interrupted=True)
            raise
        except RejectedError as error:
            self.blocked = error.blocks
            await self.fail(_words(error))
        except RoostError as error:
            stored = error.stored if isinstance(error, ToolError) else None
            await self.fail(_words(error), denied=_denial(error), stored=stored)
        except Exception as error:
            logger.exception("tool %s failed", parsed.tool.name)
            await self.fail(
                f"The tool itself failed ({type(error).__name__}: {plain_words(error)})"
            )
        else:
            await self._complete(output)

    async def _with_progress(self, parsed: Parsed) -> ToolOutput:
        """Run the tool while its progress is stored from time to time."""
        try:
            return await parsed.tool.run(parsed.arguments, self._context())
        finally:
            if self._show_due is not None:
                self._show_due.cancel()
            if self._showing is not None:
                self._showing.cancel()
                await asyncio.gather(self._showing, return_exceptions=True)

    def _begin_to_show(self) -> None:
        self._showing = asyncio.create_task(self._show_progress())

    async def _show_progress(self) -> None:
        while True:
            await self._news.wait()
            self._news.clear()
            state = ToolRunning(
                self._input, Span(self._start), self._title, dict(self._metadata) or None
            )
            await self._recorder.set_tool(self._part_id, state)
            await asyncio.sleep(PROGRESS_SECONDS)

    def _note(self, title: str | None, metadata: dict[str, Any]) -> None:
        if title is not None:
            self._title = title
        self._metadata.update(self._world.secrets.hide_in(metadata))
        self._news.set()
        if self._show_due is None:
            loop = asyncio.get_running_loop()
            self._show_due = loop.call_later(FIRST_PROGRESS_SECONDS, self._begin_to_show)

    def _context(self) -> ToolContext:
        world, place = self._world, self._world.place
        call = CallPlace(
            self._memory.claim,
            self._agent,
            self._plan.info.id,
            self._draft.part.call_id,
        )

        async def ask(request: PermissionRequest) -> None:
            await world.asker.permission(request, call)

        async def question(questions: tuple[Question, ...]) -> tuple[tuple[str, ...], ...]:
            return await world.asker.question(questions, call)

        model, caller = self._plan.request.model, self._caller()
        return ToolContext(
            actor=self._memory.claim.address,
            agent=self._plan.info.agent,
            turn_id=self._memory.claim.turn.id,
            message_id=self._plan.info.id,
            call_id=self._part_id,
            directory=place.directory,
            root=place.root,
            guard=place.guard,
            ledger=place.ledger,
            database=world.database,
            spill_folder=place.spill_folder,
            shell=place.shell,
            reads_images=model.reads_images,
            reads_pdf=model.reads_pdf,
            allow_private_hosts=world.allow_private_hosts,
            ask=ask,
            question=question,
            actors=world.actors(caller),
            sessions=world.sessions(caller),
            teams=world.teams(caller),
            plan=world.plan(caller),
            skills=world.skills,
            touched=self._touched.append,
            memory=world.memory,
            history=world.history,
            progress=self._note,
            record=world.undo.record(self._recorder, self._part_id),
        )

    def _caller(self) -> Caller:
        memory, info = self._memory, self._plan.info
        return Caller(
            claim=memory.claim,
            agent=self._agent,
            model=ModelName(info.provider_id, info.model_id, info.variant),
            message_id=info.id,
            seen=memory.messages[-1].info.id,
            switched_off=switched_off(memory.prompt),
            wait_until=memory.wait_for_mail,
        )

    async def _complete(self, answer: ToolOutput) -> None:
        place = self._world.place
        secrets = self._world.secrets
        text = secrets.hide(clean(answer.output))
        metadata = secrets.hide_in(dict(answer.metadata))
        if not answer.capped:
            text, spilled = cap(text, place.spill_folder, self._part_id)
            metadata["truncated"] = spilled is not None
        told = await self._rules.told(self._touched)
        if told.paths:
            text += secrets.hide(told.text)
            metadata[LOADED] = list(told.paths)
        attachments = tuple(
            FilePart(
                new_id("part"),
                self._plan.info.session_id,
                self._plan.info.id,
                media.mime,
                f"data:{media.mime};base64,{media.data}",
                media.name or None,
            )
            for media in answer.media
        )
        done = ToolCompleted(
            self._input,
            text,
            secrets.hide(clean(answer.title)),
            metadata,
            ToolTime(self._start, now_ms()),
            attachments or None,
        )
        await self._end(done, answer.stored)

    async def repeat(self, call_id: str) -> None:
        """End the call without running it: what it asks for is what `call_id` asked for. It is
        stored with the end of the step.
        """
        now = now_ms()
        given = read_object(self._draft.arguments)
        told = {DUPLICATE: call_id}
        done = ToolCompleted(given, NOT_REPEATED, "", told, ToolTime(now, now))
        await self._recorder.set_tool(self._part_id, done, later=True)

    async def fail(
        self,
        words: str,
        *,
        interrupted: bool = False,
        denied: Mapping[str, Any] | None = None,
        stored: Stored | None = None,
    ) -> None:
        """End the call as an error that says `words`; `denied` says how it was refused."""
        metadata = {**self._metadata, **(denied or {})}
        if interrupted:
            metadata["interrupted"] = True
        told = self._world.secrets.hide(clean(words))
        failed = ToolFailed(self._input, told, ToolTime(self._start, now_ms()), metadata or None)
        await self._end(failed, stored)

    async def _end(self, state: ToolCompleted | ToolFailed, stored: Stored | None) -> None:
        message_id = self._plan.info.id
        await self._recorder.set_tool(
            self._part_id,
            state,
            later=self.ends_step,
            stored=None if stored is None else lambda tx: stored(tx, message_id),
        )


def _words(error: RoostError) -> str:
    return f"{error.message}\n{error.hint}" if error.hint else error.message


def _denial(error: RoostError) -> dict[str, Any] | None:
    """How a call was refused, for who looks at it; None if it failed otherwise."""
    if not isinstance(error, DeniedError):
        return None
    named = {"permission": error.permission} if error.permission else {}
    return {"denied": True, **named, **({"needsPerson": True} if error.needs_person else {})}
