"""The skills of a folder, for commands."""

from typing import Any

from roost.cli.folders import working_folder
from roost.cli.storage import Home
from roost.cli.trusting import load_config
from roost.config.loaded import Loaded
from roost.skills.known import skills_of
from roost.skills.models import Skill, Skills


def skills_in(home: Home, folder: str | None) -> tuple[Loaded, Skills]:
    """The configuration of `folder` (None: the current one) and its skills.

    Raises `UsageError` and `ConfigError`.
    """
    loaded = load_config(working_folder(folder), home.environ, home.paths)
    return loaded, skills_of(loaded.skills)


def details(skill: Skill) -> dict[str, Any]:
    """All of a skill but its text, as JSON shows it."""
    return {
        "name": skill.name,
        "description": skill.description,
        "aliases": skill.aliases,
        "from": skill.owner,
        "path": str(skill.page),
        "license": skill.license,
        "allowedTools": skill.allowed_tools,
        "byHand": skill.by_hand,
        "notes": skill.notes,
    }
