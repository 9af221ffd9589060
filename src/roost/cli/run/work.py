"""One run: opens the runtime, sends the prompt, follows it to its end, gives the exit code."""

import asyncio
import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct

from roost import __version__
from roost.actors.spending import spent_since_prompt
from roost.cli.failures import tell
from roost.cli.log import Log, LogOptions, logging_to
from roost.cli.run.checks import check_price, check_variant, is_said_by, unseen
from roost.cli.run.follow import Followed, Follower
from roost.cli.run.goals import of_its_goal
from roost.cli.run.last_words import LastWords
from roost.cli.run.outcome import Ended
from roost.cli.run.prompt import PipedInput
from roost.cli.run.request import RunOptions, open_session
from roost.cli.run.screens import JsonScreen, Screen, TextScreen
from roost.cli.run.sightings import Judged, Piece, Sighting, Warned
from roost.cli.run.spoken import slash_in, spoken
from roost.cli.run.stopping import Stop, stopping
from roost.cli.secrets import secrets_in, secrets_of
from roost.cli.storage import tell_notes
from roost.cli.telemetry import send_telemetry
from roost.cli.trusting import trust, withheld_words
from roost.config.paths import roost_paths
from roost.core.errors import RoostError
from roost.inbox.models import Address
from roost.llm.models import Model
from roost.runtime import shortening, side_command
from roost.runtime.goal_command import ClearGoal, ShowGoal, goal_command
from roost.runtime.goals import goal_since, taken_up
from roost.runtime.models import FileInput, PromptInput
from roost.runtime.runtime import Runtime
from roost.sessions.models import ModelName, Session
from roost.sessions.parts import StepFinishPart

logger = logging.getLogger(__name__)
LEFT_OPEN: Final = "stdin is still open; going on with what came so far"


class _Begun(Struct, frozen=True):
    """What a run starts from."""

    options: RunOptions
    prompt: PromptInput
    environ: Mapping[str, str]
    log: Log
    last: LastWords
    notes: tuple[str, ...] = ()
    late: list[str] = []
    """What is to be told when all else was."""


def work(given: dict[str, Any], piped: PipedInput) -> int:
    """Run the prompt. Raises `RoostError` for what stops it before a turn can begin."""
    options = msgspec.convert(given, RunOptions)
    last = LastWords(json=options.format == "json")
    try:
        return _prepared(options, piped, last)
    except Exception as error:
        last.fail(error)
        raise


def _prepared(options: RunOptions, piped: PipedInput, last: LastWords) -> int:
    options.check()
    environ = dict(os.environ)
    text = options.said(piped.text())
    slash = slash_in(text)
    if slash is not None and slash.name == side_command.NAME:
        from roost.cli.btw import in_a_run  # seldom asked

        return in_a_run(msgspec.structs.asdict(options), slash.arguments)
    if slash is not None and slash.name == shortening.NAME:
        from roost.cli.compact import in_a_run as compact_in_a_run

        return compact_in_a_run(msgspec.structs.asdict(options))
    match goal_command(text):
        case ClearGoal():
            return of_its_goal(options, "clear")
        case ShowGoal():
            return of_its_goal(options, "show")
        case _:
            pass
    prompt = options.prompt(text)
    directory = options.directory
    paths = roost_paths(environ)
    paths.prepare()
    secrets = secrets_in(environ)
    log_options = LogOptions.of(msgspec.structs.asdict(options), environ)
    with logging_to(paths.data, log_options, secrets=secrets) as log:
        if options.trust and options.session is None:
            trust(directory, environ, paths)
        notes = (LEFT_OPEN,) if piped.left_open else ()
        return asyncio.run(_run(_Begun(options, prompt, environ, log, last, notes)))


async def _run(begun: _Begun) -> int:
    last = begun.last
    with stopping(begun.options.time_limit, last.abandon) as stop:
        try:
            end = await _in_runtime(begun, stop)
        except Exception as error:
            last.fail(error)  # while a signal cannot come in between
            raise
        finally:
            tell("".join(f"note: {words}\n" for words in begun.late))
    logger.info("ended: %s, exit code %d", end.outcome, end.code)
    return end.code


async def _in_runtime(begun: _Begun, stop: Stop) -> Ended:
    options = begun.options
    async with Runtime.open(options.settings(begun.environ)) as runtime:
        session = await _session(runtime, options)
        if options.trust and options.session is not None:
            trust(Path(session.directory), begun.environ, roost_paths(begun.environ))
        begun.last.screen = _screen(options, session, stop)
        logger.info("roost %s runs %s in %s", __version__, session.id, session.directory)
        address = (await runtime.named(session.id)).address
        run = _Run(runtime, address, begun.last, stop)
        try:
            return await run.go(await _checked(runtime, session, begun))
        finally:
            if not run.heard and not options.resumes:
                # Nothing was said in it, so nobody would want to find it again.
                await runtime.delete_session(session.id)


async def _session(runtime: Runtime, options: RunOptions) -> Session:
    """The session to run in. Where there is none, the reason may lie with the database."""
    try:
        return await open_session(runtime, options)
    except RoostError:
        tell_notes(runtime.database)
        raise


def _screen(options: RunOptions, session: Session, stop: Stop) -> Screen:
    def reader_left() -> None:
        stop.ask("broken pipe")

    if options.format == "json":
        return JsonScreen(session.id, thinking=options.thinking, reader_left=reader_left)
    return TextScreen(
        session.directory,
        thinking=options.thinking,
        structured=options.schema is not None,
        reader_left=reader_left,
    )


async def _checked(runtime: Runtime, session: Session, begun: _Begun) -> PromptInput:
    """The prompt with its model, once the user was told what is to be known before the turn.

    Raises `RoostError` for a model that cannot be used, or not as the command line asks.
    """
    screen = begun.last.screen
    assert screen is not None
    notes = await _notes(runtime, session, begun)
    try:
        said = await spoken(runtime, session.id, begun.prompt, begun.options)
        begun = msgspec.structs.replace(begun, prompt=said.prompt)
        notes += said.notes
        name, model = await _model(runtime, session, begun)
    except RoostError as error:
        for note in notes:
            if not is_said_by(error, note):
                await screen.note(note)
        raise
    files = (part for part in begun.prompt.parts if isinstance(part, FileInput))
    for note in (*notes, *unseen(files, model)):
        await screen.note(note)
    prompt = await taken_up(runtime, session.id, begun.prompt)
    return msgspec.structs.replace(prompt, model=name)


async def _notes(runtime: Runtime, session: Session, begun: _Begun) -> list[str]:
    """What the user should know of the session and its configuration, each once."""
    loaded = (await runtime.project_of(session.id)).loaded
    begun.log.hide(secrets_of(loaded.config, begun.environ))
    begun.log.use_level(loaded.config.log_level)
    send_telemetry(runtime, loaded.config, begun.environ, begun.late.append)
    notes = [*begun.notes, *runtime.database.notes, *loaded.warnings, withheld_words(loaded)]
    notes.append(f"this session is damaged: {session.damage}" if session.damage else "")
    return list(dict.fromkeys(filter(None, notes)))


async def _model(runtime: Runtime, session: Session, begun: _Begun) -> tuple[ModelName, Model]:
    """The model that the prompt goes to. Raises `RoostError` as `_checked` does."""
    project = await runtime.project_of(session.id)
    address = (await runtime.named(session.id)).address
    _, name = await runtime.worlds.choice(project, begun.prompt, address)
    model = runtime.worlds.names.resolve(project, name.ref)
    check_price(model, begun.options.max_cost)
    check_variant(model, begun.options.variant)
    return name, model


class _Run:
    """One prompt in one session."""

    def __init__(self, runtime: Runtime, address: Address, last: LastWords, stop: Stop) -> None:
        assert last.screen is not None
        self._runtime = runtime
        self._address = address
        self._screen = last.screen
        self._last = last
        self._stop = stop
        self._counted: set[str] = set()
        self._goal_seen = 0
        """When the goal changed last, as far as it was shown (milliseconds since the epoch)."""
        self.heard = False
        """The prompt was accepted and not taken back: it stands in the session."""

    async def go(self, prompt: PromptInput) -> Ended:
        """Send `prompt`, show what follows, and tell how it ended. Raises `RoostError`."""
        followed = await self._follow(prompt)
        self._last.session_id = self._address.session_id if self.heard else None
        end = await self._last.finish(followed, self._stop)
        if followed.failure is None:
            await self._linger()
        return end

    async def _follow(self, prompt: PromptInput) -> Followed:
        session_id = self._address.session_id
        bus = self._runtime.bus
        with bus.subscribe(lambda event: event.session_id in {session_id, None}) as news:
            if self._stop.cause is not None:
                return Followed()
            await self._runtime.resume_session(session_id)
            accepted = await self._runtime.prompt(session_id, prompt)
            self.heard = True
            self._last.session_id = session_id
            follower = Follower(
                self._runtime, self._address, accepted.message_id, news=news, stop=self._stop
            )
            followed = await follower.follow(self._show)
        failed = followed.failure is not None
        self.heard = followed.result is not None or followed.left or failed
        if self.heard and not failed:
            self._last.total = await self._runtime.database.read(
                lambda db: spent_since_prompt(db, self._address, accepted.message_id)
            )
            followed = await self._with_goal(followed, accepted.message_id)
        return followed

    async def _with_goal(self, followed: Followed, message_id: str) -> Followed:
        """With the goal as it stands, shown if another process judged it."""
        session_id = self._address.session_id
        goal = await self._runtime.database.read(lambda db: goal_since(db, session_id, message_id))
        if goal is not None and goal.updated > self._goal_seen:
            await self._show([Judged(goal, None)])
        return msgspec.structs.replace(followed, goal=goal)

    async def _show(self, sightings: list[Sighting]) -> None:
        for sighting in sightings:
            if isinstance(sighting, Judged):
                self._see(sighting)
            part = sighting.part if isinstance(sighting, Piece) else None
            if isinstance(part, StepFinishPart) and part.id not in self._counted:
                self._counted.add(part.id)
                self._last.usage = self._last.usage.plus(part)
        for sighting in sightings:
            for warning in sighting.warnings if isinstance(sighting, Warned) else ():
                await self._screen.note(warning)
        await self._screen.show(sightings)

    def _see(self, judged: Judged) -> None:
        self._goal_seen = judged.goal.updated
        if judged.verdict is not None:
            self._last.usage = self._last.usage.judged(judged.verdict)

    async def _linger(self) -> None:
        """Answer what others queued in this session meanwhile, since this process runs it."""
        if self._stop.cause is not None or not self._runtime.scheduler.is_running(self._address):
            return
        if (await self._runtime.actor(self._address)).status == "idle":
            return
        await self._screen.note(
            "another prompt waits in this session; it is answered before the end"
        )
        waiting = asyncio.create_task(self._runtime.wait_idle(self._address.session_id))
        stopped = asyncio.create_task(self._stop.asked.wait())
        try:
            await asyncio.wait({waiting, stopped}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
            stopped.cancel()
            await asyncio.gather(waiting, stopped, return_exceptions=True)
