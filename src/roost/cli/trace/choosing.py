"""Which turn is meant: an id or the beginning of one, a number, or the last of an actor."""

from typing import Final

from msgspec import Struct

from roost.actors import turns_seen
from roost.actors.turns_seen import TurnSeen
from roost.cli.actors.naming import in_session
from roost.cli.sessions.naming import chosen
from roost.cli.trace.reading import Rows, read_imported, read_turn
from roost.core.errors import NotFoundError, UsageError
from roost.db.transaction import Reader
from roost.inbox.models import Address
from roost.sessions.models import Session

PREFIX: Final = "trn_"
SHORTEST: Final = 4
"""Characters after `trn_` that the beginning of an id needs."""
_SHOWN: Final = 5


class Wish(Struct, frozen=True, kw_only=True):
    """What the command line says of the turn."""

    what: str | None = None
    """A turn, a number of one, or a session."""
    session: str | None = None
    actor: str | None = None
    dir: str | None = None
    """Without a session: the last one of this folder (None: of the current one)."""


def find(db: Reader, wish: Wish) -> Rows:
    """The rows of the turn that is meant; without its id or number the last one.

    Raises `NotFoundError` and `UsageError`.
    """
    if wish.what is not None and wish.what.startswith(PREFIX):
        return read_turn(db, _by_id(db, wish.what))
    session, actor_id, number = _place(db, wish)
    seen = turns_seen.of_actor(db, Address(session.id, actor_id))
    if not seen:
        return _imported(db, session, actor_id, number)
    if number is None:
        return read_turn(db, seen[-1])
    found = next((one for one in seen if one.turn.number == number), None)
    if found is None:
        raise _no_such(session, actor_id, number, len(seen))
    return read_turn(db, found)


def find_all(db: Reader, wish: Wish) -> list[Rows]:
    """Every turn of the session that is meant, of all its actors unless one is named, in the order
    in which they began; of a turn that is named, it and those that came of it.
    """
    if wish.what is not None and wish.what.startswith(PREFIX):
        return with_children(db, read_turn(db, _by_id(db, wish.what)))
    session, actor_id, number = _place(db, wish)
    if number is not None:
        return with_children(db, find(db, wish))
    names = [actor_id] if wish.actor is not None else _names(db, session)
    rows = [
        read_turn(db, seen)
        for name in names
        for seen in turns_seen.of_actor(db, Address(session.id, name))
    ]
    imported = [piece for name in names for piece in read_imported(db, session, name)]
    return sorted([*imported, *rows], key=lambda one: one.turn.started)


def _names(db: Reader, session: Session) -> list[str]:
    return turns_seen.actors_of(db, session.id)


def with_children(db: Reader, rows: Rows) -> list[Rows]:
    """A turn, and all that came of it, each behind the one that started it."""
    found = [rows]
    for child in rows.children:
        found += with_children(db, read_turn(db, TurnSeen(child.turn)))
    return found


def _by_id(db: Reader, word: str) -> TurnSeen:
    if len(word) < len(PREFIX) + SHORTEST:
        raise UsageError(f"{word} is too short to name a turn", hint="Give more of its id.")
    found = turns_seen.beginning_with(db, word, _SHOWN + 1)
    if not found:
        raise NotFoundError(
            f"there is no turn {word}", hint="`roost trace -s SESSION --all` shows those there are."
        )
    if len(found) > 1:
        shown = [f"{one.turn.id}  {one.turn.actor_id}" for one in found[:_SHOWN]]
        raise UsageError(
            f"several turns begin with {word}", hint="\n".join(["Give more of the id:", *shown])
        )
    return found[0]


def _place(db: Reader, wish: Wish) -> tuple[Session, str, int | None]:
    """The session and the actor that are meant, and the number of the turn if one is given."""
    word, number = wish.session, None
    if wish.what is not None and wish.what.isascii() and wish.what.isdigit():
        number = int(wish.what)
    elif wish.what is not None:
        if word is not None:
            raise UsageError("two sessions are given", hint=f"Leave out {wish.what} or {word}.")
        word = wish.what
    first, slash, name = (word or "").partition("/")
    session = chosen(db, first if word is not None else None, wish.dir)
    actor_id = wish.actor or (name if slash else None)
    return session, in_session(db, session.id, actor_id).actor_id, number


def _imported(db: Reader, session: Session, actor_id: str, number: int | None) -> Rows:
    pieces = read_imported(db, session, actor_id)
    if not pieces:
        raise NotFoundError(
            f"{actor_id} in session {session.id} has had no turn yet",
            hint="`roost actors --all` shows who has.",
        )
    if number is None:
        return pieces[-1]
    if not 1 <= number <= len(pieces):
        raise _no_such(session, actor_id, number, len(pieces))
    return pieces[number - 1]


def _no_such(session: Session, actor_id: str, number: int, count: int) -> NotFoundError:
    return NotFoundError(
        f"{actor_id} in session {session.id} has no turn {number}",
        hint=f"It has had {count} so far.",
    )
