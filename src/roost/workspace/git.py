"""Small questions to git, answered in bounded time or not at all.

Everything answers None without git, outside of a repository, or when git takes too long. Nothing
here runs what a repository's own configuration could name: no hooks, file-system monitors, pagers.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Literal

from msgspec import Struct

from roost.core.errors import NotFoundError
from roost.core.text import clean
from roost.workspace.program import quiet_environment, run_program

_SAFE: Final = (
    "-c", "core.fsmonitor=false",
    "-c", "core.hooksPath=/dev/null",
    "-c", "core.pager=cat",
    "-c", "core.quotePath=false",
    "-c", "safe.bareRepository=explicit",
    "-c", "submodule.recurse=false",
)  # fmt: skip
_LIMIT: Final = 8 * 1024 * 1024
_DEFAULT_NAMES: Final = ("main", "master", "trunk", "develop")

State = Literal["clean", "changed", "untracked", "ignored"]


class FileStatus(Struct, frozen=True):
    """One line of `git status`."""

    path: str
    """Relative to the top of the working tree."""
    index: str
    """One letter: what is staged (`M`, `A`, `D`, …), a space for nothing, `?` for untracked."""
    tree: str
    """One letter: what is changed and not staged."""
    source: str | None = None
    """The old path of what was renamed or copied."""


class Git:
    """Questions about the repository that `directory` is in; `timeout` in seconds for each."""

    def __init__(self, directory: Path, *, timeout: float = 5.0) -> None:
        self.directory = directory
        self._timeout = timeout

    async def root(self) -> Path | None:
        """The top of the working tree."""
        answer = await self._line("rev-parse", "--show-toplevel")
        return Path(answer) if answer else None

    async def branch(self) -> str | None:
        """The current branch, also before its first commit; None on a detached HEAD."""
        return await self._line("symbolic-ref", "--quiet", "--short", "HEAD")

    async def head(self) -> str | None:
        """The id of the current commit."""
        return await self._line("rev-parse", "--verify", "--quiet", "HEAD^{commit}")

    async def default_branch(self) -> str | None:
        """The branch that work starts from and returns to."""
        remote = await self._line("symbolic-ref", "--quiet", "--short", "refs/remotes/origin/HEAD")
        if remote:
            return remote.removeprefix("origin/")
        listed = await self._text("for-each-ref", "--format=%(refname:short)", "refs/heads")
        branches = listed.split("\n")[:-1] if listed else []
        known = [name for name in _DEFAULT_NAMES if name in branches]
        return (known or branches or [None])[0] if len(branches) == 1 or known else None

    async def status(self, *, untracked: bool = True) -> list[FileStatus] | None:
        """What differs from HEAD; an empty list for a clean tree."""
        shown = "--untracked-files=all" if untracked else "--untracked-files=no"
        text = await self._text("status", "--porcelain=v1", "-z", shown)
        return None if text is None else _parsed(text)

    async def state_of(self, path: Path) -> State | None:
        """What git knows of one file: only `clean` content can be restored from HEAD."""
        arguments = ("status", "--porcelain=v1", "-z", "--ignored", "--", f":(literal){path}")
        text = await self._text(*arguments)
        if text is None:
            return None
        letters = {line.index + line.tree for line in _parsed(text)}
        if "!!" in letters:
            return "ignored"
        if "??" in letters:
            return "untracked"
        if letters:
            return "changed"
        tracked = await self._text("ls-files", "-z", "--", f":(literal){path}")
        return "clean" if tracked else "untracked"

    async def roots(self) -> list[str] | None:
        """The ids of all commits without a parent, the oldest first; empty before the first."""
        text = await self._text("rev-list", "--max-parents=0", "--timestamp", "--all")
        if text is None:
            return None
        stamped = (line.partition(" ") for line in text.split("\n")[:-1])
        ordered = sorted((int(stamp), commit) for stamp, _, commit in stamped)
        return list(dict.fromkeys(commit for _, commit in ordered))

    async def common_directory(self) -> Path | None:
        """The `.git` folder that all worktrees of the repository share."""
        answer = await self._line("rev-parse", "--path-format=absolute", "--git-common-dir")
        return Path(answer) if answer else None

    async def _line(self, *arguments: str) -> str | None:
        text = await self._text(*arguments)
        return text.removesuffix("\n") or None if text else None

    async def _text(self, *arguments: str) -> str | None:
        """The output of a git command that succeeded within time and size."""
        data = await git_output(self.directory, arguments, timeout=self._timeout)
        return None if data is None else data.decode("utf-8", "surrogateescape")


class GitAnswer(Struct, frozen=True):
    """What came of a git command."""

    code: int | None
    """None: it lasted too long, printed too much, or git is not installed."""
    output: bytes
    """Both streams, in order."""

    @property
    def words(self) -> str:
        """What git says of its failure, in one line."""
        lines = clean(self.output.decode("utf-8", "replace")).strip().splitlines()
        told = [line for line in lines if line.startswith(("fatal:", "error:"))] or lines
        return told[-1].partition(": ")[2] or told[-1] if told else "no answer from git"


async def git_output(
    directory: Path, arguments: Sequence[str], *, timeout: float, limit: int = _LIMIT
) -> bytes | None:
    """What `git` prints in `directory`; None if it fails, lasts too long or prints too much."""
    answer = await ask_git(directory, arguments, timeout=timeout, limit=limit)
    return answer.output if answer.code == 0 else None


async def ask_git(
    directory: Path,
    arguments: Sequence[str],
    *,
    timeout: float,
    limit: int = _LIMIT,
    settings: Mapping[str, str] | None = None,
) -> GitAnswer:
    """Run `git` in `directory`, for at most `timeout` seconds, and give how it ended.

    `settings` hold in place of what any configuration says.
    """
    output = bytearray()

    def take(data: bytes) -> bool:
        output.extend(data)
        return len(output) > limit

    environment = quiet_environment() | {
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_CONFIG_COUNT": str(len(settings or {})),
    }
    for number, (name, value) in enumerate((settings or {}).items()):
        environment |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    try:
        code = await run_program(
            ["git", *_SAFE, *arguments],
            cwd=directory,
            timeout=timeout,
            enough=take,
            environment=environment,
        )
    except NotFoundError as error:
        return GitAnswer(None, error.message.encode())
    return GitAnswer(code, bytes(output))


def _parsed(text: str) -> list[FileStatus]:
    found: list[FileStatus] = []
    fields = iter(text.split("\0"))
    for field in fields:
        if len(field) < 4:
            continue
        index, tree, path = field[0], field[1], field[3:]
        source = next(fields, None) if index in "RC" or tree in "RC" else None
        found.append(FileStatus(path, index, tree, source))
    return found
