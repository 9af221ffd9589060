"""The tool `skill`: loads advice for a kind of work, by its name or by words."""

import asyncio
from difflib import get_close_matches
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

    name: Annotated[str, Meta(description="The skill to load.")] | None = None
    query: Annotated[str, Meta(description="Words to look for one by.")] | None = None


class SkillTool(Tool[SkillArguments]):
    """Gives the page of a skill, and where its files are."""

    name: ClassVar[str] = NAME
    parameters: ClassVar[type[Struct]] = SkillArguments
    permission: ClassVar[str] = NAME
    effects: ClassVar[Literal["reads", "writes"]] = "reads"

    async def run(self, arguments: SkillArguments, context: ToolContext) -> ToolOutput:
        """Load one, or name those that fit."""
        name, query = (arguments.name or "").strip(), (arguments.query or "").strip()
        if bool(name) == bool(query):
            raise ToolError("skill takes either name or query.", hint="Give one of the two.")
        if name:
            return await _loaded(_named(name, context.skills), context)
        hits = await asyncio.to_thread(search, context.skills, query)
        if hits and hits[0].score >= CERTAIN:
            return await _loaded(hits[0].skill, context)
        found = [hit.skill.name for hit in hits]
        return ToolOutput(_told(query, hits), f"Skills: {cut(query, 60)}", {"found": found})


def _named(name: str, skills: Skills) -> Skill:
    found = skills.named(name.removeprefix("/"))
    if found is None:
        names = [one.name for one in skills if not one.by_hand]
        near = get_close_matches(name, names, n=1)
        guess = f"Did you mean {near[0]}? " if near else ""
        listed = ", ".join(names[:_LISTED]) or "none"
        raise ToolError(f"There is no skill {echo(name)}.", hint=f"{guess}There are: {listed}.")
    if found.by_hand:
        raise ToolError(
            f"The skill {found.name} is loaded by the user alone.",
            hint=f"Tell the user that `/{found.name}` in a prompt loads it.",
        )
    return found


async def _loaded(skill: Skill, context: ToolContext) -> ToolOutput:
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


def _told(query: str, hits: list[SkillHit]) -> str:
    if not hits:
        return f"No skill fits {echo(query)!r}. Go on without one."
    lines = [f"- {one.skill.name}: {cut(one.skill.description, _DESCRIBED)}" for one in hits]
    return "\n".join(
        ["No skill fits for certain. Load one of these by its name, if it helps:", *lines]
    )
