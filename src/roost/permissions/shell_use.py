"""What one invocation does to files: whether it only reads, and which paths it names."""

import re
from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct

from roost.permissions.shell_options import Arguments
from roost.permissions.shell_unwrap import Invocation
from roost.permissions.shell_words import Assignment, Word

_LOCAL_NAME: Final = re.compile(r"[a-z_][a-z0-9_]*")
_PROXY: Final = re.compile(r"\w*_proxy")
_HARMLESS_NAME: Final = re.compile(
    r"LC_[A-Z]+|LANG|TZ|COLUMNS|LINES|NO_COLOR|FORCE_COLOR|CLICOLOR|TERM|CI"
    r"|GIT_OPTIONAL_LOCKS|[A-Z]"
)
_TEXT_OPTIONS: Final = {
    *("-e", "-d", "-t", "-g", "-c", "-k", "-m", "-s", "-I", "-P", "-L", "-x", "--regexp", "--glob"),
    *("--format", "--printf", "--include", "--exclude", "--exclude-dir", "--arg", "--delimiter"),
}
"""Options whose values are patterns, marks and numbers for the programs that only read."""
_PAGERS: Final = {"PAGER", "GIT_PAGER", "MANPAGER"}


class Use(Struct, frozen=True):
    """What an invocation does, as far as its words tell."""

    read_only: bool = False
    reads: tuple[Word, ...] = ()
    """Paths it reads or goes to."""
    writes: tuple[Word, ...] = ()
    """Paths it changes."""


Special = Callable[[Invocation], Use]


def harmless(assignment: Assignment) -> bool:
    """Whether a variable changes nothing about which code runs: no `PATH`, no `LD_PRELOAD`."""
    name, value = assignment.name, assignment.value
    if name in _PAGERS:
        return value.exact and value.text in {"cat", ""}
    if _LOCAL_NAME.fullmatch(name):
        return not _PROXY.fullmatch(name)
    return _HARMLESS_NAME.fullmatch(name) is not None


def option_paths(given: Arguments) -> list[Word]:
    """Values of options that lead somewhere else."""
    return [
        option.value
        for option in given.options
        if option.value is not None
        and option.name not in _TEXT_OPTIONS
        and leads_away(option.value.text)
    ]


def leads_away(text: str) -> bool:
    """Whether `text` looks like a path that may leave the folder."""
    return text.startswith("/") or ".." in text.split("/")


def loose_paths(words: Sequence[Word]) -> tuple[Word, ...]:
    """Of words whose meaning is not known, those that look like paths to elsewhere."""
    found: list[Word] = []
    for word in words:
        known = word.text if word.exact else word.stem
        name, equals, value = known.partition("=")
        text = value if equals and re.fullmatch(r"-{0,2}[\w-]+", name) else known
        if leads_away(text) and not text.startswith("//"):
            found.append(Word(text, word.exact, text, word.glob))
    return tuple(found)
