"""Which project a folder belongs to: one id for all worktrees and clones of a repository."""

import hashlib
import os
from pathlib import Path
from typing import Final

from msgspec import Struct

from roost.workspace.git import Git
from roost.workspace.git_folder import repository_of

_TIMEOUT: Final = 2.0


class Project(Struct, frozen=True):
    """The project of a folder."""

    id: str
    """The id of the repository's oldest commit; without one, a hash of the path."""
    former: tuple[str, ...]
    """Ids under which earlier sessions of this project may be stored: it had no commit yet, git
    was missing or slow, or another root commit came first."""
    root: Path
    """The top of the working tree, or the folder itself outside of git."""
    is_git: bool

    @property
    def ids(self) -> tuple[str, ...]:
        """All ids to look for."""
        return (self.id, *self.former)


async def project_of(directory: Path, *, timeout: float = _TIMEOUT) -> Project:
    """The project of `directory`; takes little more than `timeout` seconds at most.

    The id is the same in every worktree and survives moving the folder. An orphan branch does not
    change it, since its root commit is newer. Where git cannot be asked, the place of the
    repository stands for it, and that id stays among the `former` ones.
    """
    real = Path(os.path.realpath(directory))
    found = repository_of(real)
    if found is None:
        return Project(id=path_id(real), former=(), root=real, is_git=False)
    root, git_folder = found
    place = git_folder.parent if git_folder.name == ".git" else git_folder
    # What looks like a root in a shallow clone changes with the next deeper fetch.
    shallow = (git_folder / "shallow").exists()
    roots = None if shallow else await Git(root, timeout=timeout).roots()
    ids: list[str] = [*(roots or ()), path_id(place), path_id(root)]
    return Project(
        id=ids[0],
        former=tuple(dict.fromkeys(one for one in ids if one != ids[0])),
        root=root,
        is_git=True,
    )


def path_id(path: Path) -> str:
    """The id of a project that is known by its place only; shaped like a commit's."""
    return hashlib.sha1(os.fsencode(path), usedforsecurity=False).hexdigest()
