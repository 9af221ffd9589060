"""Which git commands only read, and which throw work away."""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from roost.permissions.shell_options import Arguments, arguments
from roost.permissions.shell_unwrap import Invocation
from roost.permissions.shell_use import Use, leads_away
from roost.permissions.shell_words import Word

_VALUED: Final = {"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path"}
_QUIET: Final = {"-C", "--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs"}
_QUIET_SETTINGS: Final = ("color.", "core.quotepath=", "core.pager=cat", "diff.noprefix=")

READING: Final = {
    *("status", "log", "show", "diff", "shortlog", "whatchanged", "blame", "annotate", "grep"),
    *("ls-files", "ls-tree", "rev-parse", "rev-list", "describe", "name-rev", "merge-base"),
    *("cherry", "count-objects", "check-ignore", "check-attr", "for-each-ref", "show-ref"),
    *("version", "diff-tree", "diff-index", "diff-files", "cat-file", "range-diff"),
}
_REFUSED: Final = (
    *("--output", "--ext-diff", "--textconv", "--filters", "--open-files-in-pager"),
    *("--show-signature", "--exec", "--upload-pack", "--paginate", "-O", "--contents"),
)
_LISTING: Final = ("--list", "-l", "--contains", "--no-contains", "--merged", "--no-merged")
_BRANCH_QUIET: Final = {
    *("-a", "-r", "-v", "-q", "--all", "--remotes", "--verbose", "--show-current", "--sort"),
    *("--format", "--color", "--no-color", "--column", "--no-column", "--points-at", "-i"),
    *("--ignore-case", "-n", "--abbrev", "--no-abbrev", "--omit-empty", *_LISTING),
}
_SECOND_WORD: Final = {
    "stash": {"list", "show"},
    "worktree": {"list"},
    "reflog": {"show", "list", "exists"},
    "submodule": {"status", "summary"},
    "notes": {"list", "show"},
    "bisect": {"log"},
    "remote": {"get-url"},
}
_GETTING: Final = ("--get", "--get-all", "--get-regexp")
_SECRET_PARTS: Final = ("header", "token", "pass", "secret", "credential")
"""Settings with these in their names are no free reading."""
_FORCE: Final = ("-f", "--force")


class GitCall(Struct, frozen=True):
    """`git [options] subcommand arguments`."""

    subcommand: str
    rest: tuple[Word, ...]
    folders: tuple[Word, ...]
    """Values of `-C`."""
    quiet: bool
    """No option before the subcommand changes what runs."""


def git_call(words: Sequence[Word]) -> GitCall:
    """Take the words after `git` apart; the subcommand is empty if it is not known."""
    rest = list(words)
    folders: list[Word] = []
    quiet = True
    while rest and (not rest[0].exact or rest[0].text.startswith("-")):
        option = rest.pop(0)
        name, equals, _ = option.text.partition("=")
        quiet = quiet and option.exact and (name in _QUIET or name == "-c")
        if name in _VALUED and not equals and rest:
            value = rest.pop(0)
            if name == "-C":
                folders.append(value)
            elif name == "-c":
                setting = value.text.lower()
                quiet = quiet and value.exact and setting.startswith(_QUIET_SETTINGS)
    subcommand = rest.pop(0).text if rest else ""
    return GitCall(subcommand, tuple(rest), tuple(folders), quiet)


def git_use(call: Invocation) -> Use:
    """Whether a git command only reads, and the paths outside that it names."""
    git = git_call(call.words[1:])
    # No letter takes a value here: whether one does differs, and none may hide a refused option.
    given = arguments(git.rest, long=("--output",))
    operands = given.operands
    if git.subcommand == "grep" and not given.has("-e", "-f"):
        operands = operands[1:]
    away = tuple(w for w in operands if leads_away(w.text if w.exact else w.stem))
    # Compared without the index any file will do, and not only those that git knows.
    paths = operands if given.has("--no-index") else away
    certain = given.certain and not any("%G" in word.text for word in git.rest)
    reads = git.quiet and certain and _only_reads(git, given)
    return Use(reads, (*git.folders, *paths), tuple(given.values("--output")))


def _only_reads(git: GitCall, given: Arguments) -> bool:
    operands = [word.text for word in given.operands]
    names = {option.name for option in given.options}
    if git.subcommand in READING:
        return not given.has(*_REFUSED)
    if git.subcommand in {"branch", "tag"}:
        listing = bool(names & set(_LISTING)) or (git.subcommand == "tag" and "-n" in names)
        return names <= _BRANCH_QUIET and (listing or not operands)
    if git.subcommand == "config":
        secret = any(part in one.lower() for one in operands for part in _SECRET_PARTS)
        return given.has(*_GETTING) and names <= {*_GETTING, "--global", "--local"} and not secret
    if git.subcommand == "remote" and not operands:
        return names <= {"-v", "--verbose"}
    if git.subcommand == "reflog" and not operands:
        return not given.has(*_REFUSED)
    allowed = _SECOND_WORD.get(git.subcommand, set[str]())
    return bool(operands) and operands[0] in allowed and not given.has(*_REFUSED)


class GitLoss(Struct, frozen=True):
    """What a git command may throw away for good."""

    paths: tuple[Word, ...] = ()
    remote: bool = False
    """It is another machine that loses something."""


def git_loss(words: Sequence[Word]) -> GitLoss | None:
    """What `git` with these words throws away, or None."""
    git = git_call(words)
    given = arguments(git.rest, values="mbBc")
    first = given.operands[0].text if given.operands else ""
    if git.subcommand == "push":
        return GitLoss(remote=True) if _overwrites(given) else None
    if git.subcommand == "rm":
        return GitLoss(given.operands) if given.has(*_FORCE) else None
    lost = {
        "reset": given.has("--hard", "--merge"),
        "clean": given.has(*_FORCE),
        "checkout": _discards(git, given),
        "switch": given.has("--discard-changes", "-C", *_FORCE),
        "restore": given.has("--worktree", "-W") or not given.has("--staged", "-S"),
        "branch": given.has("-D", "--delete", "-d", "-M", *_FORCE),
        "tag": given.has("-d", "--delete", *_FORCE),
        "stash": first in {"drop", "clear"},
        "worktree": first == "remove",
        "reflog": first in {"expire", "delete"},
        "gc": given.has("--prune"),
        "prune": True,
        "update-ref": given.has("-d", "--stdin"),
        "filter-branch": True,
        "filter-repo": True,
        "submodule": first == "deinit" and given.has(*_FORCE),
    }
    return GitLoss() if lost.get(git.subcommand, False) else None


def _overwrites(given: Arguments) -> bool:
    forced = given.has("-f", "--force", "--force-with-lease", "--mirror", "--delete", "-d")
    return forced or given.has("--prune") or any(w.text[:1] in "+:" for w in given.operands[1:])


def _discards(git: GitCall, given: Arguments) -> bool:
    if given.has("-B", *_FORCE):
        return True
    return any(word.text in {"--", "."} for word in git.rest)
