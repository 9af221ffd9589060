"""The sessions that one directs, as one call of a tool sees them."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from roost.actors import peers, store
from roost.actors.cancel import cancel_tree
from roost.actors.models import Actor
from roost.actors.peers import EVERY_CHILD, Peer, topic_key
from roost.actors.spawn import Brief, spawn_peer
from roost.context.agents import DEFAULT_AGENT, Agent
from roost.core.errors import NotFoundError, RoostError, UsageError
from roost.core.failpoints import failpoint
from roost.core.finishing import see_through
from roost.core.text import echo
from roost.db.transaction import Transaction
from roost.events.types import Event
from roost.inbox.models import Address
from roost.permissions import asks, forwarding
from roost.runtime.actor_port import ActorPort
from roost.runtime.isolate import UNDO_SECONDS, IsolatedPlace, clear, isolate, tidy, undo
from roost.runtime.port import Port
from roost.runtime.posting import post, words_of
from roost.runtime.project import Project
from roost.runtime.services import Services
from roost.runtime.session_ask import ask_session
from roost.runtime.session_join import join
from roost.runtime.session_views import (
    children,
    find_child,
    read_view,
    tree_view,
    with_tree,
    worktree_of,
)
from roost.sessions import store as sessions
from roost.sessions.models import NewSession, Session
from roost.tools.actor_port import Sent
from roost.tools.session_port import (
    Ended,
    Joined,
    Opened,
    Reply,
    SessionOrder,
    SessionView,
)
from roost.turn.world import Caller
from roost.workspace import worktrees
from roost.workspace.guard import Located

TITLE: Final = 60
"""Characters of a title that is made of a task."""


class _Plan(Struct, frozen=True, kw_only=True):
    """A session that can be made."""

    brief: Brief
    session: NewSession
    key: str
    place: IsolatedPlace | None


class SessionPort(Port):
    """See `roost.tools.session_port.SessionPort`."""

    def __init__(
        self, caller: Caller, session: Session, project: Project, services: Services
    ) -> None:
        super().__init__(caller, session, services)
        self._project = project
        self._actors = ActorPort(caller, session, project, services)

    # Making

    def outside(self, directory: str) -> str | None:
        """The folder that `directory` means, if it lies outside of the caller's project."""
        located = self._located(directory)
        return None if located.inside else str(located.real)

    def _located(self, directory: str) -> Located:
        located = self._project.guard.locate(directory, self._project.directory)
        if not located.real.is_dir():
            raise UsageError(f"there is no folder {located.path}")
        self._project.guard.require(located, write=True)
        return located

    async def create(self, order: SessionOrder) -> Opened:
        """Begin a session, or give the task to the one of its topic; see the protocol."""
        task = self._task(order.task)
        key = topic_key(order.topic)
        if order.topic.strip() and not key:
            raise UsageError(f"the topic {echo(order.topic)!r} has no letter or digit")
        if key and (routed := await self._write(lambda tx: self._route(tx, key, task))):
            return routed
        plan = await self._plan(order, task, key)
        making = asyncio.ensure_future(self._write(lambda tx: self._open(tx, plan, task)))
        try:
            opened = await asyncio.shield(making)
        except asyncio.CancelledError:
            undone = self._stopped(making, plan)
            await see_through(undone, "a session was not undone", seconds=UNDO_SECONDS)
            raise
        except BaseException:
            await undo(plan.place)
            raise
        await _known(plan, opened)
        return opened

    async def _stopped(self, making: "asyncio.Future[Opened]", plan: _Plan) -> None:
        """The call was stopped while the session was made: so is the session, if it was."""
        opened: Opened | None = None
        with suppress(RoostError):  # then there is none
            opened = await making
        if opened is None:
            await undo(plan.place)
            return
        await _known(plan, opened)
        if not opened.new:
            return
        address = Address(opened.session_id, opened.session_id)
        await self._write(lambda tx: cancel_tree(tx, address, "forced"))

    def _task(self, text: str) -> str:
        return words_of(
            text, self._services.spill_folder, "a session needs words that say what to do"
        )

    def _route(self, tx: Transaction, key: str, task: str) -> Opened | None:
        """Give the task to the session of a topic; None if there is none that can be reached."""
        known = peers.by_topic(tx, self._own.session_id, key)
        if known is None:
            return None
        session = sessions.get(tx, known.session_id)
        if not Path(session.directory).is_dir():
            peers.free_topic(tx, known.session_id)
            return None
        child = store.front(tx, known.session_id)
        sent = post(tx, self._caller.claim, child, task)
        return Opened(
            session_id=session.id,
            new=False,
            title=session.title,
            directory=session.directory,
            sent=sent,
        )

    async def _plan(self, order: SessionOrder, task: str, key: str) -> _Plan:
        first_line = task.split("\n", 1)[0][:TITLE]
        title = order.title.strip() or order.topic.strip() or first_line
        directory = self._project.directory
        if order.directory is not None:
            directory = self._located(order.directory).real
        project_id = await self._project_id(directory)
        place = None
        if order.isolate:
            folder = self._services.projects.worktrees / project_id
            noted = self._services.projects.tree_notes
            await clear(noted, self._trees_in_use)
            await tidy(directory, folder, await self._trees_in_use())
            place = await isolate(directory, folder, title, noted)
        try:
            where = place.directory if place else directory
            brief = await self._brief(order, task, title, where)
        except BaseException:
            await undo(place)
            raise
        if place is not None:
            brief = msgspec.structs.replace(brief, task=f"{task}\n\n{place.words}")
        session = NewSession(directory=str(where), project_id=project_id, title=title)
        return _Plan(brief=brief, session=session, key=key, place=place)

    async def _trees_in_use(self) -> set[Path]:
        return await self._services.database.read(peers.worktrees)

    async def _project_id(self, directory: Path) -> str:
        if self._project.guard.contains(directory.resolve()):
            return self._session.project_id
        return await self._services.projects.id_of(directory, self._services.database)

    async def _brief(self, order: SessionOrder, task: str, title: str, where: Path) -> Brief:
        # An earlier tree of that name may have been another one.
        self._services.projects.forget(where)
        project = await self._services.projects.open(where)
        agent = _agent(project, order.agent or DEFAULT_AGENT)
        wanted = order.model or agent.model
        model = self._services.models.named(project, wanted, self._caller.model)
        # It is called from there, under the settings there.
        self._services.models.resolve(project, model.ref)
        return Brief(agent=agent.name, description=title, task=task, model=model, tools=self._lent)

    def _open(self, tx: Transaction, plan: _Plan, task: str) -> Opened:
        """Make the session, unless somebody made one for its topic meanwhile: then give it the
        task. Topic, session, actor and brief are there together or not at all.
        """
        if plan.key and (routed := self._route(tx, plan.key, task)):
            return routed
        child = spawn_peer(tx, self._caller.claim, plan.brief, plan.session)
        tree = plan.place.tree if plan.place else None
        peers.put(
            tx,
            Peer(
                session_id=child.session_id,
                parent_session_id=self._own.session_id,
                topic=plan.key or None,
                worktree=tree.directory if tree else None,
                branch=tree.branch if tree else None,
                base=tree.base if tree else None,
            ),
        )
        return Opened(
            session_id=child.session_id,
            new=True,
            title=plan.session.title,
            directory=plan.session.directory,
            tree=tree_view(tree),
            notes=plan.place.notes if plan.place else (),
        )

    # Talking

    async def send(self, session_id: str, words: str) -> Sent:
        """Say something to a session."""
        child = await self._child(session_id)
        session = await self._services.database.read(lambda db: sessions.get(db, child.session_id))
        if not Path(session.directory).is_dir():
            return Sent(None, f"the folder of {session_id} is gone: {session.directory}")
        task = self._task(words)
        return await self._write(
            lambda tx: post(tx, self._caller.claim, store.get(tx, child.address), task)
        )

    async def ask(self, session_id: str, question: str) -> Reply:
        """Let a copy of the session that can only read answer a question."""
        words = self._task(question)
        child = await self._child(session_id)
        return await ask_session(
            self._services.database, self._services.bus, self._caller.claim, child, words
        )

    async def join(self, session_ids: list[str], timeout_ms: int) -> Joined:
        """Wait until all of them are at rest; unknown ones are not waited for."""
        claim = self._caller.claim
        return await join(
            self._services.database, self._services.bus, claim, session_ids, timeout_ms / 1000
        )

    # Looking

    async def status(self, session_id: str) -> SessionView:
        """One session, with its working tree and its last words."""
        child = await self._child(session_id)
        return await self._view(child)

    async def _view(self, child: Actor) -> SessionView:
        found = await self._services.database.read(
            lambda db: read_view(db, store.get(db, child.address), with_result=True)
        )
        return await with_tree(self._services.database, found)

    async def listed(self, *, with_trees: bool) -> list[SessionView]:
        """Every session that the caller began, in order."""
        return await children(self._services.database, self._own, with_trees=with_trees)

    # Changing

    async def switch(self, session_id: str) -> None:
        """Ask the clients of the caller's folder to show another session."""
        child = await self._child(session_id)
        properties = {"sessionID": child.session_id}
        event = Event("tui.session.select", properties, directory=self._session.directory)
        await self._write(lambda tx: tx.emit(event))

    async def set_agent(self, session_id: str, agent: str) -> SessionView:
        """Let a session work as another agent from its next turn on."""
        child = await self._child(session_id)
        session = await self._services.database.read(lambda db: sessions.get(db, child.session_id))
        chosen = _agent(await self._services.projects.open(Path(session.directory)), agent)
        await self._write(lambda tx: store.set_agent(tx, child.address, chosen.name))
        return await self._view(child)

    async def cancel(self, session_id: str) -> Ended:
        """Stop a session, and remove its working tree if nothing is lost with it."""
        child = await self._child(session_id)
        await self._write(lambda tx: self._withdraw_requests(tx, child))
        await self._actors.cancel(child.actor_id, "graceful")
        return Ended(await self._view(child), await self._clear(child))

    def _withdraw_requests(self, tx: Transaction, child: Actor) -> None:
        """Who is to stop waits for no answer any more."""
        if store.get(tx, child.address).status == "running":
            cancel_tree(tx, child.address, "graceful")
            for ask in asks.listed_below(tx, child.session_id):
                asks.withdraw(tx, ask)

    async def _clear(self, child: Actor) -> str:
        """Remove the working tree of a session at rest; what became of it."""
        peer = await self._services.database.read(lambda db: peers.find(db, child.session_id))
        tree = worktree_of(peer)
        if tree is None:
            return ""
        stays = f"Its working tree stays at {tree.directory} (branch {tree.branch})"
        now = await self._services.database.read(lambda db: store.get(db, child.address))
        if now.status != "idle":
            return f"{stays}, since it has not stopped yet."
        removal = await worktrees.remove(self._project.directory, tree)
        if not removal.removed:
            return f"{stays}: {removal.reason}."
        await self._write(lambda tx: peers.forget_worktree(tx, child.session_id))
        self._services.projects.forget(tree.directory)
        return "Its working tree held nothing that is not merged, and is removed."

    async def approve(self, request_id: str) -> str:
        """Agree once to a request; the session that asked."""
        ask = await self._write(lambda tx: forwarding.approve(tx, request_id, self._own))
        return ask.session_id

    async def grant(self, session_id: str) -> int:
        """Agree to what a session asks from now on (`*`: each); how many requests that answered."""
        child_id = session_id
        if session_id != EVERY_CHILD:
            child_id = (await self._child(session_id)).session_id
        answered = await self._write(lambda tx: forwarding.grant(tx, self._own, child_id))
        return len(answered)

    async def _child(self, session_id: str) -> Actor:
        """The actor that fronts a session of the caller. Raises `NotFoundError`."""
        found = await self._services.database.read(lambda db: find_child(db, self._own, session_id))
        if found is not None:
            return found
        ids = [one.actor.session_id for one in await self.listed(with_trees=False)]
        near = get_close_matches(session_id, ids, n=1)
        guess = f" Did you mean {near[0]}?" if near else ""
        known = f"There are: {', '.join(ids[:20])}." if ids else "You began none yet."
        raise NotFoundError(f"there is no session {echo(session_id)} of yours.{guess}", hint=known)


async def _known(plan: _Plan, opened: Opened) -> None:
    """What becomes of the tree of an order: a session works in it, or another one got the task."""
    if not opened.new:
        await undo(plan.place)
    elif plan.place is not None:
        failpoint("isolate.stored")
        plan.place.note.done()


def directable(agents: Mapping[str, Agent]) -> dict[str, str]:
    """The agents that a session can work as: name and description."""
    return {
        name: agent.description
        for name, agent in agents.items()
        if agent.mode in {"primary", "all"} and not agent.hidden
    }


def _agent(project: Project, name: str) -> Agent:
    agent = project.agent(name)
    if agent.name not in directable(project.agents):
        known = ", ".join(directable(project.agents))
        raise UsageError(
            f"no session works as the agent {agent.name!r}", hint=f"There are: {known}."
        )
    return agent
