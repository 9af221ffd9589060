"""Sessions: list, make, read, change, delete, and what they are doing."""

from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta, Struct, field

from roost.actors import store as actors
from roost.actors.models import CancelMode, SessionStatus
from roost.actors.status import status_of
from roost.core.text import clean
from roost.core.wire_names import wire_name
from roost.db.transaction import Reader, Transaction
from roost.permissions.models import Rule
from roost.server.endpoint import Call, Endpoint, NoQuery, endpoint
from roost.server.faces import shown_status
from roost.server.slices import as_session, slice_id
from roost.server.wire import ModelChoice, Stamp
from roost.sessions import store as sessions
from roost.sessions.models import Session
from roost.tasks import store as tasks
from roost.tasks.models import TodoItem

LIST_LIMIT: Final = 100
Title = Annotated[str, Meta(max_length=1_000)]


class ListQuery(Struct, frozen=True):
    """Sessions that match everything given. `start`: used since then."""

    directory: str | None = None
    scope: Literal["project"] | None = None
    """All folders of the project, its worktrees included."""
    roots: bool = False
    """Without those that have a parent."""
    start: Stamp | None = None
    search: str | None = None
    limit: Annotated[int, Meta(ge=1, le=10_000)] = LIST_LIMIT


class NewSessionBody(Struct, frozen=True, rename=wire_name):
    """What a session is to be like."""

    title: Title = ""
    parent_id: str | None = None
    agent: str | None = None
    model: ModelChoice | None = None
    permission: list[Rule] | None = None


class ArchiveTime(Struct, frozen=True):
    """Absent: unchanged; 0: back into the list."""

    archived: Stamp | None = None


class ChangeBody(Struct, frozen=True):
    """What is to change; rules are added to those there are."""

    title: Title | None = None
    permission: list[Rule] | None = None
    time: ArchiveTime = ArchiveTime()
    revision: Annotated[int, Meta(ge=0)] | None = field(default=None, name="expectedRevision")
    """Rename only if nobody else did since."""


class AbortQuery(Struct, frozen=True):
    """Which actor and which of its turns is meant; without a turn, whatever runs."""

    turn_id: str | None = None
    agent_id: str | None = None
    mode: CancelMode = "forced"
    tree: bool = False
    """With all that is at work below the actor; otherwise what works in the background goes on."""


class DeleteQuery(Struct, frozen=True):
    """What becomes of working trees that hold work."""

    force: bool = False
    """Delete all the same, and leave those trees where they are."""


async def list_sessions(call: Call[ListQuery, None]) -> list[Session]:
    """The sessions of a folder, the last used first."""
    query = call.query
    directory = Path(call.directory)
    project = None
    if query.scope == "project":
        project = await call.service.runtime.project_id(directory)

    def read(db: Reader) -> list[Session]:
        return sessions.listed(
            db,
            directory=None if project else call.directory,
            project_id=project,
            roots=query.roots,
            search=query.search,
            since=query.start,
            limit=query.limit,
        )

    database = call.service.runtime.database
    found = await database.read(read)
    served = [(await call.service.directories.remember(one)).served for one in found]
    shown = [one for one, is_served in zip(found, served, strict=True) if is_served]
    if call.view == "actors" or query.roots:
        return shown
    slices = await database.read(lambda db: [_slices(db, one) for one in shown])
    return [*shown, *(one for of_session in slices for one in of_session)]


def _slices(db: Reader, session: Session) -> list[Session]:
    """What is shown as children of a session to clients that know no actors."""
    found = actors.of_session(db, session.id)
    return [as_session(session, actor) for actor in found if not actor.fronts]


async def create_session(call: Call[NoQuery, NewSessionBody | None]) -> Session:
    """Make a session in a folder."""
    body = call.body or NewSessionBody()
    if body.parent_id is not None:
        await call.service.session(body.parent_id)
    project = await call.project()
    return await call.service.runtime.create_session(
        project.directory,
        title=clean(body.title),
        parent_id=body.parent_id,
        permission=_rules(body.permission),
        agent=body.agent,
    )


def _rules(rules: list[Rule] | None) -> list[dict[str, str]] | None:
    return msgspec.to_builtins(rules) if rules else None


async def session_statuses(call: Call[NoQuery, None]) -> dict[str, SessionStatus]:
    """What the sessions of a folder are doing; those that sleep are left out."""
    busy = await call.service.runtime.database.read(actors.not_idle)
    shown: dict[str, SessionStatus] = {}
    for actor in busy:
        place = await call.service.directories.place(actor.session_id)
        if place is None or not place.is_shown_in(call.directory):
            continue
        status = status_of(actor)
        if call.view == "sessions":
            status = shown_status(status)
        if actor.fronts:
            shown[actor.session_id] = status
        elif call.view == "sessions":
            shown[slice_id(actor.session_id, actor.actor_id)] = status
    return shown


async def get_session(call: Call[NoQuery, None]) -> Session:
    """One session."""
    meant = await call.slice()
    if meant.actor_id is None:
        return meant.session
    actor = await call.service.runtime.named(meant.session.id, meant.actor_id)
    return as_session(meant.session, actor)


async def update_session(call: Call[NoQuery, ChangeBody]) -> Session:
    """Rename a session, archive it, or add permission rules to it."""
    session = await call.session()
    body = call.body
    archived = body.time.archived

    def change(tx: Transaction) -> Session:
        if body.title is not None:
            title = clean(body.title)
            sessions.set_title(tx, session.id, title, source="user", revision=body.revision)
        if rules := _rules(body.permission):
            sessions.set_permission(tx, session.id, rules)
        if archived is not None:
            sessions.set_archived(tx, session.id, archived or None)
        return sessions.get(tx, session.id)

    return await call.service.runtime.database.write(change)


async def delete_session(call: Call[DeleteQuery, None]) -> bool:
    """Stop what runs in a session and remove it with its children.

    409 with a list if working trees of theirs hold work that is not merged.
    """
    session = await call.session()
    await call.service.runtime.delete_session(session.id, force=call.query.force)
    return True


async def list_children(call: Call[NoQuery, None]) -> list[Session]:
    """The sessions that a session started, oldest first."""
    meant = await call.slice()
    if meant.actor_id is not None:  # slices are all shown below their session
        return []
    session, with_slices = meant.session, call.view == "sessions"

    def read(db: Reader) -> list[Session]:
        slices = _slices(db, session) if with_slices else []
        return [*slices, *sessions.children(db, session.id)]

    return await call.service.runtime.database.read(read)


async def abort_session(call: Call[AbortQuery, None]) -> bool:
    """Stop the running turn. With `turn_id`: false if that turn is not running any more.

    Those that it waits for stop with it. What waits in the queue stays there; the news of those
    that go on in the background waits until a person speaks to the actor.
    """
    meant = await call.slice()
    query = call.query
    stopped = await call.service.runtime.abort(
        meant.session.id,
        actor_id=meant.actor_id or query.agent_id,
        turn_id=query.turn_id,
        mode=query.mode,
        tree=query.tree,
    )
    return stopped or query.turn_id is None


async def list_todos(call: Call[NoQuery, None]) -> list[TodoItem]:
    """The task list of a session, as OpenCode's clients show it; actors have none of their own."""
    meant = await call.slice()
    if meant.actor_id is not None:
        return []
    session = meant.session
    return await call.service.runtime.database.read(lambda db: tasks.todo_list(db, session.id))


ROUTES: Final[tuple[Endpoint, ...]] = (
    endpoint("GET", "/session", list_sessions),
    endpoint("POST", "/session", create_session),
    endpoint("GET", "/session/status", session_statuses),
    endpoint("GET", "/session/{sessionID}", get_session),
    endpoint("PATCH", "/session/{sessionID}", update_session),
    endpoint("DELETE", "/session/{sessionID}", delete_session),
    endpoint("GET", "/session/{sessionID}/children", list_children),
    endpoint("POST", "/session/{sessionID}/abort", abort_session),
    endpoint("GET", "/session/{sessionID}/todo", list_todos),
)
