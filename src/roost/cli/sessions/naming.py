"""Which session a command means: an id, the beginning of one, or the last session of a folder."""

from pathlib import Path
from typing import Final

from roost.cli.folders import working_folder
from roost.core.errors import NotFoundError, UsageError
from roost.core.text import echo, terminal_safe
from roost.db.transaction import Reader
from roost.sessions import store as sessions
from roost.sessions.models import Session

PREFIX: Final = "ses_"
SHORTEST: Final = 4
"""Characters after `ses_` that the beginning of an id needs: fewer name a session by accident."""
_SHOWN: Final = 5
_ALIKE: Final = 0.85
_LOOKED: Final = 200
"""Sessions among which a name is looked for that is much like the given one."""


def named(db: Reader, word: str) -> Session:
    """The session whose id is `word`, or the only one whose id begins so (`ses_` may be left out).

    Raises `NotFoundError` when there is none, and `UsageError` when there are several.
    """
    if (session := sessions.find(db, word)) is not None:
        return session
    start = word if word.startswith(PREFIX) else PREFIX + word
    if len(start) < len(PREFIX) + SHORTEST:
        raise _unknown(db, word)
    found = sessions.beginning_with(db, start, _SHOWN + 1)
    if not found:
        raise _unknown(db, word)
    if len(found) > 1:
        raise UsageError(f"several sessions begin with {word}", hint=_choices(found))
    return found[0]


def _choices(found: list[Session]) -> str:
    more = ["…"] if len(found) > _SHOWN else []
    return "\n".join(["Give more of the id:", *_lines(found[:_SHOWN]), *more])


def _lines(found: list[Session]) -> list[str]:
    return [f"{one.id}  {terminal_safe(one.title)}" for one in found]


def _unknown(db: Reader, word: str) -> NotFoundError:
    """The error for an id that names no session, with those that may have been meant."""
    near = _near(word, sessions.listed(db, limit=_LOOKED))
    meant = ["Did you mean one of these?", *_lines(near)] if near else []
    hint = "\n".join([*meant, "`roost sessions list --all` lists all."])
    return NotFoundError(f"there is no session {echo(word) or 'without a name'}", hint=hint)


def _near(word: str, recent: list[Session]) -> list[Session]:
    """Sessions whose id begins much like `word`, and those with `word` in their title."""
    import difflib  # only when something was mistyped

    if len(word.removeprefix(PREFIX)) < SHORTEST:
        return []
    start = word if word.startswith(PREFIX) else PREFIX + word
    ids = {one.id[: len(start)]: one for one in reversed(recent)}
    alike = [ids[one] for one in difflib.get_close_matches(start, ids, cutoff=_ALIKE)]
    titled = [one for one in recent if word.lower() in one.title.lower() and one not in alike]
    return [*alike, *titled][:_SHOWN]


def last_of(db: Reader, folder: Path) -> Session:
    """The session that was last used in `folder` and is not archived. Raises `NotFoundError`."""
    found = sessions.listed(db, directory=str(folder), roots=True, limit=50)
    current = [session for session in found if session.time.archived is None]
    if not current:
        raise NotFoundError(
            f"there is no session of {folder} yet",
            hint='Begin one: roost run "...". Or name one by its id: `roost sessions list --all` '
            "lists those of every project.",
        )
    return current[0]


def chosen(db: Reader, word: str | None, folder: str | None) -> Session:
    """The session `word`; without a word the last one of `folder` (None: the current folder).

    Raises `NotFoundError` and `UsageError`.
    """
    return last_of(db, working_folder(folder).resolve()) if word is None else named(db, word)
