"""What git says about a folder."""

import asyncio
from pathlib import Path
from typing import Final, Literal

from msgspec import Struct

from roost.core.text import clean
from roost.runtime.project import Project
from roost.server.endpoint import Call, Endpoint, NoQuery, endpoint
from roost.server.models import MEGABYTE
from roost.server.vcs_diffs import VcsDiff, differences
from roost.server.wire import FileStatus, VcsView
from roost.workspace.git import FileStatus as Changed
from roost.workspace.git import Git, git_output
from roost.workspace.git_folder import repository_of

_SECONDS: Final = 5.0
_COUNTED: Final = 2_000
"""New files whose lines are counted."""
Counts = dict[str, tuple[int, int]]


async def get_vcs(call: Call[NoQuery, None]) -> VcsView:
    """The branch, and the one that work starts from; empty outside of a repository."""
    project = await call.project()
    if repository_of(project.directory) is None:
        return VcsView()
    git = Git(project.directory, timeout=_SECONDS)
    branch, default = await asyncio.gather(git.branch(), git.default_branch())
    return VcsView(branch, default)


async def file_status(call: Call[NoQuery, None]) -> list[FileStatus]:
    """The files that differ from the last commit, with lines added and removed."""
    project = await call.project()
    found = repository_of(project.directory)
    if found is None:
        return []
    changed = await Git(project.directory, timeout=_SECONDS).status() or []
    counts = await _counts(project)
    new = [one.path for one in changed if one.path not in counts][:_COUNTED]
    counts |= await asyncio.to_thread(_lines_of, found[0], new)
    return [_shown(one, counts) for one in changed]


async def _counts(project: Project) -> Counts:
    """Lines added and removed, by path."""
    arguments = (
        "diff",
        "--numstat",
        "--no-renames",
        "--no-ext-diff",
        "--no-textconv",
        "-z",
        "HEAD",
    )
    output = await git_output(project.directory, arguments, timeout=_SECONDS)
    rows = [row.split("\t", 2) for row in (output or b"").decode(errors="replace").split("\0")]
    return {row[2]: (_number(row[0]), _number(row[1])) for row in rows if len(row) == 3}


def _number(text: str) -> int:
    return int(text) if text.isdecimal() else 0  # git writes "-" for binary files


def _lines_of(top: Path, paths: list[str]) -> Counts:
    return {path: (_line_count(top / path), 0) for path in paths}


def _line_count(path: Path) -> int:
    try:
        if path.is_symlink() or not path.is_file() or path.stat().st_size > MEGABYTE:
            return 0
        data = path.read_bytes()
    except OSError:
        return 0  # gone since git saw it
    return data.count(b"\n") + (not data.endswith(b"\n") and bool(data))


def _shown(one: Changed, counts: Counts) -> FileStatus:
    added, removed = counts.get(one.path, (0, 0))
    letters = one.index + one.tree
    status = "deleted" if "D" in letters else "added" if set(letters) & set("A?") else "modified"
    return FileStatus(clean(one.path), added, removed, status)


class DiffQuery(Struct, frozen=True):
    """`git`: since the last commit; `branch`: since the branch left the default one."""

    mode: Literal["git", "branch"] = "git"


async def list_differences(call: Call[DiffQuery, None]) -> list[VcsDiff]:
    """What differs in a folder's working tree, with patches."""
    project = await call.project()
    return await differences(project.directory, call.query.mode)


class TreeStatus(Struct, frozen=True):
    """A file that differs from the last commit, as OpenCode 1.18 names it."""

    file: str
    additions: int
    deletions: int
    status: Literal["added", "deleted", "modified"]


async def tree_status(call: Call[NoQuery, None]) -> list[TreeStatus]:
    """The files that differ from the last commit, with lines added and removed."""
    return [
        TreeStatus(one.path, one.added, one.removed, one.status) for one in await file_status(call)
    ]


ROUTES: Final[tuple[Endpoint, ...]] = (
    endpoint("GET", "/vcs", get_vcs),
    endpoint("GET", "/vcs/diff", list_differences),
    endpoint("GET", "/vcs/status", tree_status),
    endpoint("GET", "/file/status", file_status),
)
