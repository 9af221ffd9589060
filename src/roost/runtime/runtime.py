"""Roost without a surface: everything that the CLI and the server can ask for."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from roost.actors import store as actors
from roost.actors.cancel import cancel_session, stop, stop_below
from roost.actors.models import Actor, CancelMode
from roost.actors.owner import Owner
from roost.actors.send import send
from roost.actors.unheard import end_unheard, withdraw
from roost.config.paths import Paths, roost_paths
from roost.core.amounts import counted
from roost.core.clock import now_ms
from roost.core.errors import BusyError, StorageError, UsageError
from roost.core.ids import is_from_the_future, new_id
from roost.db.database import Database
from roost.db.transaction import Transaction
from roost.events.bus import Bus
from roost.events.types import Event
from roost.goals import store as goals
from roost.inbox import changes
from roost.inbox import store as inbox
from roost.inbox.models import Address, InboxRow, Letter, PromptBody, PromptPart
from roost.memory.layout import Layout
from roost.permissions import asks, gate
from roost.permissions.asks import Ask
from roost.permissions.models import Reply
from roost.runtime.attachments import Attachments
from roost.runtime.deleting import delete_session
from roost.runtime.goal_command import with_note
from roost.runtime.leftovers import Leftovers
from roost.runtime.models import Accepted, PromptInput, Settings, TurnResult
from roost.runtime.old_outputs import sweep_outputs
from roost.runtime.old_snapshots import sweep_snapshots
from roost.runtime.project import Project, Projects
from roost.runtime.scheduler import Scheduler
from roost.runtime.titles import Titles
from roost.runtime.transcripts import Transcripts
from roost.runtime.turn_log import TurnLog
from roost.runtime.turn_waits import TurnWaits
from roost.runtime.turn_watch import TurnWatch
from roost.runtime.undo_cleanup import make_way
from roost.runtime.worlds import Worlds
from roost.sessions import store as sessions
from roost.sessions import transcript
from roost.sessions.models import NewSession, Session
from roost.tools.answer_format import check_format
from roost.turn.by_hand import asked


class Runtime:
    """One process's view of all sessions. Open it with `Runtime.open`.

    Methods raise `NotFoundError`, `UsageError`, `ConfigError`, `ConflictError`, `BusyError` or
    `StorageError`, and nothing else on purpose.
    """

    def __init__(
        self, paths: Paths, settings: Settings, database: Database, bus: Bus, owner: Owner
    ) -> None:
        self.paths = paths
        self.settings = settings
        self.database = database
        self.bus = bus
        self.projects = Projects(paths, settings)
        self.worlds = Worlds(self.projects, database, bus, paths, settings, owner)
        self.undo = self.worlds.undo
        self.watch = TurnWatch(database, bus)
        self.watch.add(TurnLog())
        self.scheduler = Scheduler(
            database,
            bus,
            owner,
            self.worlds,
            self.watch,
            recover_all=settings.recover_all,
            runs_actors=settings.runs_actors,
        )
        self.transcripts = Transcripts(database, self.scheduler.texts)
        self._waits = TurnWaits(database, bus, self.scheduler)
        self._titles = Titles(self.worlds, database)
        self._leftovers = Leftovers(database, self.projects.tree_notes)

    @classmethod
    @asynccontextmanager
    async def open(cls, settings: Settings) -> AsyncGenerator["Runtime", None]:
        """A runtime that works until the block ends; running turns are then interrupted."""
        paths = roost_paths(settings.environment)
        paths.prepare()
        bus = Bus()
        database = Database.open(paths.database, bus)
        try:
            owner = Owner(paths.state / "owners")
        except StorageError:
            database.close()
            raise
        in_order = False
        try:
            runtime = cls(paths, settings, database, bus, owner)
            await runtime.scheduler.start()
            if settings.runs_actors:
                runtime._leftovers.begin()
            try:
                yield runtime
            finally:
                await runtime._leftovers.close()
                await runtime._titles.close()
                await runtime.scheduler.close()
                await runtime.watch.close()
                await runtime.worlds.close()
                in_order = runtime.scheduler.in_order
            if settings.runs_actors:
                await sweep_outputs(runtime.projects, paths)
                await sweep_snapshots(database, runtime.projects, paths)
        finally:
            database.close()
            owner.close(in_order=in_order)

    # Sessions

    async def create_session(
        self,
        directory: Path,
        *,
        title: str = "",
        parent_id: str | None = None,
        permission: list[dict[str, str]] | None = None,
        agent: str | None = None,
    ) -> Session:
        """A new session in `directory` with its main actor, idle."""
        project = await self.projects.open(directory)
        chosen = project.agent(agent)
        new = NewSession(
            directory=str(project.directory),
            project_id=await self.project_id(project.directory),
            title=title,
            parent_id=parent_id,
            permission=permission,
        )

        def create(tx: Transaction) -> Session:
            session = sessions.create(tx, new)
            actors.register(tx, actors.new_main(session.id, chosen.name))
            return session

        return await self.database.write(create)

    async def project_id(self, directory: Path) -> str:
        """See `Projects.id_of`."""
        return await self.projects.id_of(directory, self.database)

    async def session(self, session_id: str) -> Session:
        """The session of that id. Raises `NotFoundError`."""
        return await self.database.read(lambda db: sessions.get(db, session_id))

    async def forget_project(self, directory: Path) -> None:
        """Read the configuration of `directory` again when it is next used, and tell clients."""
        self.projects.forget(directory)
        properties = {"directory": str(directory)}
        event = Event("server.instance.disposed", properties, directory=str(directory))
        await self.database.write(lambda tx: tx.emit(event))

    async def project_of(self, session_id: str) -> Project:
        """The project of a session's directory."""
        return await self.projects.open(Path((await self.session(session_id)).directory))

    async def delete_session(self, session_id: str, *, force: bool = False) -> list[str]:
        """Stop what runs in the session and remove it with all that belongs to it.

        Raises `ConflictError` if a working tree of it holds work that is not merged, unless with
        `force`: such trees are then left where they are, and told.
        """

        async def stop_all() -> None:
            mark = await self.database.write(lambda tx: cancel_session(tx, session_id, "forced"))
            for actor in mark:
                await self.wait_idle(actor.session_id, actor.actor_id)

        layout = Layout(self.paths.data)
        return await delete_session(self.database, layout, session_id, stop_all, force=force)

    # Prompts

    async def prompt(
        self,
        session_id: str,
        given: PromptInput,
        *,
        actor_id: str | None = None,
        idle_only: bool = False,
        news: tuple[Event, ...] = (),
        command: str | None = None,
        order: Mapping[str, Any] | None = None,
    ) -> Accepted:
        """Accept a prompt: once this returns it is stored and will be answered.

        It is for the actor `actor_id`, or for the one that fronts the session.
        With `idle_only` a busy actor refuses it with `BusyError`; otherwise it steers the running
        turn at its next step. `news` is told with its commit, unless it was accepted before.
        `command` is run in place of asking a model, for an idle actor alone; `order` is the format
        of a prompt that asks for something else which is no answer.
        """
        named = await self.named(session_id, actor_id)
        address = named.address
        if given.goal is not None:
            given = _checked_goal(named, given)
        body = await self.body_of(address, with_note(given))
        if command is not None:
            order = asked(command)
        if order is not None:
            body = msgspec.structs.replace(body, format=dict(order))

        await self.undo.finish(session_id)

        def accept(tx: Transaction) -> Accepted:
            end_unheard(tx, address)
            actor = actors.get(tx, address)
            if (idle_only or command is not None) and actor.status != "idle":
                raise BusyError(f"session {session_id} is busy")
            make_way(tx, address, body.message_id)
            letter = Letter(
                receiver=address,
                kind="prompt",
                body=body,
                key=body.message_id,
                wake=not given.no_reply,
            )
            receipt = send(tx, letter)
            sessions.touch(tx, session_id, now_ms())
            if given.goal is not None and receipt.new:
                goals.set_goal(tx, session_id, given.goal)
            for event in news if receipt.new else ():
                tx.emit(event)
            return Accepted(body.message_id, receipt.id, receipt.new)

        accepted = await self.database.write(accept)
        if not given.no_reply:
            self.scheduler.wake(address)
        if accepted.new and named.fronts and order is None:
            self._titles.consider(session_id, body)
        return accepted

    async def body_of(self, address: Address, given: PromptInput) -> PromptBody:
        """A prompt to an actor as it is stored: files read, agent, model and ids chosen."""
        check_format(given.format)
        if given.message_id is not None and is_from_the_future(given.message_id):
            raise UsageError(f"{given.message_id} is an id from the future; check the clock")
        session = await self.session(address.session_id)
        project = await self.projects.open(Path(session.directory))
        agent, model = await self.worlds.choice(project, given, address)
        last = await self.database.read(lambda db: transcript.last_id(db, session.id))
        message_id = given.message_id or new_id("message", after=last)
        attachments = Attachments(session.id, message_id, project)
        return PromptBody(
            message_id=message_id,
            agent=agent.name,
            model=model,
            parts=await attachments.parts(given),
            created=now_ms(),
            system=given.system,
            tools=given.tools,
            format=given.format,
            max_mode=given.max_mode,
        )

    async def queue(self, session_id: str, actor_id: str | None = None) -> list[InboxRow]:
        """What waits for an actor, in the order it will be read."""
        address = (await self.named(session_id, actor_id)).address
        return await self.database.read(lambda db: inbox.queued(db, address))

    async def withdraw(self, inbox_id: str) -> InboxRow:
        """Take back a queued prompt; `inbox_id` may be the id of its message."""
        return await self.database.write(lambda tx: withdraw(tx, inbox_id))

    async def edit(self, inbox_id: str, parts: tuple[PromptPart, ...]) -> InboxRow:
        """Replace what a queued prompt says."""
        return await self.database.write(lambda tx: changes.edit(tx, inbox_id, parts))

    # Turns

    async def abort(
        self,
        session_id: str,
        *,
        actor_id: str | None = None,
        turn_id: str | None = None,
        mode: CancelMode = "forced",
        tree: bool = False,
    ) -> bool:
        """Stop the running turn and the children it waits for; with `tree` all below the actor.

        What works in the background goes on, and its news waits until a person speaks to the actor.
        False when nothing is at work, or it is not `turn_id` that runs.
        """
        address = (await self.named(session_id, actor_id)).address
        return bool(
            await self.database.write(
                lambda tx: stop(tx, address, mode, turn_id=turn_id, tree=tree)
            )
        )

    async def wait_turn(self, session_id: str, message_id: str) -> TurnResult:
        """Wait until the turn that takes up the prompt `message_id` has ended.

        Raises `NotFoundError` if the prompt is withdrawn meanwhile, `ConflictError` if the session
        is deleted.
        """
        return await self._waits.turn(session_id, message_id)

    async def wait_idle(self, session_id: str, actor_id: str | None = None) -> Actor:
        """Wait until the actor sleeps, and give it."""
        address = (await self.named(session_id, actor_id)).address
        return await self._waits.idle(address)

    async def wait_tree(self, address: Address, result: TurnResult) -> TurnResult:
        """Wait until the actor and all below it are at rest, after the turn of `result`.

        The result of the last turn that came of it: the actor may have been woken by what others
        reported. A further prompt is somebody else's matter, and ends the wait. What another
        process left below the actor when it died is taken up.
        """
        return await self._waits.tree(address, result)

    async def stop_below(self, address: Address) -> bool:
        """Stop all that is still to come of a turn that has ended; whether there was any."""
        return await self.database.write(lambda tx: stop_below(tx, address))

    async def actor(self, address: Address) -> Actor:
        """The actor at that address. Raises `NotFoundError`."""
        return await self.database.read(lambda db: actors.get(db, address))

    async def named(self, session_id: str, actor_id: str | None = None) -> Actor:
        """The actor of that id in a session, or the one that fronts it. Raises `NotFoundError`."""
        return await self.database.read(lambda db: actors.named(db, session_id, actor_id))

    async def resume_session(self, session_id: str) -> None:
        """Close interrupted turns of a session and those below it; go on with the mail there."""
        for one in await self.database.read(lambda db: sessions.ids_within(db, session_id)):
            await self.scheduler.recover(one)

    # Requests to the person

    async def asks(self) -> list[Ask]:
        """What waits for an answer in all sessions, the oldest first."""
        return await self.database.read(asks.listed)

    async def reply_permission(self, ask_id: str, reply: Reply, message: str | None = None) -> Ask:
        """Answer a permission request; `message` goes to the model with a `reject`."""
        ask = await self.database.read(lambda db: asks.get(db, ask_id))
        session = await self.session(ask.session_id)
        return await self.database.write(
            lambda tx: gate.reply(tx, ask_id, reply, message, session.project_id)
        )

    async def reply_question(self, ask_id: str, answers: list[list[str]]) -> Ask:
        """Answer a question, one list of labels for each of its questions."""
        ask = await self.database.read(lambda db: asks.get(db, ask_id))
        asked = ask.request.get("questions", ())
        if len(asked) != len(answers):
            raise UsageError(f"request {ask_id} has {counted(len(asked), 'question')}")
        return await self.database.write(
            lambda tx: asks.answer(tx, ask_id, "question", {"answers": answers})
        )

    async def reject_question(self, ask_id: str) -> Ask:
        """Leave a question unanswered; the turn stops."""
        return await self.database.write(
            lambda tx: asks.answer(tx, ask_id, "question", {"rejected": True})
        )


def _checked_goal(actor: Actor, given: PromptInput) -> PromptInput:
    """`given` with its goal as it will be stored. Raises `UsageError`."""
    if not actor.fronts:
        raise UsageError(
            f"{actor.actor_id} cannot have a goal",
            hint="A goal is the session's: leave the actor out.",
        )
    condition = goals.check_condition(given.goal or "")
    return msgspec.structs.replace(given, goal=condition)
