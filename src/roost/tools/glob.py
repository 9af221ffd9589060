"""The tool `glob`: files by name."""

from typing import Annotated, ClassVar, Final, Literal

from msgspec import Meta, Struct

from roost.core.text import clean
from roost.permissions.models import PermissionRequest, Traits
from roost.permissions.wildcards import plain_path
from roost.tools import markup
from roost.tools.contract import Tool, ToolContext, ToolOutput
from roost.tools.paths import ask, from_directory, locate, permit_outside, relative
from roost.workspace.guard import Located
from roost.workspace.search import FoundFiles, Search

LIMIT: Final = 100


class GlobArguments(Struct, frozen=True):
    """What to look for, and where."""

    pattern: Annotated[str, Meta(min_length=1, description="The file pattern.")]
    path: (
        Annotated[
            str, Meta(description="The folder to search; your working directory if left out.")
        ]
        | None
    ) = None


class GlobTool(Tool[GlobArguments]):
    """Lists files whose path fits a pattern."""

    name: ClassVar[str] = "glob"
    parameters: ClassVar[type[Struct]] = GlobArguments
    effects: ClassVar[Literal["reads", "writes"]] = "reads"
    permission: ClassVar[str] = "glob"

    async def run(self, arguments: GlobArguments, context: ToolContext) -> ToolOutput:
        """Search and list."""
        place = locate(arguments.path or ".", context)
        await permit_outside(context, [place])
        await ask(context, _request(arguments.pattern, place, context))
        found = await Search.installed().glob(place.real, arguments.pattern, limit=LIMIT)
        return ToolOutput(
            _listed(found, context),
            relative(place.real, context),
            {"count": len(found.paths), "truncated": found.more or not found.complete},
        )


def _request(pattern: str, place: Located, context: ToolContext) -> PermissionRequest:
    wanted = plain_path(f"{relative(place.real, context)}/{pattern}").removeprefix("./")
    whole = plain_path(clean(str(place.real / pattern)))
    return PermissionRequest(
        "glob",
        (wanted,),
        always=(wanted,),
        metadata={"pattern": pattern, "path": clean(str(place.path))},
        title=f"Find {pattern}",
        traits=(Traits(same=(whole,), glob=True, outside=not place.inside),),
    )


def _listed(found: FoundFiles, context: ToolContext) -> str:
    lines = [markup.name(from_directory(path, context)) for path in found.paths]
    if not lines:
        lines.append("No files found.")
    if found.more:
        lines.append(f"({LIMIT} of more files; use a narrower pattern or path.)")
    if not found.complete:
        lines.append("(The search took too long and was stopped; narrow it.)")
    return "\n".join(lines)
