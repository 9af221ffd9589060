"""Finding a repository by its files alone, so that it works without git and at once."""

import os
from pathlib import Path


def repository_of(directory: Path) -> tuple[Path, Path] | None:
    """The top of the working tree that `directory` lies in, and the folder of its repository.

    All worktrees of a repository share that folder, usually called `.git`.
    """
    for top in (directory, *directory.parents):
        if folder := shared_folder(top / ".git"):
            return top, folder
    return None


def shared_folder(git: Path) -> Path | None:
    """The repository behind `git`: the folder itself, or where the file of a worktree leads."""
    if git.is_dir():
        return git
    try:
        target = git.read_text(encoding="utf-8").removeprefix("gitdir:").strip()
        folder = Path(os.path.realpath(git.parent / target))
        if not folder.is_dir():
            return None
        common = folder / "commondir"
        if not common.is_file():
            return folder
        return Path(os.path.realpath(folder / common.read_text(encoding="utf-8").strip()))
    except (OSError, UnicodeDecodeError):
        return None


def own_tree(directory: Path, folder: Path) -> Path | None:
    """The top of the working tree that `directory` lies in if it is one of those that Roost keeps
    in `folder`, as `<project>/<name>`.
    """
    if not directory.is_relative_to(folder):
        return None
    parts = directory.relative_to(folder).parts[:2]
    top = folder.joinpath(*parts)
    return top if len(parts) == 2 and (top / ".git").is_file() else None


def twins(directory: Path, folder: Path) -> tuple[Path, ...]:
    """The other working trees of the repository, if `directory` lies in a tree that Roost keeps in
    `folder` and that the repository itself lists: no tree can claim a repository for its own.
    """
    top = own_tree(directory, folder)
    git = shared_folder(top / ".git") if top else None
    if git is None:
        return ()
    listed = [git.parent] if git.name == ".git" else []
    for entry in sorted((git / "worktrees").glob("*/gitdir")):
        try:
            listed.append(Path(entry.read_text(encoding="utf-8").strip()).parent)
        except (OSError, UnicodeDecodeError):
            continue
    real = [Path(os.path.realpath(one)) for one in listed]
    return tuple(one for one in real if one != top) if top in real else ()
