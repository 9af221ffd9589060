"""What fills the window of an actor's model, as surfaces ask for it."""

from pathlib import Path

from msgspec import Struct

from roost.context.capacity import Window, configured
from roost.context.filling import Filling, filling_of
from roost.context.prefix_store import newest
from roost.core.wire_names import wire_name
from roost.db.transaction import Reader
from roost.runtime.runtime import Runtime
from roost.sessions import effective
from roost.sessions.effective import Slice


class ContextView(Struct, frozen=True, rename=wire_name, omit_defaults=True):
    """The window of an actor's model and what is in it. All numbers are tokens."""

    session_id: str
    actor_id: str
    model: str
    """`provider/model`."""
    window: Window
    filling: Filling
    shortened_from: int = 0
    """What the conversation took up when it was last shortened; 0: it never was."""


async def context_of(runtime: Runtime, session_id: str, actor_id: str | None = None) -> ContextView:
    """What fills the window of an actor, of the one that fronts the session by default.

    Raises `NotFoundError`, and `RoostError` for a model that cannot be used any more.
    """
    actor = await runtime.named(session_id, actor_id)
    session = await runtime.session(session_id)
    project = await runtime.projects.open(Path(session.directory))
    name = await runtime.worlds.names.choose(project, actor.model)
    model = runtime.worlds.names.resolve(project, name.ref)
    config = project.loaded.config.compaction

    def read(db: Reader) -> tuple[Slice, tuple[str, ...]]:
        known = effective.load(db, actor.session_id, actor.actor_id)
        prefix = newest(db, session_id)
        return known, prefix.system if prefix else ()

    known, system = await runtime.database.read(read)
    return ContextView(
        session_id=session_id,
        actor_id=actor.actor_id,
        model=model.ref,
        window=configured(model, config),
        filling=filling_of(known, system),
        shortened_from=known.mark.before if known.mark else 0,
    )
