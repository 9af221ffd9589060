"""Which actor a command means: SESSION/ACTOR, the name alone, or a session for who fronts it."""

from difflib import get_close_matches
from typing import Final

from roost.actors import store as actors
from roost.actors.family import is_known
from roost.actors.models import Actor
from roost.cli.sessions.naming import named
from roost.core.errors import NotFoundError, UsageError
from roost.db.transaction import Reader
from roost.inbox.models import Address

_SHOWN: Final = 8


def named_actor(db: Reader, word: str, session: str | None = None) -> Actor | None:
    """The actor that `word` means, in the session `session` where that is given.

    A name alone means the only actor at work that has it; None where all that have it sleep.
    Raises `NotFoundError`, and `UsageError` where several could be meant.
    """
    first, slash, name = word.partition("/")
    if session is not None:
        return in_session(db, named(db, session).id, word)
    if slash:
        return in_session(db, named(db, first).id, name)
    found = [
        actor
        for address in actors.restless(db)
        if address.actor_id == word and (actor := actors.find(db, address)) is not None
    ]
    if len(found) == 1:
        return found[0]
    if found:
        choices = "\n".join(f"{one.session_id}/{one.actor_id}" for one in found[:_SHOWN])
        raise UsageError(f"several actors at work are called {word}", hint=f"Say which:\n{choices}")
    try:
        return actors.front(db, named(db, word).id)
    except NotFoundError:
        if is_known(db, word):
            return None
        raise NotFoundError(
            f"no actor is called {word}",
            hint="Give SESSION/ACTOR; `roost actors --all` lists them.",
        ) from None


def in_session(db: Reader, session_id: str, actor_id: str | None) -> Actor:
    """The actor of that id in a session, or the one that fronts it (None). Raises `NotFoundError`
    with those there are.
    """
    if actor_id is None:
        return actors.front(db, session_id)
    if (actor := actors.find(db, Address(session_id, actor_id))) is not None:
        return actor
    known = [one.actor_id for one in actors.of_session(db, session_id)]
    near = get_close_matches(actor_id, known, n=1)
    guess = f"Did you mean {near[0]}? " if near else ""
    listed = f"There are: {', '.join(known[:_SHOWN])}." if known else "It has no actors at all."
    raise NotFoundError(
        f"there is no actor {actor_id} in session {session_id}", hint=guess + listed
    )
