"""The tool `grep`: lines of files by content."""

import asyncio
from itertools import groupby
from pathlib import Path
from typing import Annotated, ClassVar, Final, Literal

from msgspec import Meta, Struct

from roost.core.errors import DeniedError
from roost.core.text import clean, cut, terminal_safe
from roost.permissions.asks import RejectedError
from roost.permissions.models import PermissionRequest
from roost.permissions.path_requests import path_request
from roost.tools import markup
from roost.tools.contract import Tool, ToolContext, ToolOutput
from roost.tools.paths import ask, from_directory, locate, permit_outside
from roost.workspace.guard import Located
from roost.workspace.search import FoundLine, Search

LIMIT: Final = 100
_LINE_CHARS: Final = 500


class GrepArguments(Struct, frozen=True):
    """What to look for, and where."""

    pattern: Annotated[str, Meta(min_length=1, description="The regular expression.")]
    path: (
        Annotated[str, Meta(description="The folder or file; your working directory if left out.")]
        | None
    ) = None
    include: Annotated[str, Meta(description="Only files that fit, as *.py")] | None = None


class GrepTool(Tool[GrepArguments]):
    """Shows the lines that match, of files that may be read."""

    name: ClassVar[str] = "grep"
    parameters: ClassVar[type[Struct]] = GrepArguments
    effects: ClassVar[Literal["reads", "writes"]] = "reads"
    permission: ClassVar[str] = "grep"

    async def run(self, arguments: GrepArguments, context: ToolContext) -> ToolOutput:
        """Search and show."""
        place = locate(arguments.path or ".", context)
        await permit_outside(context, [place])
        await ask(context, _request(arguments, place))
        found = await Search.installed().grep(
            place.real, arguments.pattern, include=arguments.include or None, limit=LIMIT
        )
        paths = list(dict.fromkeys(line.path for line in found.lines))
        allowed = await _readable(paths, context)
        lines = [line for line in found.lines if line.path in allowed]
        warning = markup.warning(line.text for line in lines)
        notes = _notes(len(paths) - len(allowed), more=found.more, complete=found.complete)
        return ToolOutput(
            "\n".join(filter(None, [_shown(lines, context), *notes, warning])),
            clean(arguments.pattern),
            {"matches": len(lines), "truncated": found.more or not found.complete},
        )


def _request(arguments: GrepArguments, place: Located) -> PermissionRequest:
    return PermissionRequest(
        "grep",
        (arguments.pattern,),
        always=(arguments.pattern,),
        metadata={
            "pattern": arguments.pattern,
            "path": clean(str(place.path)),
            "include": arguments.include or "",
        },
        title=f"Search for {arguments.pattern}",
    )


async def _readable(paths: list[Path], context: ToolContext) -> set[Path]:
    """Those of `paths` that the actor may read: a search must not show what a reading may not."""
    guard = context.guard
    places = await asyncio.to_thread(lambda: [guard.locate(str(path)) for path in paths])
    allowed: set[Path] = set()
    for path, place in zip(paths, places, strict=True):
        try:
            guard.require(place, write=False)
            title = f"Show lines of {place.shown}"
            await ask(context, path_request("read", [place], guard.root, title=title))
        except RejectedError:
            raise
        except DeniedError:
            continue
        allowed.add(path)
    return allowed


def _shown(lines: list[FoundLine], context: ToolContext) -> str:
    """The lines by file, each with its number, so that none can pass for anything else."""
    if not lines:
        return "No matches."
    blocks: list[str] = []
    for path, group in groupby(lines, key=lambda line: line.path):
        name = markup.name(from_directory(path, context))
        rows = [
            f"  {one.line}: {terminal_safe(cut(clean(one.text), _LINE_CHARS))}" for one in group
        ]
        blocks.append("\n".join([f"{name}:", *rows]))
    return "\n\n".join(blocks)


def _notes(denied: int, *, more: bool, complete: bool) -> list[str]:
    notes: list[str] = []
    if more:
        notes.append(f"(The first {LIMIT} matches; narrow the search to see others.)")
    if not complete:
        notes.append("(The search took too long and was stopped; narrow it.)")
    if denied:
        notes.append(f"({denied} files with matches left out: they may not be read.)")
    return notes
