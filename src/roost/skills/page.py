"""A `SKILL.md` as a skill. The format: https://agentskills.io/specification, read leniently; beside
its keys there are `aliases`, and `disable-model-invocation` of Claude Code. Pure.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, cast

from roost.config.frontmatter import read_page
from roost.config.loaded import SkillFile
from roost.core.errors import ConfigError
from roost.core.text import clean, cut
from roost.skills.models import Skill

NAME_LIMIT: Final = 64
DESCRIPTION_LIMIT: Final = 1024
"""Characters that are kept of it."""
_ALIASES: Final = 20
_NAME: Final = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_KNOWN: Final = {
    *("name", "description", "license", "compatibility", "metadata", "allowed-tools"),
    *("aliases", "disable-model-invocation"),
}
_HINT: Final = "It begins with `---`, `name: …`, `description: …` and `---`."


def read_skill(file: SkillFile) -> Skill:
    """The skill of a page. Raises `ConfigError` for one that is none."""
    name = file.path
    if file.problem:
        raise ConfigError(f"{name}: {file.problem}", hint="Mend or remove it.")
    try:
        text = file.data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{name}: is not UTF-8 text", hint="Save the file as UTF-8.") from error
    page = read_page(text, name)
    notes: list[str] = []
    path = Path(file.path)
    given = page.settings
    unknown = sorted(set(given) - _KNOWN)
    if unknown:
        notes.append(f"keys that Roost does not know are passed over: {', '.join(unknown)}")
    called = _called(given, path, notes)
    return Skill(
        name=called,
        description=_description(given, name, notes),
        body=clean(page.body),
        page=path,
        owner=file.owner,
        aliases=_words(given.get("aliases"), ",")[:_ALIASES],
        license=_text(given.get("license")),
        allowed_tools=_words(given.get("allowed-tools"), ", "),
        by_hand=given.get("disable-model-invocation") is True,
        notes=tuple(notes),
    )


def _called(given: Mapping[str, Any], path: Path, notes: list[str]) -> str:
    folder = path.parent.name
    written = _text(given.get("name"))
    if not written:
        notes.append(f"it says no name, so it is called as its folder, {folder}")
    elif written != folder:
        notes.append(f"its name is {written}, that of its folder {folder}")
    called = written or folder
    if len(called) > NAME_LIMIT or not _NAME.fullmatch(called):
        raise ConfigError(
            f"{path}: {cut(called, NAME_LIMIT)!r} is no name of a skill",
            hint=f"Small letters, digits and single hyphens, at most {NAME_LIMIT} of them.",
        )
    return called


def _description(given: Mapping[str, Any], name: str, notes: list[str]) -> str:
    text = " ".join(_text(given.get("description")).split())
    if not text:
        raise ConfigError(f"{name}: has no description, so nobody would know it", hint=_HINT)
    if len(text) > DESCRIPTION_LIMIT:
        notes.append(f"its description is cut to {DESCRIPTION_LIMIT} characters")
    return cut(text, DESCRIPTION_LIMIT)


def _text(value: object) -> str:
    return "" if value is None or isinstance(value, list | dict) else clean(str(value)).strip()


def _words(value: object, separators: str) -> tuple[str, ...]:
    """A list, or words of one line with any of `separators` between them."""
    if isinstance(value, list):
        found = [_text(one) for one in cast("list[object]", value)]
    else:
        found = re.split(f"[{separators}]", _text(value))
    return tuple(dict.fromkeys(one.strip() for one in found if one.strip()))
