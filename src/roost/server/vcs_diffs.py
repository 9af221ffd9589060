"""What differs in a working tree, file by file, with patches."""

import asyncio
from pathlib import Path
from typing import Final, Literal

from msgspec import Struct

from roost.core.text import clean, decode
from roost.server.models import MEGABYTE
from roost.workspace.diff import unified
from roost.workspace.git import Git, git_output
from roost.workspace.git_folder import repository_of

Status = Literal["added", "deleted", "modified"]
_SECONDS: Final = 10.0
_PLAIN: Final = ("--no-color", "--no-renames", "--no-ext-diff", "--no-textconv")
_NEW_FILES: Final = 500
"""Files that git does not know yet, whose text is shown."""


class VcsDiff(Struct, frozen=True):
    """A file that differs; `patch` is a unified diff, empty for what is no text."""

    file: str
    patch: str
    additions: int
    deletions: int
    status: Status


async def differences(directory: Path, mode: Literal["git", "branch"]) -> list[VcsDiff]:
    """What differs from the last commit; with `branch`, from where the branch left the default one.

    Nothing outside of a repository, or before its first commit.
    """
    found = repository_of(directory)
    if found is None:
        return []
    base = "HEAD" if mode == "git" else await _fork_of(directory)
    if base is None:
        return []
    known, new = await asyncio.gather(_known(directory, base), _new(directory, found[0]))
    return sorted([*known, *new], key=lambda one: one.file)


async def _fork_of(directory: Path) -> str | None:
    """The commit where the current branch left the default one; None: there is none."""
    git = Git(directory, timeout=_SECONDS)
    branch, default = await asyncio.gather(git.branch(), git.default_branch())
    if default is None or branch == default:
        return None
    for name in (default, f"origin/{default}"):
        found = await git_output(directory, ("merge-base", name, "HEAD"), timeout=_SECONDS)
        if found:
            return decode(found).strip()
    return None


async def _known(directory: Path, base: str) -> list[VcsDiff]:
    counts, patches = await asyncio.gather(
        git_output(directory, ("diff", *_PLAIN, "--numstat", "-z", base), timeout=_SECONDS),
        git_output(directory, ("diff", *_PLAIN, base), timeout=_SECONDS),
    )
    named = (counts or b"").decode(errors="replace").split("\0")
    rows = [row.split("\t", 2) for row in named if row]
    blocks = _blocks(decode(patches or b""))
    if len(blocks) != len(rows):  # the tree changed between the two looks, or is too large
        blocks = [""] * len(rows)
    return [_diff(row, block) for row, block in zip(rows, blocks, strict=True)]


def _blocks(text: str) -> list[str]:
    """The patches of single files, in git's order."""
    head = "diff --git "
    return [head + block for block in ("\n" + text).split("\n" + head)[1:]]


def _diff(row: list[str], block: str) -> VcsDiff:
    added, removed, name = row
    heading = block.partition("\n@@")[0]
    status: Status = "modified"
    if "\nnew file mode" in heading:
        status = "added"
    elif "\ndeleted file mode" in heading:
        status = "deleted"
    is_text = added.isdecimal() and removed.isdecimal()  # git writes "-" for what is none
    return VcsDiff(
        clean(name),
        clean(block) if is_text else "",
        int(added) if is_text else 0,
        int(removed) if is_text else 0,
        status,
    )


async def _new(directory: Path, top: Path) -> list[VcsDiff]:
    """The files that git does not know yet."""
    changed = await Git(directory, timeout=_SECONDS).status() or []
    names = [one.path for one in changed if one.index + one.tree == "??"][:_NEW_FILES]
    return await asyncio.to_thread(lambda: [_whole(top, name) for name in names])


def _whole(top: Path, name: str) -> VcsDiff:
    path, text = top / name, ""
    try:
        if path.is_file() and not path.is_symlink() and path.stat().st_size <= MEGABYTE:
            data = path.read_bytes()
            text = "" if b"\0" in data else decode(data)
    except OSError:
        text = ""  # gone since git saw it
    diff = unified(name, "", text)
    return VcsDiff(clean(name), diff.text, diff.additions, diff.deletions, "added")
