"""The actors of a session: how each stands, its turns, a stop, a prompt; all that are at work."""

from typing import Final

from msgspec import Struct

from roost.actors import store as actors
from roost.actors import turn_store
from roost.actors.cancel import stop
from roost.actors.models import Actor, CancelMode, Turn
from roost.actors.view import ActorView, view
from roost.core.wire_names import wire_name
from roost.db.transaction import Reader
from roost.inbox.models import Address
from roost.runtime.models import PromptInput
from roost.server.endpoint import ActorQuery, Call, Endpoint, NoQuery, endpoint
from roost.server.prompting import leave


class StopQuery(Struct, frozen=True):
    """How it is to stop. `graceful`: it may say in one last step how far it came."""

    mode: CancelMode = "graceful"
    tree: bool = False
    """With all that is at work below it; otherwise only with those that it waits for."""


class AcceptedView(Struct, frozen=True, rename=wire_name):
    """A prompt that is stored and will be heard."""

    message_id: str
    inbox_id: str
    new: bool
    """False when the same prompt had been accepted before."""


async def _address(call: Call[StopQuery, None] | Call[NoQuery, None]) -> Address:
    session = await call.session()
    return Address(session.id, call.path["actorID"])


async def list_actors(call: Call[NoQuery, None]) -> list[Actor]:
    """The actors of a session, in the order they were registered."""
    session = await call.session()
    return await call.service.runtime.database.read(lambda db: actors.of_session(db, session.id))


async def list_actor_views(call: Call[NoQuery, None]) -> list[ActorView]:
    """How the actors of a session stand, in the order they were registered."""
    session = await call.session()

    def read(db: Reader) -> list[ActorView]:
        return [view(db, actor) for actor in actors.of_session(db, session.id)]

    return await call.service.runtime.database.read(read)


async def get_actor(call: Call[NoQuery, None]) -> ActorView:
    """How an actor stands, with its last words."""
    address = await _address(call)
    return await call.service.runtime.database.read(
        lambda db: view(db, actors.get(db, address), with_result=True)
    )


async def list_actor_turns(call: Call[NoQuery, None]) -> list[Turn]:
    """The turns of an actor, the oldest first, with how each came out and what it used."""
    return await _turns(call, call.path["actorID"])


async def list_turns(call: Call[ActorQuery, None]) -> list[Turn]:
    """The same of the actor that is named, or of the one that fronts the session."""
    return await _turns(call, call.query.agent_id)


async def _turns(
    call: Call[NoQuery, None] | Call[ActorQuery, None], actor_id: str | None
) -> list[Turn]:
    session = await call.session()

    def read(db: Reader) -> list[Turn]:
        return turn_store.turns_of(db, actors.named(db, session.id, actor_id).address)

    return await call.service.runtime.database.read(read)


async def abort_actor(call: Call[StopQuery, None]) -> bool:
    """Stop an actor, whether it runs or is to run. False: there was nothing to stop.

    Its parent is told. Afterwards only a person or its parent wakes it.
    """
    address = await _address(call)
    query = call.query
    return bool(
        await call.service.runtime.database.write(
            lambda tx: stop(tx, address, query.mode, tree=query.tree, due=True)
        )
    )


async def message_actor(call: Call[NoQuery, PromptInput]) -> AcceptedView:
    """Leave a prompt with an actor, busy or not. Once this answers it is stored.

    A busy actor hears it at its next step. Sources that send too many get 429 and `Retry-After`.
    """
    session = await call.session()
    call.count_prompt()
    accepted = await leave(call.service.runtime, session.id, call.path["actorID"], call.body)
    return AcceptedView(accepted.message_id, accepted.inbox_id, accepted.new)


async def list_at_work(call: Call[NoQuery, None]) -> list[ActorView]:
    """The actors that run or are to run, in all sessions of the folders the server is open for."""
    database = call.service.runtime.database
    restless = await database.read(actors.restless)
    served = [one for one in restless if await _is_served(call, one.session_id)]

    def read(db: Reader) -> list[ActorView]:
        found = [actors.find(db, address) for address in served]
        return [view(db, one) for one in found if one is not None and one.status != "idle"]

    return await database.read(read)


async def _is_served(call: Call[NoQuery, None], session_id: str) -> bool:
    place = await call.service.directories.place(session_id)
    return place is not None and place.served


ROUTES: Final[tuple[Endpoint, ...]] = (
    endpoint("GET", "/actor", list_at_work, scoped=False),
    endpoint("GET", "/session/{sessionID}/actors", list_actors),
    endpoint("GET", "/session/{sessionID}/turns", list_turns),
    endpoint("GET", "/session/{sessionID}/actor", list_actor_views),
    endpoint("GET", "/session/{sessionID}/actor/{actorID}", get_actor),
    endpoint("GET", "/session/{sessionID}/actor/{actorID}/turn", list_actor_turns),
    endpoint("POST", "/session/{sessionID}/actor/{actorID}/abort", abort_actor),
    endpoint("POST", "/session/{sessionID}/actor/{actorID}/message", message_actor),
)
