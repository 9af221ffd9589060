"""The slices of actors as sessions of their own: how they look to clients that know no actors.

OpenCode gives every subagent a session. Here the actors of one session share it, so the slice of
one that does not front it is shown as a child session whose id names both.
"""

from typing import Final
from urllib.parse import quote, unquote

import msgspec
from msgspec import Struct

from roost.actors.models import Actor
from roost.sessions.models import Session, SessionTime

_MARK: Final = "."
"""Stands in no id of a session."""


class Slice(Struct, frozen=True):
    """What the id of a session in a request means."""

    session: Session
    actor_id: str | None
    """None: the actor that fronts the session."""


def slice_id(session_id: str, actor_id: str | None) -> str:
    """The id under which the slice of an actor is shown; None: the one that fronts the session."""
    if actor_id is None:
        return session_id
    return f"{session_id}{_MARK}{quote(actor_id, safe='')}"


def parse_id(identifier: str) -> tuple[str, str | None]:
    """The session and the actor that an id of a session or of a slice names."""
    session_id, mark, actor_id = identifier.partition(_MARK)
    return session_id, unquote(actor_id) if mark else None


def as_session(session: Session, actor: Actor) -> Session:
    """The slice of `actor` as a child of the session it is in, whoever started it.

    All of them are shown side by side, so that what one asks is seen where the person is.
    """
    what = actor.description or actor.actor_id
    return msgspec.structs.replace(
        _child(session, actor.actor_id),
        title=f"{what} (@{actor.agent} subagent)",
        time=SessionTime(actor.created, max(actor.created, actor.last_activity)),
    )


def gone_session(session: Session, actor_id: str) -> Session:
    """What is still known of the slice of an actor that was removed."""
    return _child(session, actor_id)


def _child(session: Session, actor_id: str) -> Session:
    return msgspec.structs.replace(
        session,
        id=slice_id(session.id, actor_id),
        slug=f"{session.slug}-{actor_id}",
        parent_id=session.id,
        title="",
        permission=None,
        revision=0,
        summary=None,
        revert=None,
        goal=None,
        damage="",
    )
