"""The requests that wait for a person, as they are listed, and which one a command means."""

from typing import Any, Final

from msgspec import Struct

from roost.actors import store as actors
from roost.actors.models import Actor
from roost.cli.requests.words import what
from roost.cli.states import Watch
from roost.core.clock import now_ms
from roost.core.errors import ConflictError, NotFoundError, UsageError
from roost.core.text import echo
from roost.db.transaction import Reader
from roost.inbox.models import Address
from roost.permissions import asks
from roost.permissions.asks import Ask
from roost.sessions import store as sessions
from roost.sessions.models import Session

SHORTEST: Final = 4
"""Characters that the beginning of an id needs behind its kind: fewer name one by accident."""
_SHOWN: Final = 5


class Pending(Struct, frozen=True):
    """A request with who asks and where."""

    ask: Ask
    session: Session
    actor: Actor | None

    def details(self) -> dict[str, Any]:
        """The request as JSON shows it: as the server's routes do, with who asks and since when."""
        ask = self.ask
        return {
            **ask.request,
            "kind": ask.kind,
            "actorID": ask.actor_id,
            "agent": self.actor.agent if self.actor else None,
            "sessionTitle": self.session.title,
            "directory": self.session.directory,
            "created": ask.created,
            "age": (now_ms() - ask.created) / 1000,
            "expires": ask.deadline,
            "forced": ask.forced,
            "state": ask.state,
            "what": what(ask),
        }


def pending(db: Reader, watch: Watch, session_id: str | None = None) -> list[Pending]:
    """What waits for a person, the oldest first; with `session_id` in that session and below it."""
    within = None if session_id is None else set(sessions.ids_within(db, session_id))
    found = [ask for each in watch.asking(db).values() for ask in each]
    found.sort(key=lambda ask: (ask.created, ask.id))
    return [pending_of(db, ask) for ask in found if within is None or ask.session_id in within]


def pending_of(db: Reader, ask: Ask) -> Pending:
    """`ask` with who asks and where."""
    actor = actors.find(db, Address(ask.session_id, ask.actor_id))
    return Pending(ask, sessions.get(db, ask.session_id), actor)


def named(db: Reader, word: str) -> Ask:
    """The request whose id is `word`, or the only one that waits and whose id begins so.

    Raises `NotFoundError` when there is none, `UsageError` when there are several.
    """
    try:
        return asks.get(db, word)
    except NotFoundError:
        found = [ask for ask in asks.listed(db) if _begins(ask.id, word)]
    if len(found) == 1:
        return found[0]
    if found:
        listed = "\n".join(f"{ask.id}  {what(ask)}" for ask in found[:_SHOWN])
        hint = f"Give more of the id:\n{listed}"
        raise UsageError(f"several requests begin with {echo(word)}", hint=hint)
    raise NotFoundError(
        f"there is no request {echo(word)}", hint="`roost requests` lists those that wait."
    )


def _begins(identifier: str, word: str) -> bool:
    kind, _, rest = identifier.partition("_")
    start = word.removeprefix(f"{kind}_")
    return len(start) >= SHORTEST and rest.startswith(start)


def require_waiting(db: Reader, watch: Watch, ask: Ask) -> None:
    """Raise `ConflictError` unless somebody waits for the answer to a request that is open."""
    actor = actors.find(db, Address(ask.session_id, ask.actor_id))
    if actor is None or not watch.waits_for(actor, ask):
        raise ConflictError(
            f"nobody waits for the answer to {ask.id} any more: the process that asked is gone",
            hint=f'To go on: roost run -s {ask.session_id} "go on"',
        )
