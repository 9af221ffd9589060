"""Files of skills: in which folders they are looked for, and what is found there.

A skill is a folder with a `SKILL.md`. The user's own are theirs to use; a repository's count like
its agents and commands, once the user trusts it.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, cast

from roost.config.loaded import SkillFile, SkillOwner
from roost.config.paths import Paths

PAGE: Final = "SKILL.md"
SHARED: Final = ".agents/skills"
"""Where programs of several makers look for skills."""
OWN: Final = ".roost/skills"
_OTHERS: Final = {
    "claude": (".claude/skills",),
    "codex": (".codex/skills",),
    "opencode": (".opencode/skill", ".opencode/skills"),
}
"""Folders of other programs, by the setting of the user that has them read."""
_OF_USER: Final = {"opencode": (".config/opencode/skill", ".config/opencode/skills")}
"""Where those lie in a home, if elsewhere."""
PAGE_LIMIT: Final = 256 * 1024
"""Bytes of one `SKILL.md`."""
_DEPTH: Final = 4
_FOLDERS: Final = 1_000
"""Folders below a root that are looked into, and how deep."""
_NAMES_LEFT_OUT: Final = {"node_modules", "__pycache__"}


def switched_on(settings: Mapping[str, Any]) -> tuple[str, ...]:
    """The other programs whose skills the merged `settings` of the user want."""
    chosen = _chosen(settings)
    return tuple(name for name in _OTHERS if chosen.get(name) is True)


def paths_in(settings: Mapping[str, Any], base: Path, home: Path) -> list[Path]:
    """The folders that `skills.paths` of one file names; `base` is where that file lies."""
    given: Sequence[str] = _chosen(settings).get("paths") or ()
    return [_absolute(one, base, home) for one in given]


def _chosen(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", settings.get("skills") or {})


def _absolute(given: str, base: Path, home: Path) -> Path:
    if given == "~" or given.startswith("~/"):
        return home / given[2:]
    return base / given


def skills_of_user(
    home: Path, paths: Paths, others: Sequence[str], named: Sequence[Path]
) -> Iterator[SkillFile]:
    """The user's own skills, those that count most last."""
    folders = [name for other in others for name in _OF_USER.get(other, _OTHERS[other])]
    roots = (*(home / name for name in (*folders, SHARED)), paths.config / "skills", *named)
    for root in roots:
        yield from skills_below(root, "yours")


def skills_of_repository(
    folder: Path, others: Sequence[str], *, own: bool, shared: bool
) -> Iterator[SkillFile]:
    """The skills that one folder of a repository brings, those that count most last.

    `own`: its `.roost/` counts. `shared`: so do the folders of others, which they do not in a home.
    """
    names = [name for other in others for name in _OTHERS[other]] + [SHARED] if shared else []
    for name in (*names, *((OWN,) if own else ())):
        yield from skills_below(folder / name, "project")


def skills_below(root: Path, owner: SkillOwner) -> Iterator[SkillFile]:
    """Every skill below `root`, which may itself be one, in the order of their paths. What cannot
    be read is told in `SkillFile.problem`.
    """
    waiting = [(root, 0)]
    seen: set[tuple[int, int]] = set()
    while waiting and len(seen) < _FOLDERS:
        folder, depth = waiting.pop()
        page = folder / PAGE
        if os.path.lexists(page):
            yield _read(page, owner)
        elif depth < _DEPTH:
            waiting += [(one, depth + 1) for one in reversed(_folders(folder, seen))]


def _folders(folder: Path, seen: set[tuple[int, int]]) -> list[Path]:
    """What lies in `folder`, each once however many links lead there; none where nobody may look.

    A `SKILL.md` of the folder itself is no folder and so not in it.
    """
    try:
        found = folder.stat()
        if (found.st_dev, found.st_ino) in seen:
            return []
        seen.add((found.st_dev, found.st_ino))
        with os.scandir(folder) as entries:
            inner = sorted(one.name for one in entries if one.is_dir())
    except OSError:
        return []
    return [folder / name for name in inner if not _is_left_out(name)]


def _is_left_out(name: str) -> bool:
    return name.startswith(".") or name in _NAMES_LEFT_OUT


def _read(page: Path, owner: SkillOwner) -> SkillFile:
    try:
        if not page.is_file():
            return SkillFile(str(page), b"", owner, "is not a regular file")
        with page.open("rb") as file:
            data = file.read(PAGE_LIMIT + 1)
    except OSError as error:
        return SkillFile(str(page), b"", owner, f"cannot be read: {error.strerror}")
    if len(data) > PAGE_LIMIT:
        return SkillFile(str(page), b"", owner, f"is larger than {PAGE_LIMIT:,} bytes")
    return SkillFile(str(page), data, owner)
