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
