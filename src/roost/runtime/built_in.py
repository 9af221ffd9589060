"""The commands that are there without configuration, beside those that are more than words."""

from functools import cache
from pathlib import Path
from typing import Final

from roost.config.models import CommandConfig
from roost.runtime.project import Project
from roost.skills.models import Skill

INIT: Final = "init"
_DESCRIPTIONS: Final = {INIT: "write or mend AGENTS.md, the instructions for whoever works here"}


def commands(project: Project) -> dict[str, CommandConfig]:
    """The commands of a folder by name; those of its configuration take the place of ours, and both
    that of a skill.
    """
    found = {**_built_in(), **project.loaded.config.command}
    loading = {one.name: _loading(one) for one in project.skills if one.name not in found}
    return found | loading


def loads_skill(project: Project, name: str) -> bool:
    """Whether the command of that name loads the skill which is called so."""
    ours = name in _built_in() or name in project.loaded.config.command
    return not ours and name in project.skills.known


def _loading(skill: Skill) -> CommandConfig:
    """A prompt that names the skill, which is what loads it."""
    return CommandConfig(template=f"/{skill.name} $ARGUMENTS", description=skill.description)


@cache
def _built_in() -> dict[str, CommandConfig]:
    return {
        name: CommandConfig(template=_template(name), description=description)
        for name, description in _DESCRIPTIONS.items()
    }


def _template(name: str) -> str:
    return Path(__file__).with_name(f"{name}.md").read_text(encoding="utf-8").strip()
