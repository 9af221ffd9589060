"""The typed client: sessions, prompts, events, requests to the person, the queue.

What it can ask of single actors is in `actor_calls.py`, of teams in `team_calls.py`, of goals in
`goal_calls.py`.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from types import TracebackType
from typing import Any, Final, Self

import msgspec

from roost.actors.models import Actor, CancelMode, Turn
from roost.client.actor_calls import ActorCalls, with_id
from roost.client.connection import Connection, raise_problem
from roost.client.events import EventFollower
from roost.client.goal_calls import GoalCalls
from roost.client.models import Health, RawMessage, ServerEvent, ServerPlace, UnreachableError
from roost.client.team_calls import TeamCalls
from roost.core.ids import new_id
from roost.permissions.models import Reply
from roost.runtime.models import PromptInput, PromptInputPart
from roost.sessions.models import Message, Session
from roost.tasks.models import TodoItem

_TRIES: Final = 5
"""Times that a prompt is sent again after its connection was lost."""


class Client(ActorCalls, TeamCalls, GoalCalls):
    """One server. Use as an async context manager, or `aclose` it.

    Every method raises the error that the server answers with, and `UnreachableError`.
    """

    def __init__(self, place: ServerPlace) -> None:
        self._connection = Connection(place)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close every connection."""
        await self._connection.aclose()

    async def health(self, challenge: str | None = None) -> Health:
        """Whether the server is well; it proves itself where `challenge` is given."""
        query = {"challenge": challenge}
        return await self._connection.ask("GET", "/global/health", Health, query=query)

    # Sessions

    async def sessions(
        self, *, roots: bool = False, search: str | None = None, limit: int = 100
    ) -> list[Session]:
        """The sessions of the folder, the last used first."""
        query = {"roots": roots, "search": search, "limit": limit}
        return await self._connection.ask("GET", "/session", list[Session], query=query)

    async def create_session(
        self, *, title: str = "", parent_id: str | None = None, agent: str | None = None
    ) -> Session:
        """Make a session in the folder."""
        body = {"title": title, "parentID": parent_id, "agent": agent}
        return await self._connection.ask("POST", "/session", Session, body=body)

    async def session(self, session_id: str) -> Session:
        """One session."""
        return await self._connection.ask("GET", f"/session/{session_id}", Session)

    async def rename(self, session_id: str, title: str, *, revision: int | None = None) -> Session:
        """Give the session another title; with `revision` only if nobody else did since."""
        body: dict[str, Any] = {"title": title}
        if revision is not None:
            body["expectedRevision"] = revision
        return await self._connection.ask("PATCH", f"/session/{session_id}", Session, body=body)

    async def delete_session(self, session_id: str, *, force: bool = False) -> None:
        """Stop and remove the session. `ConflictError` if working trees of it hold work, unless
        with `force`, which leaves them.
        """
        query = {"force": force} if force else {}
        await self._connection.tell("DELETE", f"/session/{session_id}", query=query)

    async def statuses(self) -> dict[str, dict[str, Any]]:
        """What sessions are doing, as OpenCode's `SessionStatus`; those that sleep are missing."""
        return await self._connection.ask("GET", "/session/status", dict[str, dict[str, Any]])

    async def todos(self, session_id: str) -> list[TodoItem]:
        """The task list of the session."""
        return await self._connection.ask("GET", f"/session/{session_id}/todo", list[TodoItem])

    async def actors(self, session_id: str) -> list[Actor]:
        """The actors of the session."""
        return await self._connection.ask("GET", f"/session/{session_id}/actors", list[Actor])

    async def turns(self, session_id: str, actor_id: str | None = None) -> list[Turn]:
        """The turns of an actor, the oldest first."""
        path = f"/session/{session_id}/turns"
        return await self._connection.ask("GET", path, list[Turn], query={"agent_id": actor_id})

    # Messages and prompts

    async def messages(
        self,
        session_id: str,
        actor_id: str | None = None,
        *,
        limit: int | None = None,
        before: str | None = None,
    ) -> tuple[list[Message], str | None]:
        """Messages, oldest first, and the cursor (`before`) of the page with older ones."""
        query = {"agent_id": actor_id, "limit": limit, "before": before}
        path = f"/session/{session_id}/message"
        async with self._connection.open("GET", path, query=query) as response:
            data = await response.aread()
            cursor: str | None = response.headers.get("x-next-cursor")
        found = msgspec.json.decode(data, type=list[RawMessage])
        return [message.decoded() for message in found], cursor

    async def prompt(
        self,
        session_id: str,
        given: PromptInput | str,
        actor_id: str | None = None,
        *,
        cancel_when_gone: bool = False,
    ) -> Message:
        """Prompt an idle actor and wait for the last message of its turn.

        When the connection is lost meanwhile, the same prompt is sent again: it is known by its
        id, so nothing happens twice. `cancel_when_gone` stops the turn with this call.
        """
        chosen = with_id(given)
        path = f"/session/{session_id}/message"
        leaving = "cancel" if cancel_when_gone else "detach"
        query = {"agent_id": actor_id, "on_disconnect": leaving, "busy": "refuse"}
        for attempt in range(_TRIES):
            try:
                async with self._connection.open("POST", path, query=query, body=chosen) as answer:
                    return _message(await answer.aread())
            except UnreachableError:
                if cancel_when_gone or attempt == _TRIES - 1:
                    raise
                await asyncio.sleep(0.2 * 2**attempt)
        raise AssertionError  # the last try returns or raises

    async def prompt_async(
        self, session_id: str, given: PromptInput | str, actor_id: str | None = None
    ) -> str:
        """Leave a prompt with an actor, busy or not, and give the id of its message.

        Raises `RateError` when the server takes no more of them now; nothing is stored then.
        """
        chosen = with_id(given)
        path = f"/session/{session_id}/prompt_async"
        query = {"agent_id": actor_id}
        await self._connection.tell("POST", path, query=query, body=chosen)
        return chosen.message_id or ""

    async def command(self, session_id: str, name: str, arguments: str = "") -> Message:
        """Run a command of the configuration and wait for the answer."""
        body = {"command": name, "arguments": arguments, "messageID": new_id("message")}
        path, query = f"/session/{session_id}/command", {"busy": "refuse"}
        async with self._connection.open("POST", path, query=query, body=body) as answer:
            return _message(await answer.aread())

    async def abort(
        self,
        session_id: str,
        actor_id: str | None = None,
        *,
        turn_id: str | None = None,
        mode: CancelMode = "forced",
        tree: bool = False,
    ) -> bool:
        """Stop the running turn; with `turn_id` only that one, False if it does not run.

        Those it waits for stop with it; with `tree` all that is at work below the actor.
        """
        query = {"agent_id": actor_id, "turn_id": turn_id, "mode": mode, "tree": tree}
        return await self._connection.ask("POST", f"/session/{session_id}/abort", bool, query=query)

    # The queue

    async def queue(self, session_id: str, actor_id: str | None = None) -> list[dict[str, Any]]:
        """What waits for an actor, in the order it will be heard."""
        path = f"/session/{session_id}/queue"
        query = {"agent_id": actor_id}
        return await self._connection.ask("GET", path, list[dict[str, Any]], query=query)

    async def edit_queued(
        self, session_id: str, queued_id: str, parts: tuple[PromptInputPart, ...]
    ) -> None:
        """Replace what a queued prompt says; `ConflictError` once it was heard."""
        path = f"/session/{session_id}/queue/{queued_id}"
        await self._connection.tell("PATCH", path, body={"parts": parts})

    async def withdraw(self, session_id: str, queued_id: str) -> None:
        """Take back what is queued; `ConflictError` once it was heard."""
        await self._connection.tell("DELETE", f"/session/{session_id}/queue/{queued_id}")

    # Requests to the person

    async def permissions(self) -> list[dict[str, Any]]:
        """Permission requests that wait, as OpenCode's `PermissionRequest`."""
        return await self._connection.ask("GET", "/permission", list[dict[str, Any]])

    async def reply_permission(
        self, request_id: str, reply: Reply, message: str | None = None
    ) -> None:
        """Answer a permission request."""
        body = {"reply": reply, "message": message}
        await self._connection.tell("POST", f"/permission/{request_id}/reply", body=body)

    async def questions(self) -> list[dict[str, Any]]:
        """Questions that wait, as OpenCode's `QuestionRequest`."""
        return await self._connection.ask("GET", "/question", list[dict[str, Any]])

    async def reply_question(self, request_id: str, answers: list[list[str]]) -> None:
        """Answer questions, one list a question."""
        body = {"answers": answers}
        await self._connection.tell("POST", f"/question/{request_id}/reply", body=body)

    async def reject_question(self, request_id: str) -> None:
        """Refuse to answer."""
        await self._connection.tell("POST", f"/question/{request_id}/reject")

    # Events

    def events(
        self, *, everywhere: bool = False, connected: Callable[[bool], None] | None = None
    ) -> AsyncGenerator[ServerEvent]:
        """What happens in the folder, or `everywhere` the server was opened for, without end.

        See `EventFollower` for what happens when the connection is lost.
        """
        path = "/global/event" if everywhere else "/event"
        return EventFollower(self._connection, path, connected).events()


def _message(body: bytes) -> Message:
    raise_problem(body)
    return msgspec.json.decode(body, type=RawMessage).decoded()
