"""Other actors as tools see them, without a runtime: what is asked is noted, answers are set."""

import asyncio
from collections.abc import Mapping
from typing import Any

from roost.actors.models import CancelMode
from roost.core.errors import NotFoundError
from roost.db.transaction import Transaction
from roost.inbox.models import Address
from roost.inbox.notices import NoticeBody
from roost.tools.actor_port import (
    ActorView,
    Finished,
    ModelView,
    Sent,
    SentView,
    Spawned,
    SpawnOrder,
)

AGENTS = {"general": "Does anything.", "explore": "Finds things out."}


def a_view(actor_id: str = "explore-1", **changes: Any) -> ActorView:
    """A child that is at work."""
    fields: dict[str, Any] = {
        "session_id": "ses_1",
        "actor_id": actor_id,
        "agent": "explore",
        "description": "Find the loader",
        "mode": "subagent",
        "status": "running",
        "liveness": "progressing",
        "parent": Address("ses_1", "main"),
        "depth": 1,
        "background": True,
        "model": None,
        "age": 130.0,
        "quiet": 3.25,
        "doing": "bash: make test",
        "turns": 1,
        "steps": 5,
        "tokens": 12345,
        "cost": 0.0123,
        "queued": 2,
    }
    return ActorView(**{**fields, **changes})


def an_end(outcome: str = "success", result: str = "It is in load.py.", **notice: Any) -> ActorView:
    """A child whose turn has ended."""
    columns: dict[str, Any] = {"notice": "completed", "result": result, **notice}
    told = NoticeBody(session_id="ses_1", actor_id="explore-1", **columns)
    return a_view(
        status="idle",
        liveness="idle",
        doing="",
        queued=0,
        outcome=outcome,
        reported_status=notice.get("status"),
        summary=notice.get("summary"),
        notice=told,
        result=result,
    )


def consume(tx: Transaction, message_id: str) -> None:
    """What the runtime does with a notice once a result is stored."""


class FakeActors:
    """See `roost.tools.actor_port.ActorPort`."""

    def __init__(self) -> None:
        self.done: list[tuple[Any, ...]] = []
        """Everything that was asked, in order."""
        self.views = {"explore-1": a_view()}
        self.finished = Finished("ended", an_end(), consume)
        self.answer = Sent("inb_1")
        self.messages: list[SentView] = []
        self.choices = [ModelView("p/m", "200k tokens"), ModelView("p/small", "")]
        self.notes: tuple[str, ...] = ()
        self.has_company = True
        self.waiting = asyncio.Event()
        self.may_end: asyncio.Event | None = None
        """A wait goes on until this is set."""
        self.making = asyncio.Event()
        self.may_make: asyncio.Event | None = None
        self.cannot_stop: asyncio.Event | None = None

    @property
    def agents(self) -> Mapping[str, str]:
        return AGENTS

    async def spawn(self, order: SpawnOrder) -> Spawned:
        self.making.set()
        if self.may_make is not None:
            await self.may_make.wait()
        self.done.append(("spawn", order))
        return Spawned("ses_1", f"{order.agent}-1", 1, self.notes)

    async def wait(self, actor_id: str, timeout_ms: int, *, turn: int | None = None) -> Finished:
        self.done.append(("wait", actor_id, timeout_ms, turn))
        self.waiting.set()
        if self.may_end is not None:
            await self.may_end.wait()
        return self.finished

    async def wait_for_mail(self, timeout_ms: int) -> bool:
        self.done.append(("mail", timeout_ms))
        return self.has_company

    async def detach(self, actor_id: str) -> None:
        self.done.append(("detach", actor_id))

    async def status(self, actor_id: str) -> ActorView:
        if actor_id not in self.views:
            raise NotFoundError(f"there is no actor {actor_id} of yours")
        return self.views[actor_id]

    async def listed(self) -> list[ActorView]:
        return list(self.views.values())

    async def sent(self, limit: int = 20) -> list[SentView]:
        return self.messages[-limit:]

    async def cancel(self, actor_id: str, mode: CancelMode) -> ActorView:
        self.done.append(("cancel", actor_id, mode))
        if self.cannot_stop is not None:
            await self.cannot_stop.wait()
        self.done.append(("stopped", actor_id))
        view = await self.status(actor_id)
        return view if view.status == "idle" else an_end("cancelled", "")

    async def send(
        self, to_actor_id: str, text: str, *, to_session_id: str | None, reply_to: str | None
    ) -> Sent:
        self.done.append(("send", to_actor_id, text, to_session_id, reply_to))
        return self.answer

    async def models(self, *, vision: bool | None, limit: int) -> list[ModelView]:
        self.done.append(("models", vision, limit))
        return self.choices[:limit]
