"""What a shell command line does, and what it therefore has to be allowed. No I/O but `guard`'s.

A shell is no sandbox: what a program does inside cannot be seen here. What can be told is told
strictly: a command line that cannot be read for certain asks, whatever rules allow parts of it.
"""

import os
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Final, Literal, Protocol

from msgspec import Struct

from roost.core.errors import UsageError
from roost.permissions.path_requests import spellings
from roost.permissions.shell_always import always_of
from roost.permissions.shell_effects import Kill, Loss, kill_of, loss_of
from roost.permissions.shell_git import git_call
from roost.permissions.shell_inspect import use_of
from roost.permissions.shell_script import read_script
from roost.permissions.shell_unwrap import Invocation, unwrap
from roost.permissions.shell_use import Use, harmless
from roost.permissions.shell_words import Folders, Redirect, Word, plain_word
from roost.workspace.guard import Located

_DEVICES: Final = {"/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/zero"}
_MAX_MATCHES: Final = 100
"""Files of one pattern that are looked at one by one."""
_SOURCES: Final = {*_DEVICES, "/dev/urandom", "/dev/random"}

Reach = Literal["inside", "temporary", "outside", "unknown"]


class PathGuard(Protocol):
    """Says where a path leads; `roost.workspace.guard.Guard` is one."""

    @property
    def root(self) -> Path:
        """The project, without links."""
        ...

    def locate(self, given: str, cwd: Path | None = None) -> Located:
        """Resolve `given`; raises `UsageError` for what cannot be a path."""
        ...

    def refusal(self, located: Located, *, write: bool) -> str | None:
        """Why nobody may touch it, or None."""
        ...

    def holds_own(self, real: Path) -> bool:
        """Whether Roost's own data lies there or below."""
        ...


class Surroundings(Struct, frozen=True):
    """Where a command line would run."""

    cwd: Path
    guard: PathGuard
    home: Path
    temporary: tuple[Path, ...] = ()
    """Folders for scratch files, without links. What lies strictly below may be deleted as
    lightly as anything else is changed."""
    pids: frozenset[int] = frozenset()
    """Processes of Roost itself: a command that ends them is refused."""


class Destruction(Struct, frozen=True):
    """Something a command may destroy."""

    command: int
    """Its index in `BashAnalysis.commands`."""
    reach: Reach
    paths: tuple[Path, ...] = ()
    """Without links; empty where it is not told by paths, as with `git reset --hard`."""
    remote: bool = False


class ShellCommand(Struct, frozen=True):
    """One program that the command line runs."""

    pattern: str
    """Words joined by one blank, quotes resolved, programs of the system without their folder."""
    covers: tuple[str, ...]
    """Other texts that a deny may be about: the wrappers around it, the program by its bare name,
    the command without its variables."""
    always: str | None
    read_only: bool
    opaque: bool
    stem: str | None
    """The known beginning where the end is not known; see `Traits`."""


class BashAnalysis(Struct, frozen=True):
    """What a command line does, as far as its text tells."""

    command: str
    commands: tuple[ShellCommand, ...]
    doubt: str
    """Why there may be more to it than `commands`; empty: nothing is hidden."""
    reads: tuple[Located, ...]
    """Paths in the project that are read or gone to."""
    writes: tuple[Located, ...]
    """Paths that are changed, by redirections too, in the project or outside."""
    outside: tuple[Located, ...]
    """Paths outside the project that are read or gone to."""
    globs: tuple[tuple[str, tuple[str, ...]], ...]
    """`read` or `edit`, and the spellings of a pattern that fits too many files to name them."""
    destroys: tuple[Destruction, ...]
    kills: tuple[tuple[int, Kill], ...]
    """Each with the index of its command."""
    refusals: tuple[str, ...]
    """Reasons why it must not run at all, whatever rules say."""

    @property
    def read_only(self) -> bool:
        """Proved to change nothing."""
        return not self.doubt and not self.writes and all(one.read_only for one in self.commands)

    @property
    def opaque(self) -> bool:
        """Whether it cannot be told what it runs."""
        return bool(self.doubt) or any(one.opaque for one in self.commands)


def analyse(command: str, around: Surroundings) -> BashAnalysis:
    """Say what `command` does in `around`. Never raises; what it cannot tell is a doubt."""
    script = read_script(command, str(around.cwd), str(around.home))
    unwrapped = unwrap(script, str(around.home))
    work = _Analysis(around)
    for call in unwrapped.invocations:
        work.invocation(call)
    for redirect in (r for one in unwrapped.scripts for r in one.redirects):
        work.redirect(redirect)
    doubt = unwrapped.doubt or next(iter(work.doubts), "")
    return BashAnalysis(
        command=command,
        commands=tuple(work.commands),
        doubt=doubt,
        reads=_unique(work.reads),
        writes=_unique(work.writes),
        outside=_unique(work.outside),
        globs=tuple(dict.fromkeys(work.globs)),
        destroys=tuple(work.destroys),
        kills=tuple(work.kills),
        refusals=tuple(dict.fromkeys(work.refusals)),
    )


def _unique(found: Iterable[Located]) -> tuple[Located, ...]:
    return tuple({(str(one.path), str(one.real)): one for one in found}.values())


class _Analysis:
    def __init__(self, around: Surroundings) -> None:
        self.around = around
        self.commands: list[ShellCommand] = []
        self.doubts: list[str] = []
        self.reads: list[Located] = []
        self.writes: list[Located] = []
        self.outside: list[Located] = []
        self.globs: list[tuple[str, tuple[str, ...]]] = []
        self.destroys: list[Destruction] = []
        self.kills: list[tuple[int, Kill]] = []
        self.refusals: list[str] = []

    def invocation(self, call: Invocation) -> None:
        use = use_of(call)
        known = self._paths(call, use)
        self.commands.append(_shell_command(call, read_only=use.read_only and known))
        if (loss := loss_of(call)) is not None:
            self.destroys += self._destructions(call, loss)
        if (kill := kill_of(call)) is not None:
            self.kills.append((len(self.commands) - 1, kill))
            if kill.parent or any(abs(pid) in self.around.pids for pid in kill.pids):
                self.refusals.append(f"{call.text} would end Roost itself")

    def redirect(self, redirect: Redirect) -> None:
        target = redirect.target
        if target.exact and target.text in (_DEVICES if redirect.writes else _SOURCES):
            return
        if target.pipe:
            return
        found = self._locate(target, redirect.folders) if target.exact else None
        if found is None:
            what = "writes to" if redirect.writes else "reads"
            self.doubts.append(f"it {what} a file that is not known: {target.text}")
            return
        for one in found:
            self._touch(one, write=redirect.writes)

    def _paths(self, call: Invocation, use: Use) -> bool:
        """Note the paths of `call`; whether all that it reads are known."""
        folders = self._folders(call)
        known = True
        for word in use.reads:
            known = self._note(word, folders, write=False) and known
        for word in use.writes:
            self._note(word, folders, write=True)
        return known

    def _folders(self, call: Invocation) -> Folders:
        """Where `call` works: `git -C x` somewhere else than the shell."""
        moves = git_call(call.words[1:]).folders if call.name == "git" else ()
        folders = call.folders
        for word in moves:
            located = self._locate(word, folders) if word.exact else None
            folders = None if located is None else frozenset(str(one.path) for one in located)
        return folders

    def _note(self, word: Word, folders: Folders, *, write: bool) -> bool:
        if word.pipe or (word.exact and word.text in (_DEVICES if write else _SOURCES | {"-"})):
            return True
        found = self._locate(word, folders)
        for one in found or ():
            self._touch(one, write=write)
        if word.glob and found is not None:
            self._note_glob(word, folders, write=write)
        return found is not None

    def _note_glob(self, word: Word, folders: Folders, *, write: bool) -> None:
        """The files that a pattern fits now, links among them."""
        for folder in folders or {"/"}:
            whole = os.path.normpath(Path(folder) / word.text)
            names = list(islice(_matching(whole), _MAX_MATCHES + 1))
            if len(names) > _MAX_MATCHES:
                permission = "edit" if write else "read"
                spelled = spellings(Path(whole), self.around.guard.root)
                self.globs.append((permission, spelled))
            for name in names[:_MAX_MATCHES]:
                located = self._locate(plain_word(name), None)
                for one in located or ():
                    self._touch(one, write=write)

    def _touch(self, located: Located, *, write: bool) -> None:
        if reason := self.around.guard.refusal(located, write=write):
            self.refusals.append(reason)
        if write:
            self.writes.append(located)
        elif located.inside or located.readable:
            self.reads.append(located)
        else:
            self.outside.append(located)

    def _locate(self, word: Word, folders: Folders) -> list[Located] | None:
        """Where `word` leads from each folder; None: it cannot be told."""
        text = _known_path(word)
        if text is None or (folders is None and not text.startswith("/")):
            return None
        try:
            return [
                self.around.guard.locate(str(Path(folder) / text), self.around.cwd)
                for folder in (folders or {"/"})
            ]
        except (UsageError, OSError, ValueError):
            return None

    def _destructions(self, call: Invocation, loss: Loss) -> list[Destruction]:
        index = len(self.commands) - 1
        if not loss.paths:
            reach: Reach = "outside" if loss.remote else "inside"
            return [Destruction(index, reach, (), loss.remote)]
        found: list[Destruction] = []
        for word in loss.paths:
            located = self._locate(word, self._folders(call))
            if located is None:
                found.append(Destruction(index, "unknown"))
            for one in located or ():
                if reason := self.around.guard.refusal(one, write=True):
                    self.refusals.append(reason)
                if call.name == "rm" and self._takes_own(one, word):
                    self.refusals.append(f"{call.text} would delete Roost's own data")
                reach = "outside" if loss.whole else self._reach(one, word)
                found.append(Destruction(index, reach, (one.real,)))
        return found

    def _takes_own(self, located: Located, word: Word) -> bool:
        """Whether Roost's own data goes with it."""
        if not word.glob:
            return self.around.guard.holds_own(located.real)
        rest = word.text.removeprefix(_known_path(word) or "").lstrip("/")
        found = islice(_matching(str(located.real / rest)), _MAX_MATCHES)
        return any(self.around.guard.holds_own(Path(os.path.realpath(name))) for name in found)

    def _reach(self, located: Located, word: Word) -> Reach:
        root = self.around.guard.root
        if located.inside:
            # The project as a whole is more than what git or a person would restore from it.
            whole = located.real == root or located.real in root.parents
            return "outside" if whole and not word.glob else "inside"
        below = any(folder in located.real.parents for folder in self.around.temporary)
        return "temporary" if below and word.exact else "outside"


def _matching(pattern: str) -> Iterator[str]:
    """The files that bash would put in place of `pattern`, an absolute path with wildcards."""
    wanted = re.sub(r"\*{2,}", "*", pattern.lstrip("/"))
    parts = wanted.split("/")
    try:
        for path in Path("/").glob(wanted):
            hidden = [
                name[0] == "." != part[0] for name, part in zip(path.parts[1:], parts, strict=False)
            ]
            if not any(hidden):
                yield str(path)
    except (ValueError, OSError, re.error):
        return


def _known_path(word: Word) -> str | None:
    """The path, or the folder in which a pattern looks."""
    if word.exact:
        return word.text or None
    if not word.glob or ".." in word.text[len(word.stem) :].split("/"):
        return None
    return word.stem.rpartition("/")[0] or ("/" if word.stem.startswith("/") else ".")


def _shell_command(call: Invocation, *, read_only: bool) -> ShellCommand:
    text = call.text
    unsafe = [one for one in call.assignments if not harmless(one)]
    prefix = "".join(f"{one.name}={one.value.shown} " for one in unsafe) if call.words else ""
    others = [*call.covers, text, " ".join(word.text for word in call.words)]
    if call.words:
        others.append(
            " ".join([plain_word(call.name).shown, *(word.shown for word in call.words[1:])])
        )
    others += _without_options(call)
    pattern = prefix + text
    return ShellCommand(
        pattern=pattern,
        covers=tuple(one for one in dict.fromkeys(others) if one != pattern),
        always=None if prefix else always_of(call),
        read_only=read_only,
        opaque=bool(call.words) and (not call.name or _is_redefined(call)),
        stem=_stem(call),
    )


def _without_options(call: Invocation) -> list[str]:
    """A git command without what stands before its subcommand: rules speak of `git push`."""
    if not call.words or Path(call.name).name != "git":
        return []
    git = git_call(call.words[1:])
    return [" ".join(["git", git.subcommand, *(word.shown for word in git.rest)])]


def _is_redefined(call: Invocation) -> bool:
    """Whether git is told on the spot what a word means, or to run commands of its own."""
    if not call.words or Path(call.name).name != "git":
        return False
    before = [word.text for word in call.words[1:]]
    settings = [text for text in before if text.lower().startswith(("alias.", "--config-env"))]
    carries = {"submodule": "foreach", "rebase": "--exec", "bisect": "run"}
    git = git_call(call.words[1:])
    named = [word.text for word in git.rest]
    carried = carries.get(git.subcommand)
    runs = any(carried and text.startswith(carried) for text in named)
    return bool(settings) or runs or (git.subcommand == "rebase" and "-x" in named)


def _stem(call: Invocation) -> str | None:
    if not call.words or (all(word.exact for word in call.words) and not call.more):
        return None
    shown = [call.name]
    for word in call.words[1:]:
        if not word.exact:
            return " ".join([*shown, word.stem])
        shown.append(word.shown)
    return " ".join(shown) if call.words[0].exact else ""
