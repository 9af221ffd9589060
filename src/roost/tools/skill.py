"""The tool `skill`: loads advice for a kind of work, by its name or by words."""

import asyncio
from typing import Annotated, ClassVar, Final, Literal

from msgspec import Meta, Struct

from roost.core.text import cut, echo
from roost.permissions.models import PermissionRequest
from roost.skills.loading import content_of
from roost.skills.models import Skill, Skills
from roost.skills.search import CERTAIN, SkillHit, search
from roost.tools.contract import Tool, ToolContext, ToolError, ToolOutput

NAME: Final = "skill"
_DESCRIBED: Final = 300
_LISTED: Final = 50


class SkillArguments(Struct, frozen=True):
    """Which skill."""

    name: Annotated[
        str,
        Meta(min_length=1, description="The name of a skill, or words to look for one by."),
    ]


class SkillTool(Tool[SkillArguments]):
    """Gives the page of a skill, and where its files are."""

    name: ClassVar[str] = NAME
    parameters: ClassVar[type[Struct]] = SkillArguments
    permission: ClassVar[str] = NAME
    effects: ClassVar[Literal["reads", "writes"]] = "reads"

    async def run(self, arguments: SkillArguments, context: ToolContext) -> ToolOutput:
        """Load one, or name those that fit."""
        words = arguments.name.strip()
        if (named := context.skills.named(words.removeprefix("/"))) is not None:
            return await _loaded(named, context)
        hits = await asyncio.to_thread(search, context.skills, words)
        if hits and hits[0].score >= CERTAIN:
            return await _loaded(hits[0].skill, context)
        return ToolOutput(
            _told(words, hits, context.skills),
            f"Skills: {cut(words, 60)}",
            {"found": [hit.skill.name for hit in hits]},
        )


async def _loaded(skill: Skill, context: ToolContext) -> ToolOutput:
    if skill.by_hand:
        raise ToolError(
            f"The skill {skill.name} is loaded by the user alone.",
            hint=f"Tell the user that `/{skill.name}` in a prompt loads it.",
        )
    await context.ask(
        PermissionRequest(
            permission=NAME,
            patterns=(skill.name,),
            always=(skill.name,),
            metadata={"name": skill.name, "dir": str(skill.folder)},
            title=f"Use the skill {skill.name}",
        )
    )
    text = await asyncio.to_thread(content_of, skill)
    told = {"name": skill.name, "dir": str(skill.folder)}
    return ToolOutput(text, f"Loaded skill: {skill.name}", told)


def _told(words: str, hits: list[SkillHit], skills: Skills) -> str:
    if not hits:
        names = ", ".join([one.name for one in skills if not one.by_hand][:_LISTED])
        return f"No skill fits {echo(words)!r}. There are: {names or 'none'}. Go on without one."
    head = "No skill fits for certain. Load one of these by its name, if it helps:"
    lines = [f"- {one.skill.name}: {cut(one.skill.description, _DESCRIBED)}" for one in hits]
    return "\n".join([head, *lines])
