"""The other actors as one call of a tool sees them: makes, wakes, asks, waits for, stops them."""

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Final

import msgspec

from roost.actors import family, store, tree_budgets
from roost.actors.cancel import cancel_tree
from roost.actors.ending import notice_key
from roost.actors.header import RETURN_FORMAT
from roost.actors.models import Actor, CancelMode, Turn
from roost.actors.spawn import Brief, spawn
from roost.actors.view import ActorView, view
from roost.actors.wait import wait_for_turn
from roost.context.agents import Agent
from roost.context.state import session_state
from roost.core.clock import now_ms
from roost.core.errors import NotFoundError, UsageError
from roost.core.text import clean, echo
from roost.db.transaction import Reader, Transaction
from roost.db.watching import until
from roost.inbox import changes
from roost.inbox import store as inbox
from roost.inbox.models import Address, NoteBody
from roost.llm import local
from roost.llm.models import Model
from roost.runtime.port import Port
from roost.runtime.posting import post, words_of
from roost.runtime.project import Project
from roost.runtime.services import Services
from roost.sessions import store as sessions
from roost.sessions.models import MAIN, Session
from roost.tasks import store as tasks
from roost.tasks.models import TERMINAL
from roost.tools.actor_port import Finished, ModelView, Sent, SentView, Spawned, SpawnOrder
from roost.tools.answer_format import check_format
from roost.turn.world import Caller

STOP_SECONDS: Final = 5.0
"""How long a cancel waits until the actor has stopped."""
STOP_POLL_SECONDS: Final = 1.0
"""How often it is looked for whether an actor of another process has stopped."""


Finder = Callable[[Reader], Actor | None]


class ActorPort(Port):
    """See `roost.tools.actor_port.ActorPort`."""

    def __init__(
        self, caller: Caller, session: Session, project: Project, services: Services
    ) -> None:
        super().__init__(caller, session, services)
        self._project = project

    @property
    def agents(self) -> Mapping[str, str]:
        """The agents that a child can run as: name and description."""
        return spawnable(self._project.agents)

    # Children

    async def spawn(self, order: SpawnOrder) -> Spawned:
        """Make a child and send it its brief."""
        agent = self._agent(order.agent)
        brief = await self._brief(order, agent)
        claim = self._caller.claim

        def make(tx: Transaction) -> Spawned:
            task_id, note = _task(tx, claim.address.session_id, order.task_id)
            child = spawn(tx, claim, msgspec.structs.replace(brief, task_id=task_id))
            if task_id is not None:
                tasks.take_up(tx, child.session_id, task_id, child.actor_id)
            return Spawned(child.session_id, child.actor_id, 1, (note,) if note else ())

        return await self._write(make)

    def _agent(self, name: str) -> Agent:
        if name not in self.agents:
            near = get_close_matches(name, list(self.agents), n=1)
            guess = f" Did you mean {near[0]}?" if near else ""
            raise UsageError(
                f"there is no agent {echo(name)!r} for a subagent.{guess}",
                hint=f"There are: {', '.join(self.agents)}.",
            )
        return self._project.agents[name]

    async def _brief(self, order: SpawnOrder, agent: Agent) -> Brief:
        caller = self._caller
        task = clean(order.prompt).strip()
        if not task:
            raise UsageError("a child needs a prompt that says what it is to do")
        if order.context == "full" and order.model is not None:
            raise UsageError(
                "with context `full` a child runs on your own model",
                hint="Leave out `model`, or use context `none` or `state`.",
            )
        if order.output_schema is not None:
            check_format({"type": "json_schema", "schema": order.output_schema})
        elif agent.completion_gate:
            task += RETURN_FORMAT
        if order.context == "state":
            state = await self._services.database.read(lambda db: session_state(db, self._own))
            task = f"{state}\n\n{task}" if state else task
        wanted = order.model or (agent.model if order.context != "full" else None)
        model = self._services.models.named(self._project, wanted, caller.model)
        if tree_budgets.COST in caller.claim.turn.budgets.limits:
            _check_price(self._services.models.resolve(self._project, model.ref))
        return Brief(
            agent=agent.name,
            description=clean(order.description).strip() or task.split("\n", 1)[0][:60],
            task=task,
            model=model,
            context=order.context,
            watermark=caller.seen if order.context == "full" else None,
            background=order.background,
            output_schema=order.output_schema,
            tools=self._lent,
        )

    async def detach(self, actor_id: str) -> None:
        """Let a child that was waited for go on in the background."""
        address = await self._descendant(actor_id)
        await self._write(lambda tx: store.set_background(tx, address))

    async def cancel(self, actor_id: str, mode: CancelMode) -> ActorView:
        """Stop a child and all below it, and wait a moment until it has stopped."""
        address = await self._descendant(actor_id)
        await self._write(lambda tx: cancel_tree(tx, address, mode))
        await until(
            self._services.database,
            self._services.bus,
            lambda db: store.get(db, address),
            lambda actor: actor.cancel is None,
            concerns=lambda event: event.session_id == address.session_id,
            poll=STOP_POLL_SECONDS,
            seconds=STOP_SECONDS,
            window=0.01,
        )
        return await self._view(address)

    # Waiting

    async def wait(self, actor_id: str, timeout_ms: int, *, turn: int | None = None) -> Finished:
        """Wait for a turn of a child; see the protocol."""
        address = await self._descendant(actor_id)
        actor = await self._services.database.read(lambda db: store.get(db, address))
        number = turn or (actor.turns + 1 if actor.status == "pending" else actor.turns)
        waited = await wait_for_turn(
            self._services.database,
            self._services.bus,
            self._caller.claim,
            address,
            number,
            timeout_ms / 1000,
        )
        if waited.how != "ended" or waited.turn is None:
            return Finished(waited.how, await self._view(address))
        view_ = await self._view(address, of=waited.turn)
        return await self._finished(view_, actor, waited.turn)

    async def _finished(self, view_: ActorView, actor: Actor, turn: Turn) -> Finished:
        """The end of a turn, with the notice of it consumed once the answer is stored."""
        key, own = notice_key(turn.id), self._own
        if actor.parent != own:
            return Finished("ended", view_)
        row = await self._services.database.read(lambda db: inbox.by_key(db, own, key))
        if row is None or row.state != "queued":
            return Finished("finished before", view_)
        turn_id = self._caller.claim.turn.id

        def stored(tx: Transaction, message_id: str) -> None:
            changes.consume(tx, own, key, message_id, turn_id)

        return Finished("ended", view_, stored)

    async def wait_for_mail(self, timeout_ms: int) -> bool:
        """End the step, and begin the next when mail comes or the time is up."""
        own = self._own
        expected = await self._services.database.read(
            lambda db: inbox.has_mail(db, own) or family.has_company(db, store.get(db, own))
        )
        if expected:
            self._caller.wait_until(now_ms() + timeout_ms)
        return expected

    # Looking

    async def status(self, actor_id: str) -> ActorView:
        """An actor of this session, or a peer of it."""
        return await self._view(await self._relative(actor_id))

    async def listed(self) -> list[ActorView]:
        """The children of the caller, and of a subagent its siblings and parent too."""

        def read(db: Reader) -> list[ActorView]:
            own = store.get(db, self._own)
            found = family.children(db, self._own)
            if own.parent is not None:
                found += [store.get(db, own.parent), *family.children(db, own.parent)]
            return [view(db, actor) for actor in found if actor.address != self._own]

        return await self._services.database.read(read)

    async def sent(self, limit: int = 20) -> list[SentView]:
        """The newest messages that the caller sent, the newest last."""
        rows = await self._services.database.read(lambda db: inbox.sent_by(db, self._own, limit))
        now = now_ms()
        return [
            SentView(
                row.id,
                row.receiver.actor_id,
                row.state,
                (now - row.created) / 1000,
                row.body.text if isinstance(row.body, NoteBody) else "",
            )
            for row in rows
        ]

    async def _view(self, address: Address, *, of: Turn | None = None) -> ActorView:
        return await self._services.database.read(
            lambda db: view(db, store.get(db, address), with_result=True, of=of)
        )

    # Mail

    async def send(
        self, to_actor_id: str, text: str, *, to_session_id: str | None, reply_to: str | None
    ) -> Sent:
        """Say something to an actor; an idle one is woken by it."""
        words = words_of(text, self._services.spill_folder)
        claim = self._caller.claim

        def deliver(tx: Transaction) -> Sent:
            receiver = self._receiver(tx, to_actor_id, to_session_id)
            if isinstance(receiver, Sent):
                return receiver
            return post(tx, claim, receiver, words, reply_to=reply_to)

        return await self._write(deliver)

    def _receiver(self, tx: Transaction, actor_id: str, session_id: str | None) -> Actor | Sent:
        own = store.get(tx, self._own)
        if actor_id == "parent" and session_id is None and own.parent is not None:
            return store.get(tx, own.parent)
        where = session_id or self._session.id
        known = sessions.find(tx, where)
        if known is None or known.project_id != self._session.project_id:
            return Sent(
                None, f"receiver not found: there is no session {echo(where)} in this project"
            )
        actor = store.find(tx, Address(where, actor_id)) or store.find(
            tx, Address(actor_id, actor_id)
        )
        if actor is None and actor_id == MAIN:  # of a session whose first actor has another name
            actor = store.front(tx, where)
        if actor is None:
            ids = [one.actor_id for one in store.of_session(tx, where)]
            near = get_close_matches(actor_id, ids, n=3) or ids[:10]
            return Sent(
                None, f"receiver not found: {echo(actor_id)}. There are: {', '.join(near)}."
            )
        if actor.address == self._own:
            raise UsageError("an actor cannot write to itself")
        return actor

    # Models

    async def models(self, *, vision: bool | None, limit: int) -> list[ModelView]:
        """Models by usefulness."""
        return self._services.models.to_choose(
            self._project, self._caller.model, vision=vision, limit=limit
        )

    # Who may be meant

    async def _relative(self, actor_id: str) -> Address:
        """An actor of the own session, the own parent, or a peer below."""

        def find(db: Reader) -> Actor | None:
            own = store.get(db, self._own)
            if own.parent is not None and actor_id in {"parent", own.parent.actor_id}:
                return store.find(db, own.parent)
            here = store.find(db, Address(self._session.id, actor_id))
            if here is not None:
                return here
            peer = store.find(db, Address(actor_id, actor_id))
            return peer if peer is not None and family.is_below(db, peer, self._own) else None

        return (await self._known(find, actor_id)).address

    async def _descendant(self, actor_id: str) -> Address:
        """An actor below the caller: nobody waits for who waits for it, nor stops another's."""

        def find(db: Reader) -> Actor | None:
            for address in (Address(self._session.id, actor_id), Address(actor_id, actor_id)):
                actor = store.find(db, address)
                if actor is not None and family.is_below(db, actor, self._own):
                    return actor
            return None

        if actor_id == self._own.actor_id:
            raise UsageError("that is yourself")
        return (await self._known(find, actor_id)).address

    async def _known(self, find: Finder, actor_id: str) -> Actor:
        actor = await self._services.database.read(find)
        if actor is not None:
            return actor
        ids = [one.actor_id for one in await self.listed()]
        near = get_close_matches(actor_id, ids, n=3)
        guess = f" Did you mean {near[0]}?" if near else ""
        known = f"There are: {', '.join(ids[:20])}." if ids else "There are none yet."
        raise NotFoundError(f"there is no actor {echo(actor_id)} of yours.{guess}", hint=known)


def _check_price(model: Model) -> None:
    """Raise `UsageError` for a model of which a limit of cost could never stop anything."""
    if not model.price_known and model.provider != local.PROVIDER:
        raise UsageError(
            f"the price of {model.ref} is not known, and what all actors cost together is limited",
            hint="Choose one that `models` lists with its price, or leave out `model`.",
        )


def spawnable(agents: Mapping[str, Agent]) -> dict[str, str]:
    """The agents that a subagent can run as: name and description."""
    return {
        name: agent.description
        for name, agent in agents.items()
        if agent.mode in {"subagent", "all"} and not agent.hidden
    }


def _task(db: Reader, session_id: str, task_id: str | None) -> tuple[str | None, str]:
    """The task that a child is bound to, or why it works without one."""
    if task_id is None:
        return None, ""
    try:
        task = tasks.get(db, session_id, task_id)
    except (NotFoundError, ValueError) as error:
        return None, f"The child works without a task: {error}."
    if task.status in TERMINAL:
        return None, f"The child works without a task: {task_id} is {task.status}."
    return task.id, ""
