"""The part of the typed client that is about actors and their inboxes."""

from typing import Any

import msgspec

from roost.actors.models import CancelMode, Turn
from roost.actors.view import ActorView
from roost.client.connection import Connection
from roost.core.ids import new_id
from roost.inbox.models import State
from roost.runtime.models import PromptInput, TextInput


class ActorCalls:
    """What a client can ask of single actors; see `Client`."""

    _connection: Connection

    async def at_work(self) -> list[ActorView]:
        """The actors that run or are to run, in all folders that the server was opened for."""
        return await self._connection.ask("GET", "/actor", list[ActorView])

    async def actor_views(self, session_id: str) -> list[ActorView]:
        """How the actors of a session stand, in the order they were registered."""
        path = f"/session/{session_id}/actor"
        return await self._connection.ask("GET", path, list[ActorView])

    async def actor(self, session_id: str, actor_id: str) -> ActorView:
        """How an actor stands, with its last words."""
        return await self._connection.ask("GET", _path(session_id, actor_id), ActorView)

    async def actor_turns(self, session_id: str, actor_id: str) -> list[Turn]:
        """The turns of an actor, the oldest first."""
        path = f"{_path(session_id, actor_id)}/turn"
        return await self._connection.ask("GET", path, list[Turn])

    async def stop_actor(
        self, session_id: str, actor_id: str, mode: CancelMode = "graceful", *, tree: bool = False
    ) -> bool:
        """Stop an actor, with `tree` all below it too; False if there was nothing to stop."""
        path = f"{_path(session_id, actor_id)}/abort"
        query = {"mode": mode, "tree": tree}
        return await self._connection.ask("POST", path, bool, query=query)

    async def tell_actor(self, session_id: str, actor_id: str, given: PromptInput | str) -> str:
        """Leave a prompt with an actor, busy or not, and give the id of its message.

        Raises `RateError` when the server takes no more of them now; nothing is stored then.
        """
        chosen = with_id(given)
        await self._connection.tell("POST", f"{_path(session_id, actor_id)}/message", body=chosen)
        return chosen.message_id or ""

    async def inbox(
        self,
        session_id: str,
        actor_id: str | None = None,
        *,
        state: State | None = None,
        limit: int = 200,
    ) -> list[dict[str, Any]]:
        """The newest mail of a session, the newest last; of one actor, in one state if given."""
        query = {"agent_id": actor_id, "state": state, "limit": limit}
        path = f"/session/{session_id}/inbox"
        return await self._connection.ask("GET", path, list[dict[str, Any]], query=query)

    async def send(
        self, session_id: str, given: PromptInput | str, actor_id: str | None = None
    ) -> dict[str, Any]:
        """Say something as a person to an actor (None: the one that fronts); gives the mail.

        Raises as `tell_actor` does.
        """
        body: dict[str, Any] = msgspec.to_builtins(with_id(given))
        if actor_id is not None:
            body["actorID"] = actor_id
        path = f"/session/{session_id}/inbox"
        return await self._connection.ask("POST", path, dict[str, Any], body=body)

    async def withdraw_mail(self, inbox_id: str) -> None:
        """Take back mail of any session; `ConflictError` once it was heard."""
        await self._connection.tell("DELETE", f"/inbox/{inbox_id}")


def _path(session_id: str, actor_id: str) -> str:
    return f"/session/{session_id}/actor/{actor_id}"


def with_id(given: PromptInput | str) -> PromptInput:
    """A prompt whose id is chosen, so that sending it again is known to be the same."""
    if isinstance(given, str):
        given = PromptInput(parts=(TextInput(text=given),))
    if given.message_id is None:
        given = msgspec.structs.replace(given, message_id=new_id("message"))
    return given
