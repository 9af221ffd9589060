"""Tells the user what went wrong: one line, what to do next, and no traceback."""

import contextlib
import os
import sys
from typing import Final

from roost.core.errors import RoostError, cause_of, own_fault
from roost.core.text import terminal_safe

DEBUG_VARIABLE: Final = "ROOST_DEBUG"


def words_of(error: BaseException) -> tuple[str, str]:
    """What happened, and what to do about it (may be empty)."""
    error = cause_of(error)
    if isinstance(error, RoostError):
        return error.message, error.hint
    return (
        own_fault(error),
        f"Please report it; {DEBUG_VARIABLE}=1 shows where it happened.",
    )


def describe(error: BaseException) -> str:
    """The lines for people, ready for a terminal."""
    message, hint = words_of(error)
    lines = [f"error: {message}"]
    if hint:
        lines += [f"  {line}" for line in hint.split("\n")]
    return terminal_safe("\n".join(lines)) + "\n"


def report(error: BaseException) -> None:
    """Write `error` to stderr, with its traceback if the user asked for that; never a key."""
    # Imported here: seldom needed.
    from roost.cli.logs.lines import forms_of
    from roost.cli.secrets import redact, secrets_in

    told = describe(error)
    if os.environ.get(DEBUG_VARIABLE):
        import traceback

        told = terminal_safe("".join(traceback.format_exception(error))) + told
    secrets = {form for value in secrets_in(os.environ) for form in forms_of(value)}
    tell(redact(told, secrets))


def tell(text: str) -> None:
    """Write to stderr, behind what stdout was given before; a terminal that is gone or cannot show
    a character stops nothing."""
    if sys.stderr is None:
        return
    if sys.stdout is not None:
        with contextlib.suppress(OSError, ValueError):  # whoever ends the command hears of it
            sys.stdout.flush()
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (OSError, ValueError):
        _let_go()


def _let_go() -> None:
    """Let the interpreter flush the rest into nothing at exit, so that it does not complain."""
    with contextlib.suppress(OSError, ValueError):
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, sys.stderr.fileno())
        os.close(nothing)
