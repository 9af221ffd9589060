"""Says of one invocation whether it only reads, and which paths it reads and writes."""

from typing import Final

from roost.permissions.shell_options import arguments
from roost.permissions.shell_programs import (
    FILTERS,
    LISTERS,
    READERS,
    TARGET_LAST,
    VERSIONED,
    WRITERS,
    Program,
)
from roost.permissions.shell_special import SPECIAL
from roost.permissions.shell_unwrap import Invocation, is_system
from roost.permissions.shell_use import Use, harmless, loose_paths, option_paths
from roost.permissions.shell_words import Word

_LISTING_GIT: Final = {"ls-files", "grep", "diff", "show", "log", "ls-tree"}


def use_of(call: Invocation) -> Use:
    """What `call` does. What is not known is taken to write."""
    safe = all(map(harmless, call.assignments))
    if not call.words:
        return Use(safe)
    if not call.name or not is_system(call.words[0]):
        return Use(False, loose_paths(call.words[1:]))
    if special := SPECIAL.get(call.name):
        use = special(call)
    elif reader := READERS.get(call.name):
        use = _reader(call, reader)
    elif writer := WRITERS.get(call.name):
        use = _writer(call, writer)
    elif [w.text for w in call.words[1:]] in (["--version"], ["-V"], ["-v"]):
        use = Use(call.name in VERSIONED)
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


def _known_input(call: Invocation) -> bool:
    """Whether arguments that come from another command are paths which that command was given.

    A file name may begin with a dash. Where an option could do harm, only `find` is taken, whose
    paths begin with the folder they were found in.
    """
    source = call.fed_by
    while source is not None and source.name in FILTERS and _reads_input(source):
        source = source.feeder
    if source is None or not source.words or not is_system(source.words[0]):
        return call.name in {"echo", "basename", "dirname"}
    if source.name == "find":
        return True
    reader = READERS.get(call.name)
    if reader is None or reader.refused or reader.limit is not None:
        return False
    subcommand = source.words[1].text if len(source.words) > 1 else ""
    return source.name in LISTERS or (source.name == "git" and subcommand in _LISTING_GIT)


def _reads_input(call: Invocation) -> bool:
    program = READERS[call.name]
    given = arguments(call.words[1:], values=program.values, long=program.long)
    named = len(given.operands) - (0 if given.has(*program.pattern_options) else program.text)
    return named <= 0 and not given.has("-r", "-R", "--recursive", "-l", "--files")
