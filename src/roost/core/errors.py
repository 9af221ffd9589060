"""The errors that Roost raises on purpose: what happened, to which thing, and what to do.

Every one carries a `message` for people and a `hint` that says what to do next. Code catches the
class; no code reads the text.
"""

import re
from contextlib import suppress
from typing import ClassVar, Final

from roost.core.text import clean, cut, without_middle

_NUMBER: Final = re.compile(r"\[Errno -?\d+\] ?")
SAID: Final = 2_000
"""Characters of what an error that Roost did not raise says that are passed on."""


class RoostError(Exception):
    """Base of all errors that a user may see.

    Of a message or hint longer than `longest` characters the middle is left out: errors repeat
    what they were given, which may be anything. Names in them are cut by `core.text.echo`.
    """

    exit_code = 1
    longest: ClassVar[int] = 4_000

    def __init__(self, message: str, *, hint: str = "") -> None:
        self.message = without_middle(message, self.longest)
        self.hint = without_middle(hint, self.longest)
        super().__init__(self.message)


class UsageError(RoostError):
    """The command line, a request or an argument is not what the contract asks for."""

    exit_code = 2


class TooLargeError(UsageError):
    """What was given is larger than its limit; the words tell the limit."""


class ConfigError(UsageError):
    """A configuration file cannot be read or holds a value that is not allowed."""


class NotFoundError(RoostError):
    """A session, message, actor, request or file that was named does not exist."""

    exit_code = 2


class BusyError(RoostError):
    """The actor is running a turn, so what was asked cannot be done now."""


class ConflictError(RoostError):
    """The same id was used for something else, or the state changed since it was read."""


class DeniedError(RoostError):
    """A permission rule, the user, or the absence of a user refused the action."""

    def __init__(
        self, message: str, *, hint: str = "", permission: str = "", needs_person: bool = False
    ) -> None:
        """`permission` is what a rule names that would allow the action; empty where nobody was
        missing. `needs_person`: no flag allows it in place of such a rule.
        """
        super().__init__(message, hint=hint)
        self.permission = permission
        self.needs_person = needs_person


class StorageError(RoostError):
    """The database cannot be used: disk full, no locks, damaged, read-only or too new."""


class StaleFenceError(RoostError):
    """A write came from a turn that no longer owns its actor. Nothing was written."""


class LimitError(RoostError):
    """A written-down limit was reached."""

    exit_code = 3


def plain_words(error: BaseException) -> str:
    """What an error that Roost did not raise says to people: without the number that the system
    gives it, and cut. Its type where it says nothing, or cannot.
    """
    return _said_by(error) or type(error).__name__


def described(error: BaseException) -> str:
    """The type of an error that Roost did not raise, and what it says."""
    words = _said_by(error)
    return f"{type(error).__name__}: {words}" if words else type(error).__name__


def _said_by(error: BaseException) -> str:
    with suppress(Exception):  # what it says of itself may be foreign code, which may fail
        if isinstance(error, OSError) and error.strerror:
            of = f": {error.filename}" if error.filename is not None else ""
            return cut(clean(_NUMBER.sub("", error.strerror) + of), SAID)
        return cut(clean(_NUMBER.sub("", str(error))), SAID)
    return ""


def own_fault(error: BaseException) -> str:
    """What people are told of an error that nothing in Roost foresaw."""
    return f"Roost itself failed ({described(error)})"


def cause_of(error: BaseException) -> BaseException:
    """The first error inside of nested groups, into which task groups wrap what they collect."""
    match error:
        case BaseExceptionGroup(exceptions=(first, *_)):
            return cause_of(first)
        case _:
            return error
