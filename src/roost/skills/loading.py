"""A skill as a model is given it, and the skills that a prompt names."""

import re
from collections.abc import Sequence
from typing import Final

from roost.core.text import cut
from roost.skills.known import files_of
from roost.skills.models import Skill, Skills

LOADED: Final = 3
"""Skills that one prompt loads."""
TEXT_LIMIT: Final = 40_000
"""Characters of a page that are given at once."""
_CODE: Final = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
_SLASH: Final = re.compile(
    r"(?<![^\s(\"'“「（，。、\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])/"
    r"(?P<name>[^\s/`\"'“”「」()（）,;:!?。，、！？]++)(?!/)"
)
_SEVERAL: Final = """\
The user named {count} skills: {names}. Before you begin, say in a line or two in which order you \
use them and for what, and where they contradict each other; then do so."""


def content_of(skill: Skill) -> str:
    """What a model is given: the page, and where its files are."""
    paths, more = files_of(skill)
    lines = [
        f'<skill_content name="{skill.name}">',
        f"# Skill: {skill.name}",
        "",
        cut(skill.body, TEXT_LIMIT, f"\n… (cut; read {skill.page} for the rest)"),
        "",
        f"Folder of this skill, which relative paths in it start from: {skill.folder}",
    ]
    if paths:
        lines += ["Files in it:", *(f"- {path}" for path in paths)]
        lines += ["- … and more"] * more
    return "\n".join([*lines, "</skill_content>"])


def named_in(text: str, skills: Skills) -> list[Skill]:
    """The skills that `text` names as `/name`, each once; not in what is marked as code."""
    words = _CODE.sub(" ", text)
    found = (_named(match["name"], skills) for match in _SLASH.finditer(words))
    return list({one.name: one for one in found if one is not None}.values())


def _named(name: str, skills: Skills) -> Skill | None:
    return skills.named(name) or skills.named(name.rstrip(".'*_"))


def loaded_by(named: Sequence[Skill]) -> list[str]:
    """What goes with a prompt that names these skills."""
    chosen = named[:LOADED]
    texts = [content_of(one) for one in chosen]
    if len(chosen) > 1:
        names = ", ".join(one.name for one in chosen)
        texts.append(_SEVERAL.format(count=len(chosen), names=names))
    if len(named) > LOADED:
        left = ", ".join(one.name for one in named[LOADED:])
        texts.append(f"Not loaded, as it is more than {LOADED} at once: {left}.")
    return texts
