"""Working trees of a repository for actors that work apart from the user's own.

A tree is made whole or not at all. It is removed only when nothing in it would be lost: no file
that is not committed, no commit that is not merged. Nothing runs that the repository's own
configuration names, filters of its content included.
"""

import asyncio
import re
import shutil
import unicodedata
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from roost.core.errors import ConflictError, UsageError
from roost.core.failpoints import failpoint
from roost.core.finishing import see_through
from roost.workspace.git import Git, GitAnswer, ask_git
from roost.workspace.git_folder import repository_of

PREFIX: Final = "roost/"
"""Of the branches that are made with a tree."""
ATTEMPTS: Final = 26
"""Names that are tried for one tree: `fix`, `fix-2`, … `fix-26`."""
_NAME: Final = 40
"""Characters of a name."""
_NAMELESS: Final = "work"
_MAKING: Final = 600.0
"""Seconds that writing all files of a tree may take."""
_ASKING: Final = 20.0
"""Seconds for each question."""


class Worktree(Struct, frozen=True):
    """A working tree of its own, on a branch of its own."""

    directory: Path
    branch: str
    base: str
    """What it began from: a branch, or the commit of a detached HEAD."""


class Begun(Struct, frozen=True):
    """A tree that is being made."""

    directory: Path
    branch: str
    commit: str
    """Where the branch begins."""
    own: bool = False
    """The folder was made by whoever makes the tree, and so will the branch be."""


class TreeState(Struct, frozen=True, kw_only=True):
    """What a tree holds that the rest of the repository does not."""

    branch: str | None
    """The branch that it is on now; None: a detached HEAD, or the folder is gone."""
    ahead: int
    """Commits that its base does not have."""
    unmerged: int
    """Commits that neither its base nor the default branch has."""
    uncommitted: tuple[str, ...]
    """Tracked files that differ from the last commit."""
    untracked: tuple[str, ...]
    gone: bool = False
    """The folder is not there any more."""

    @property
    def holds(self) -> str:
        """What would be lost with it, in words; empty if nothing would."""
        return ", ".join(
            _count(number, what)
            for number, what in (
                (self.unmerged, "unmerged commit"),
                (len(self.uncommitted), "uncommitted file"),
                (len(self.untracked), "untracked file"),
            )
            if number
        )


class Removal(Struct, frozen=True):
    """What became of a tree that was to be removed."""

    removed: bool
    reason: str = ""
    """Why it stays."""


def _nobody(_: Begun) -> None:
    """Told of trees that nobody takes note of."""


def slug_of(name: str) -> str:
    """`name` in lower-case letters, digits and hyphens; what nothing is left of is `work`."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", plain.lower())[:_NAME].strip("-") or _NAMELESS


async def create(
    repository: Path, folder: Path, name: str, *, begun: Callable[[Begun], None] = _nobody
) -> Worktree:
    """Make a tree of the repository around `repository`, as of its last commit, in `folder`.

    All its files are there when this returns; if it raises, or is cancelled, nothing is left of
    it. `begun` is told how far it is before each further step, so that one who is killed can be
    followed by `take_back`. Other processes may do the same at once. Raises `UsageError` where
    there is no repository, no commit, or git fails, and `ConflictError` when every name that was
    tried is taken.
    """
    repo = await _Repository.around(repository)
    commit = await repo.git.head()
    if commit is None:
        raise UsageError(
            f"the repository of {repository} has no commit yet",
            hint="A working tree begins from a commit. Make one, or work without isolation.",
        )
    base = await repo.git.branch() or commit
    try:
        await asyncio.to_thread(folder.mkdir, 0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"the folder {folder} cannot be made: {error.strerror}") from error
    slug = slug_of(name)
    for number in range(1, ATTEMPTS + 1):
        chosen = slug if number == 1 else f"{slug}-{number}"
        if await _attempt(repo, Begun(folder / chosen, PREFIX + chosen, commit), begun):
            return Worktree(folder / chosen, PREFIX + chosen, base)
    raise ConflictError(
        f"the names {slug} to {slug}-{ATTEMPTS} are all taken",
        hint="Choose another name, or remove trees that nobody needs any more.",
    )


async def _attempt(repo: "_Repository", tree: Begun, begun: Callable[[Begun], None]) -> bool:
    """Make the tree, or tell that its name is taken. Folder and branch are made by whoever is
    first, so what is removed after a failure was made here.
    """
    directory, branch, commit = tree.directory, tree.branch, tree.commit
    begun(tree)
    try:
        await asyncio.to_thread(directory.mkdir, 0o700)
    except FileExistsError:
        return False
    except OSError as error:
        raise UsageError(f"the folder {directory} cannot be made: {error.strerror}") from error
    owned = False
    try:
        failpoint("worktree.made")
        begun(msgspec.structs.replace(tree, own=True))
        failpoint("worktree.noted")
        answer = await repo.run("branch", "--no-track", branch, commit)
        if answer.code != 0 and await repo.commit_of(f"refs/heads/{branch}"):
            await see_through(asyncio.to_thread(directory.rmdir), f"{directory} stays")
            return False
        _require(answer, f"the branch {branch} cannot be made")
        owned = True
        failpoint("worktree.branched")
        answer = await repo.run(
            "worktree", "add", "--quiet", str(directory), branch, timeout=_MAKING
        )
        _require(answer, f"no working tree can be made in {directory}")
        failpoint("worktree.added")
        if await Git(directory, timeout=_ASKING).head() != commit:
            raise UsageError(f"git made no whole working tree in {directory}")
    except BaseException:
        undone = _unmade(repo, directory, branch if owned else None, commit)
        what = f"the working tree {directory} was not undone"
        await see_through(undone, what, seconds=_MAKING)
        raise
    return True


async def _unmade(repo: "_Repository", directory: Path, branch: str | None, commit: str) -> None:
    if branch is not None:
        await repo.run("worktree", "remove", "--force", "--force", str(directory), timeout=_MAKING)
    await asyncio.to_thread(shutil.rmtree, directory, ignore_errors=True)
    if branch is not None:
        await repo.run("worktree", "prune")
        await repo.run("update-ref", "-d", f"refs/heads/{branch}", commit)


async def take_back(repository: Path, tree: Begun) -> bool:
    """Remove what there is of a tree that somebody was making who is gone: nobody has worked in it.

    False where it holds a commit of its own after all; then it stays. Raises `UsageError` where the
    repository does not answer.
    """
    if not tree.own:
        with suppress(OSError):  # not there, or not empty: then it is another one's
            await asyncio.to_thread(tree.directory.rmdir)
        return True
    repo = await _Repository.around(repository)
    has_head = (tree.directory / ".git").exists()
    if has_head and await Git(tree.directory, timeout=_ASKING).head() not in {None, tree.commit}:
        return False
    await _unmade(repo, tree.directory, tree.branch, tree.commit)
    return True


async def submodules(directory: Path) -> tuple[str, ...]:
    """The submodules of a tree by path: their folders are empty in a new one."""
    answer = await ask_git(
        directory,
        ("config", "-z", "--file", ".gitmodules", "--get-regexp", r"^submodule\..*\.path$"),
        timeout=_ASKING,
    )
    if answer.code != 0:
        return ()
    entries = answer.output.decode("utf-8", "replace").split("\0")[:-1]
    return tuple(entry.partition("\n")[2] for entry in entries)


async def inspect(repository: Path, worktree: Worktree) -> TreeState:
    """What `worktree`, made from `repository`, holds. Raises `UsageError` if git cannot tell."""
    gone = not worktree.directory.exists()
    if not gone and not (worktree.directory / ".git").exists():
        raise UsageError(f"{worktree.directory} is no working tree any more, but holds files")
    repo = await _Repository.around(repository if gone else worktree.directory)
    heads = [f"refs/heads/{worktree.branch}", *([] if gone else ["HEAD"])]
    commits = [one for head in heads if (one := await repo.commit_of(head))]
    targets = await repo.targets(worktree.base)
    ahead = [await repo.count(commit, targets[:1]) for commit in commits]
    unmerged = [
        min([await repo.count(commit, (target,)) for target in targets], default=0)
        if targets
        else await repo.count(commit, ())
        for commit in commits
    ]
    files = None if gone else await repo.status()
    if not gone and files is None:
        raise UsageError(f"git does not tell the state of {worktree.directory}")
    found = files or []
    return TreeState(
        branch=None if gone else await repo.git.branch(),
        ahead=max(ahead, default=0),
        unmerged=max(unmerged, default=0),
        uncommitted=tuple(path for mark, path in found if mark != "??"),
        untracked=tuple(path for mark, path in found if mark == "??"),
        gone=gone,
    )


async def remove(repository: Path, worktree: Worktree) -> Removal:
    """Remove the tree and its branch if nothing is lost with them; else tell what it holds."""
    try:
        state = await inspect(repository, worktree)
        if state.holds:
            return Removal(False, state.holds)
        around = repository if state.gone else worktree.directory
        repo = (await _Repository.around(around)).from_outside(repository)
    except UsageError as error:
        return Removal(False, error.message)
    commit = await repo.commit_of(f"refs/heads/{worktree.branch}")
    failpoint("worktree.removing")
    if state.gone:
        await repo.run("worktree", "prune")
    else:  # without force, git looks once more by itself
        answer = await repo.run("worktree", "remove", str(worktree.directory), timeout=_MAKING)
        if answer.code != 0:
            return Removal(False, answer.words)
    if commit is not None:
        await repo.run("update-ref", "-d", f"refs/heads/{worktree.branch}", commit)
    return Removal(True)


class _Repository:
    """A repository, asked from within one of its trees."""

    def __init__(self, directory: Path, common: Path, settings: dict[str, str]) -> None:
        self.git = Git(directory, timeout=_ASKING)
        self._directory = directory
        self._common = common
        self._settings = settings

    @classmethod
    async def around(cls, directory: Path) -> "_Repository":
        """The repository that `directory` lies in. Raises `UsageError`."""
        if repository_of(directory) is None:
            raise UsageError(
                f"{directory} is in no git repository",
                hint="Only a git project can have further working trees: work without isolation.",
            )
        common = await Git(directory, timeout=_ASKING).common_directory()
        if common is None:
            raise UsageError(
                f"git does not answer in {directory}", hint="Is git installed? Try `git status`."
            )
        return cls(directory, common, await _without_filters(directory))

    def from_outside(self, directory: Path) -> "_Repository":
        """The same, asked from a folder that stays when the tree is removed."""
        stays = directory if directory.is_dir() else self._common
        return _Repository(stays, self._common, self._settings)

    async def run(self, *arguments: str, timeout: float = _ASKING) -> GitAnswer:
        """A command about the repository as a whole."""
        where = (f"--git-dir={self._common}",) if arguments[0] != "status" else ()
        return await ask_git(
            self._directory, (*where, *arguments), timeout=timeout, settings=self._settings
        )

    async def commit_of(self, name: str) -> str | None:
        """The id of the commit that a name stands for in this tree; None if there is none."""
        arguments = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        answer = await ask_git(self._directory, arguments, timeout=_ASKING)
        return answer.output.decode().strip() or None if answer.code == 0 else None

    async def targets(self, base: str) -> tuple[str, ...]:
        """The commits that work counts as merged into: the base, then the default branch."""
        default = await self.git.default_branch()
        names = [f"refs/heads/{base}", base]
        if default is not None:
            names += [f"refs/heads/{default}", f"refs/remotes/origin/{default}"]
        found = [await self.commit_of(name) for name in names]
        based = found[0] or found[1]
        return tuple(one for one in (based, *found[2:]) if one is not None)

    async def count(self, commit: str, without: tuple[str, ...]) -> int:
        """How many commits lead to `commit` and not to any of `without`. Raises `UsageError`."""
        answer = await self.run("rev-list", "--count", commit, *(f"^{one}" for one in without))
        _require(answer, "git does not count commits")
        return int(answer.output)

    async def status(self) -> list[tuple[str, str]] | None:
        """The two letters of `git status` and the path of every file that is not as committed."""
        answer = await self.run("status", "--porcelain=v1", "-z", "--no-renames", "-uall")
        if answer.code != 0:
            return None
        entries = answer.output.decode("utf-8", "surrogateescape").split("\0")[:-1]
        return [(entry[:2], entry[3:]) for entry in entries]


async def _without_filters(directory: Path) -> dict[str, str]:
    """Settings that switch off every content filter that the repository's own configuration has;
    the user's own, such as those of Git LFS, stay.
    """
    arguments = ("config", "-z", "--show-scope", "--name-only", "--get-regexp", r"^filter\.")
    answer = await ask_git(directory, arguments, timeout=_ASKING)
    fields = answer.output.decode("utf-8", "replace").split("\0") if answer.code == 0 else []
    pairs = zip(fields[::2], fields[1::2], strict=False)
    drivers = {name.rpartition(".")[0] for scope, name in pairs if scope in {"local", "worktree"}}
    off = {"clean": "", "smudge": "", "process": "", "required": "false"}
    return {f"{driver}.{key}": value for driver in sorted(drivers) for key, value in off.items()}


def _require(answer: GitAnswer, what: str) -> None:
    if answer.code != 0:
        why = answer.words if answer.code is not None or answer.output else "it took too long"
        raise UsageError(f"{what}: {why}")


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
