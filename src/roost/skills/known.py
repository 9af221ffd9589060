"""The skills of a folder: those that are built in, the user's, the repository's."""

import os
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Final

from roost.config.loaded import SkillFile
from roost.config.skill_files import skills_below
from roost.core.errors import ConfigError
from roost.skills.models import BrokenSkill, Skill, Skills
from roost.skills.page import read_skill

BUILT_IN: Final = Path(__file__).parent / "built_in"
MOST: Final = 500
"""Skills of one folder."""
FILES: Final = 10
"""Files of a skill that are named when it is loaded."""
_ENTRIES: Final = 2_000
"""Entries of a skill's folder that are looked at for that."""


def skills_of(files: Iterable[SkillFile]) -> Skills:
    """The skills in `files`, which come behind those that are built in: of one name the last one
    counts. What is no skill is told, and stops nothing.
    """
    known: dict[str, Skill] = {}
    hidden: list[Skill] = []
    broken: list[BrokenSkill] = []
    for file in (*_built_in(), *files):
        try:
            skill = read_skill(file)
        except ConfigError as error:
            broken.append(BrokenSkill(Path(file.path), error.message, error.hint))
            continue
        if skill.name in known:
            hidden.append(known.pop(skill.name))
        elif len(known) == MOST:
            words = f"{file.path}: is more than the {MOST} skills that are kept"
            broken.append(BrokenSkill(skill.page, words, "Remove some."))
            continue
        known[skill.name] = skill
    return Skills(dict(sorted(known.items())), tuple(broken), tuple(hidden))


@cache
def _built_in() -> tuple[SkillFile, ...]:
    return tuple(skills_below(BUILT_IN, "built in"))


def files_of(skill: Skill) -> tuple[tuple[Path, ...], bool]:
    """Files beside the page of a skill, the nearest first, and whether there are more of them."""
    found = [path for path in _files_below(skill.folder) if path != skill.page]
    return tuple(found[:FILES]), len(found) > FILES


def _files_below(folder: Path) -> Iterator[Path]:
    """Files in and below `folder`, no links, as far as few looks tell."""
    looked = 0
    for here, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        looked += len(names) + 1
        for name in sorted(names):
            path = Path(here, name)
            if not name.startswith(".") and not path.is_symlink():
                yield path
        if looked > _ENTRIES:
            return
