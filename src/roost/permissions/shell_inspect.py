"""Says of one invocation whether it only reads, and which paths it reads and writes."""

import re
from typing import Final

from roost.permissions.shell_options import arguments
from roost.permissions.shell_programs import (
    FILTERS,
    READERS,
    SHORT_VERSION,
    TARGET_LAST,
    VERSIONED,
    WRITERS,
    Program,
)
from roost.permissions.shell_special import SPECIAL
from roost.permissions.shell_unwrap import Invocation, is_system
from roost.permissions.shell_use import Use, harmless, loose_paths, option_paths
from roost.permissions.shell_words import Word

_NAMES_ONLY: Final = {"-l", "-rl", "-lr", "-il", "-li", "--files", "--files-with-matches"}
_GIT_LISTS: Final[dict[str, set[str]]] = {
    "ls-files": set(),
    "grep": {"-l", "--name-only", "--files-with-matches"},
    "diff": {"--name-only"},
    "ls-tree": {"--name-only"},
}
"""Git commands that list paths, and the options of which they need one for that."""


def use_of(call: Invocation) -> Use:
    """What `call` does. What is not known is taken to write."""
    safe = all(map(harmless, call.assignments))
    if not call.words:
        return Use(safe)
    if not call.name or not is_system(call.words[0]):
        return Use(False, loose_paths(call.words[1:]))
    if _asks_version(call):
        use = Use(True)
    elif special := SPECIAL.get(call.name):
        use = special(call)
    elif reader := READERS.get(call.name):
        use = _reader(call, reader)
    elif writer := WRITERS.get(call.name):
        use = _writer(call, writer)
    else:
        use = Use(False, loose_paths(call.words[1:]))
    known = all(_is_known_path(word) for word in use.reads)
    more = not call.more or _known_input(call)
    return Use(use.read_only and safe and known and more, use.reads, use.writes)


def _is_known_path(word: Word) -> bool:
    return word.exact or word.glob or word.pipe


def _reader(call: Invocation, program: Program) -> Use:
    given = arguments(call.words[1:], values=program.values, long=program.long)
    paths = given.operands
    if program.text < 0:
        paths = ()
    elif not given.has(*program.pattern_options):
        paths = paths[program.text :]
    refused = given.has(*program.refused) or (bool(program.refused) and not given.certain)
    too_many = program.limit is not None and (
        len(paths) > program.limit or not all(word.exact for word in paths)
    )
    return Use(not refused and not too_many, (*paths, *option_paths(given)))


def _writer(call: Invocation, program: Program) -> Use:
    given = arguments(call.words[1:], values=program.values)
    paths = given.operands[program.text :]
    into = given.values("-t", "--target-directory")
    if call.name in TARGET_LAST and paths:
        targets = into or paths[-1:]
        return Use(False, tuple(p for p in paths if p not in targets), tuple(targets))
    return Use(False, tuple(option_paths(given)), (*paths, *into))


def _asks_version(call: Invocation) -> bool:
    if len(call.words) != 2 or call.more:
        return False
    option = call.words[1].text
    return (option == "--version" and call.name in VERSIONED) or (
        (call.name, option) in SHORT_VERSION
    )


def _known_input(call: Invocation) -> bool:
    """Whether arguments that come from another command are paths which that command was given.

    A file name may begin with a dash. Where an option could do harm, only `find` is taken, whose
    paths begin with the folder they were found in.
    """
    source = call.fed_by
    while source is not None and source.name in FILTERS and _passes_on(source):
        source = source.feeder
    if source is None or not source.words or not is_system(source.words[0]):
        return call.name in {"echo", "basename", "dirname"}
    if source.name == "find":
        return not any(word.text in {"-printf", "-ls"} for word in source.words)
    reader = READERS.get(call.name)
    if reader is None or reader.refused or reader.limit is not None:
        return False
    return _lists_paths(source)


def _lists_paths(call: Invocation) -> bool:
    """Whether the output is nothing but paths of files that were found."""
    words = {word.text for word in call.words[1:]}
    if not all(word.exact or word.glob for word in call.words):
        return False
    if call.name == "git":
        subcommand = call.words[1].text if len(call.words) > 1 else ""
        plain = "--format" not in {word.partition("=")[0] for word in words}
        needed = _GIT_LISTS.get(subcommand)
        return needed is not None and plain and (not needed or bool(words & needed))
    if call.name == "ls":
        return all(word[:1] != "-" or re.fullmatch(r"-[1aAdrtRpF]+", word) for word in words)
    return call.name in {"grep", "rg"} and bool(words & _NAMES_ONLY)


def _passes_on(call: Invocation) -> bool:
    """Whether the output are whole lines of the input."""
    program = READERS[call.name]
    given = arguments(call.words[1:], values=program.values, long=program.long)
    named = len(given.operands) - (0 if given.has(*program.pattern_options) else program.text)
    parts = given.has("-o", "--only-matching", "-r", "-R", "--recursive", "-l", "--label")
    return named <= 0 and not parts and given.certain
