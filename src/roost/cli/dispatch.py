"""Finds the command, runs it, and turns whatever it raises into words and an exit code."""

import importlib
import os
import sys
from types import TracebackType
from typing import Any, Final, Protocol, Self, cast

from roost.cli.failures import report
from roost.cli.grammar import COMMANDS, find_command, parse
from roost.cli.overview import START, overview
from roost.cli.parser import near_match
from roost.core.errors import RoostError, UsageError, cause_of

INTERRUPTED: Final = 130
BROKEN_PIPE: Final = 141
"""As a shell shows a program that SIGPIPE ended."""
_WITH_VALUE: Final = ("--log-level", "--log-format")


class _Module(Protocol):
    def execute(self, given: dict[str, Any]) -> int: ...


class _Ending:
    """Catches what a command raises and makes it an exit code."""

    def __init__(self) -> None:
        self.code = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> bool:
        if error is not None:
            self.code = _code_of(error)
        return True


def dispatch(words: list[str]) -> int:
    """Run the command line `words` and give the exit code."""
    with _Ending() as ending:
        ending.code = _run(words)
        if sys.stdout is not None:
            sys.stdout.flush()
    return ending.code


def _code_of(raised: BaseException) -> int:
    error = cause_of(raised)
    match error:
        case KeyboardInterrupt():
            return INTERRUPTED
        case BrokenPipeError():
            _discard_output()
            return BROKEN_PIPE
        case SystemExit():
            return error.code if isinstance(error.code, int) else 0
        case _:
            report(raised)
            return error.exit_code if isinstance(error, RoostError) else 1


def _run(words: list[str]) -> int:
    before, rest = _split(words)
    if not rest:
        return _print(START)
    name, *after = rest
    if name in {"-h", "--help"} or rest == ["help"]:
        return _print(overview())
    if name == "help":
        name, after = after[0], [*after[1:], "--help"]
    command = find_command(name)
    if command is None:
        raise UsageError(f"there is no {_kind(name)} {name}", hint=_nearest(name))
    given = parse(command, [*before, *after])
    module = cast("_Module", importlib.import_module(command.module))
    return module.execute(given)


def _split(words: list[str]) -> tuple[list[str], list[str]]:
    """The log options that stand before the command, and the rest."""
    at = 0
    while at < len(words) and words[at].startswith(("--print-logs", *_WITH_VALUE)):
        at += 2 if words[at] in _WITH_VALUE else 1
    return words[:at], words[at:]


def _kind(name: str) -> str:
    return "option" if name.startswith("-") else "command"


def _nearest(name: str) -> str:
    known = [spelling for c in COMMANDS for spelling in (c.name, *c.aliases)]
    return f"{near_match(name, known)}See `roost --help`."


def _print(text: str) -> int:
    print(text, end="")
    return 0


def _discard_output() -> None:
    """Let the interpreter flush into nothing at exit, so that it does not complain."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, sys.stdout.fileno())
