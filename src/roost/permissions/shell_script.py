"""Takes a shell command line apart into simple commands, with a short cut for plain ones."""

import re
from pathlib import Path
from typing import Final

from roost.permissions.shell_words import Folders, Script, Simple, plain_word

_PLAIN: Final = re.compile(r"[A-Za-z0-9_./-]+(?: (?:--[a-z-]+=)?[A-Za-z0-9_./-]+)*")
_NOT_PLAIN: Final = re.compile(
    r"(?:if|then|else|elif|fi|for|while|until|do|done|case|esac|in|function|select|time|coproc"
    r"|export|declare|typeset|local|readonly|unset|unsetenv)(?: |$)"
)


def is_folder(path: str) -> bool:
    """Whether a `cd` to `path` succeeds."""
    try:
        return Path(path).is_dir()
    except (OSError, ValueError):
        return False


def read_script(command: str, folder: str, home: str) -> Script:
    """Take `command` apart as bash would in `folder`; never raises.

    `home` is what `~` and `$HOME` mean.
    """
    folders: Folders = frozenset({folder})
    if is_plain(command):
        words = tuple(plain_word(word) for word in command.split(" "))
        return Script((Simple(words, folders=folders),))
    return parsed_script(command, folders, home)


def is_plain(command: str) -> bool:
    """Whether `command` is one command of which every word means itself."""
    return _PLAIN.fullmatch(command) is not None and not _NOT_PLAIN.match(command)


def parsed_script(command: str, folders: Folders, home: str) -> Script:
    """`read_script` with the parser, whatever the command."""
    # Imported here: a plain command needs neither.
    from roost.permissions.shell_tree import parse
    from roost.permissions.shell_walk import Walk

    root, doubt = parse(command)
    if root is None:
        return Script((), doubt=doubt)
    # A script that may set HOME makes `~` unknown.
    mentions = len(re.findall(r"HOME", command))
    fixed = mentions == len(re.findall(r"\$HOME\b|\$\{HOME\}", command))
    walk = Walk(home if fixed else None, doubt, is_folder)
    try:
        walk.visit(root, folders)
    except RecursionError:
        walk.doubts.append("it is nested too deeply")
    return Script(tuple(walk.commands), tuple(walk.redirects), walk.doubt)
