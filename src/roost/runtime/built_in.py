"""The commands that are there without configuration, beside those that are more than words."""

from functools import cache
from pathlib import Path
from typing import Final

from roost.config.models import CommandConfig
from roost.runtime.project import Project

INIT: Final = "init"
_DESCRIPTIONS: Final = {INIT: "write or mend AGENTS.md, the instructions for whoever works here"}


def commands(project: Project) -> dict[str, CommandConfig]:
    """The commands of a folder by name; those of its configuration take the place of ours."""
    return {**_built_in(), **project.loaded.config.command}


@cache
def _built_in() -> dict[str, CommandConfig]:
    return {
        name: CommandConfig(template=_template(name), description=description)
        for name, description in _DESCRIPTIONS.items()
    }


def _template(name: str) -> str:
    return Path(__file__).with_name(f"{name}.md").read_text(encoding="utf-8").strip()
