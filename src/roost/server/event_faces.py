"""Events as they look to clients that know no actors.

They are told in the sessions that slices are shown as. What is said of an actor is also said of
that session: it begins, it is busy, it is idle, it is gone.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Final, NamedTuple

import msgspec

from roost.actors.models import Actor, IdleStatus, SessionStatus
from roost.core.errors import NotFoundError
from roost.core.ids import new_id
from roost.events.types import Delta, Event
from roost.permissions import asks
from roost.runtime.runtime import Runtime
from roost.server.faces import shown_info, shown_part, shown_status
from roost.server.slices import as_session, gone_session, slice_id
from roost.sessions import store as sessions
from roost.sessions import transcript
from roost.sessions.models import Info, agent_id_of
from roost.sessions.parts import Part

_REMEMBERED: Final = 20_000
"""Messages whose actor is known without asking the database."""
_encoder = msgspec.json.Encoder()
Properties = dict[str, Any]


class Frame(NamedTuple):
    """One event ready to be sent."""

    id: str | None
    """Under which a stream can be gone on from; None: it belongs to the one behind it."""
    data: bytes


class EventFaces:
    """The events of one server."""

    def __init__(self, runtime: Runtime) -> None:
        self._database = runtime.database
        self._owners: dict[str, str | None] = {}
        self._faces: dict[str, Callable[[Event], Awaitable[list[Frame]]]] = {
            "message.updated": self._message,
            "message.removed": self._of_message,
            "message.part.updated": self._part,
            "message.part.removed": self._of_message,
            "message.part.delta": self._of_message,
            "permission.asked": self._asked,
            "question.asked": self._asked,
            "permission.replied": self._answered,
            "question.replied": self._answered,
            "question.rejected": self._answered,
            "actor.registered": self._registered,
            "actor.updated": self._changed,
            "actor.removed": self._removed,
            "actor.status": self._status,
            "session.status": self._session_status,
            "session.error": self._error,
        }
        runtime.bus.listen(self._note)

    async def shown(self, event: Event) -> list[Frame]:
        """`event` for a client that knows no actors, with what follows from it."""
        face = self._faces.get(event.type)
        return [_plain(event)] if face is None else await face(event)

    def _note(self, event: Event) -> None:
        """Remember whose messages are whose: their parts do not say it."""
        if event.type == "message.updated":
            info: Info = event.properties["info"]
            self._remember(info.id, info.agent_id)

    def _remember(self, message_id: str, owner: str | None) -> None:
        if len(self._owners) >= _REMEMBERED:
            for old in list(self._owners)[: _REMEMBERED // 2]:
                del self._owners[old]
        self._owners[message_id] = owner

    async def _owner(self, message_id: str) -> str | None:
        if message_id not in self._owners:
            spot = await self._database.read(lambda db: transcript.spot_of(db, message_id))
            owner = agent_id_of(spot.session_id, spot.actor_id) if spot else None
            self._remember(message_id, owner)
        return self._owners[message_id]

    async def _message(self, event: Event) -> list[Frame]:
        info: Info = event.properties["info"]
        shown = shown_info(info)
        if shown is info:
            return [_plain(event)]
        return [_retold(event, {"sessionID": shown.session_id, "info": shown})]

    async def _of_message(self, event: Event) -> list[Frame]:
        """What names a message and nothing else of its actor."""
        message_id = event.place.message_id if isinstance(event, Delta) else None
        owner = await self._owner(message_id or event.properties["messageID"])
        return [_plain(event) if owner is None else _moved(event, owner)]

    async def _part(self, event: Event) -> list[Frame]:
        part: Part | msgspec.Raw = event.properties["part"]
        if isinstance(part, msgspec.Raw):  # of a type that this program does not know
            return [_plain(event)]
        owner = await self._owner(part.message_id)
        shown = shown_part(part, owner)
        if shown is part:
            return [_plain(event)]
        about = {**event.properties, "sessionID": shown.session_id, "part": shown}
        return [_retold(event, about)]

    async def _asked(self, event: Event) -> list[Frame]:
        owner = event.properties.get("actorID")
        return [_plain(event) if owner is None else _moved(event, owner)]

    async def _answered(self, event: Event) -> list[Frame]:
        request_id = event.properties["requestID"]
        try:
            ask = await self._database.read(lambda db: asks.get(db, request_id))
        except NotFoundError:  # deleted with its session since then
            return [_plain(event)]
        owner = agent_id_of(ask.session_id, ask.actor_id)
        return [_plain(event) if owner is None else _moved(event, owner)]

    async def _registered(self, event: Event) -> list[Frame]:
        return await self._told(event, ("session.created", "session.updated"))

    async def _changed(self, event: Event) -> list[Frame]:
        return await self._told(event, ("session.updated",))

    async def _told(self, event: Event, types: tuple[str, ...]) -> list[Frame]:
        actor: Actor = event.properties["actor"]
        session = await self._database.read(lambda db: sessions.find(db, actor.session_id))
        if actor.fronts or session is None:
            return [_plain(event)]
        shown = as_session(session, actor)
        about = {"sessionID": shown.id, "info": shown}
        return [*(_derived(type_, about) for type_ in types), _plain(event)]

    async def _removed(self, event: Event) -> list[Frame]:
        session_id, actor_id = event.properties["sessionID"], event.properties["actorID"]
        session = await self._database.read(lambda db: sessions.find(db, session_id))
        if session is None:
            return [_plain(event)]
        shown = gone_session(session, actor_id)
        about = {"sessionID": shown.id, "info": shown}
        return [_derived("session.deleted", about), _plain(event)]

    async def _status(self, event: Event) -> list[Frame]:
        session_id = event.properties["sessionID"]
        owner = agent_id_of(session_id, event.properties["actorID"])
        if owner is None:
            return [_plain(event)]
        shown, status = slice_id(session_id, owner), shown_status(event.properties["status"])
        frames = [_derived("session.status", {"sessionID": shown, "status": status})]
        if isinstance(status, IdleStatus):
            frames.append(_derived("session.idle", {"sessionID": shown}))
        return [*frames, _plain(event)]

    async def _session_status(self, event: Event) -> list[Frame]:
        status: SessionStatus = event.properties["status"]
        shown = shown_status(status)
        if shown is status:
            return [_plain(event)]
        return [_retold(event, {**event.properties, "status": shown})]

    async def _error(self, event: Event) -> list[Frame]:
        about: Properties = event.properties
        owner = agent_id_of(about["sessionID"], about.get("ownerActorId", about["sessionID"]))
        return [_plain(event) if owner is None else _moved(event, owner)]


def _plain(event: Event) -> Frame:
    return Frame(event.id, event.encoded)


def _moved(event: Event, owner: str) -> Frame:
    """`event` in the session that the slice of `owner` is shown as."""
    about: Properties = event.properties
    return _retold(event, {**about, "sessionID": slice_id(about["sessionID"], owner)})


def _retold(event: Event, about: Properties) -> Frame:
    return Frame(event.id, _encoded(event.id, event.type, about))


def _derived(type_: str, about: Properties) -> Frame:
    return Frame(None, _encoded(new_id("event"), type_, about))


def _encoded(identifier: str, type_: str, about: Properties) -> bytes:
    return _encoder.encode({"id": identifier, "type": type_, "properties": about})
