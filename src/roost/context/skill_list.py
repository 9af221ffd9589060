"""What the system prompt says of skills: which there are, and what each is for. Pure."""

from collections.abc import Iterable
from typing import Final

from roost.context.system import prompt_text
from roost.core.text import cut
from roost.skills.models import Skill

LISTED: Final = 60
_DESCRIBED: Final = 240
"""Characters of a description."""


def skills_block(skills: Iterable[Skill]) -> str:
    """The block that lists those a model may load; empty without any."""
    known = [one for one in skills if not one.by_hand]
    lines = [f"- {one.name}: {cut(one.description, _DESCRIBED)}" for one in known[:LISTED]]
    if not lines:
        return ""
    if len(known) > LISTED:
        lines.append(f"- and {len(known) - LISTED} more: look for them by words")
    return prompt_text("skills").format(skills="\n".join(lines))
