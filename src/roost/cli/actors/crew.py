"""The actors that a list shows, read from the database: those at work and those above them."""

from collections.abc import Iterable

import msgspec
from msgspec import Struct

from roost.actors import family
from roost.actors import store as actors
from roost.actors.models import Actor
from roost.actors.owner import process_number
from roost.actors.view import ActorView, view
from roost.cli.requests.words import what
from roost.cli.states import ASKING, Watch
from roost.db.transaction import Reader
from roost.inbox.models import Address
from roost.permissions.asks import Ask
from roost.sessions import store as sessions

State = str
"""`progressing`, `stalled`, `waiting`, `pending`, `stopping`, `interrupted`, `asleep`, or what it
waits for a person for."""


class Member(Struct, frozen=True):
    """One actor of the list."""

    view: ActorView
    fronts: bool
    title: str
    """Of its session."""
    directory: str
    process: int | None
    """The process that runs it, where one lives."""
    state: State
    requests: tuple[str, ...] = ()
    """The ids of what it asks a person."""
    wants: str = ""
    """The first of that in words."""

    @property
    def address(self) -> Address:
        """Where mail for it goes."""
        return Address(self.view.session_id, self.view.actor_id)


def crew(
    db: Reader, watch: Watch, *, session_id: str | None, sleeping: bool, most: int
) -> list[Member]:
    """The actors at work with all above them, in the order in which they were made.

    With `session_id` only those of that session and below it. `sleeping`: also those that sleep,
    of that session or of the `most` sessions that were used last.
    """
    found: dict[Address, Actor] = {}
    for actor in _chosen(db, session_id, sleeping=sleeping, most=most):
        for one in (actor, *family.ancestors(db, actor)):
            found[one.address] = one
    ordered = sorted(found.values(), key=lambda one: (one.created, one.session_id, one.actor_id))
    asking = watch.asking(db)
    return [_member(db, watch, actor, asking.get(actor.address, [])) for actor in ordered]


def _chosen(db: Reader, session_id: str | None, *, sleeping: bool, most: int) -> Iterable[Actor]:
    if sleeping:
        last = [one.id for one in sessions.listed(db, limit=most)] if session_id is None else []
        wanted = [session_id] if session_id is not None else last
        known = [one for each in wanted for one in actors.of_session(db, each)]
        below = [low for one in known if session_id for low in family.descendants(db, one.address)]
        return [*known, *below, *(_at_work(db) if session_id is None else ())]
    busy = _at_work(db)
    return busy if session_id is None else [one for one in busy if _is_in(db, one, session_id)]


def _at_work(db: Reader) -> list[Actor]:
    """A row that cannot be read hides no other."""
    found: list[Actor] = []
    for address in actors.restless(db):
        try:
            actor = actors.find(db, address)
        except msgspec.MsgspecError:
            continue
        if actor is not None:
            found.append(actor)
    return found


def _is_in(db: Reader, actor: Actor, session_id: str) -> bool:
    above = {one.session_id for one in family.ancestors(db, actor)}
    return session_id in {actor.session_id, *above}


def _member(db: Reader, watch: Watch, actor: Actor, asked: list[Ask]) -> Member:
    session = sessions.get(db, actor.session_id)
    shown = view(db, actor)
    runs = actor.status == "running" and watch.is_running(actor)
    return Member(
        view=shown,
        fronts=actor.fronts,
        title=session.title,
        directory=session.directory,
        process=process_number(watch.owners, actor.owner) if runs and actor.owner else None,
        state=ASKING[asked[0].kind] if asked else state_of(shown, actor, runs=runs),
        requests=tuple(ask.id for ask in asked),
        wants=what(asked[0]) if asked else "",
    )


def state_of(shown: ActorView, actor: Actor, *, runs: bool) -> State:
    """What an actor is doing in one word. `runs`: a live process runs it."""
    if actor.status == "idle":
        return "asleep"
    if actor.status == "running" and not runs:
        return "interrupted"
    return "stopping" if actor.cancel is not None else shown.liveness
