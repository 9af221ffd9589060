"""The tool `apply_patch`: several files changed by one patch."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final

from msgspec import Meta, Struct

from roost.core.text import clean
from roost.core.wire_names import wire_name
from roost.tools.changing import (
    carry_out,
    looseness,
    permit_seeing,
    valid_patch,
)
from roost.tools.contract import Tool, ToolContext, ToolOutput
from roost.tools.paths import locate, permit_editing, relative
from roost.workspace.changes import FileChange
from roost.workspace.diff import unified
from roost.workspace.guard import Located
from roost.workspace.patch import FilePatch, UpdateFile, parse_patch, patch_paths
from roost.workspace.patch_plan import plan_patch

_SHOWN: Final = 200_000
"""Characters of all differences together that clients are shown."""
_LETTERS: Final = {"add": "A", "update": "M", "move": "R", "delete": "D"}


class ApplyPatchArguments(Struct, frozen=True, rename=wire_name):
    """The patch."""

    patch_text: Annotated[
        str, Meta(description="The whole patch, from *** Begin Patch to *** End Patch.")
    ]


class ApplyPatchTool(Tool[ApplyPatchArguments]):
    """Carries out a patch of several files, all or nothing."""

    name: ClassVar[str] = "apply_patch"
    parameters: ClassVar[type[Struct]] = ApplyPatchArguments
    permission: ClassVar[str] = "edit"

    async def run(self, arguments: ApplyPatchArguments, context: ToolContext) -> ToolOutput:
        """Change the files once it is approved."""
        patch = parse_patch(arguments.patch_text)
        places = {path: locate(path, context, write=True) for path in patch_paths(patch)}
        unique = list({place.real: place for place in places.values()}.values())
        await permit_seeing(context, unique)
        changes = await asyncio.to_thread(
            plan_patch, patch, lambda path: places[path].real, context.ledger
        )
        files = _files(changes, _moves(patch, places), context)
        if not files:
            return ToolOutput("The patch changes nothing: its parts undo each other.")
        diff = "\n".join(str(file["patch"]) for file in files)
        metadata: dict[str, Any] = {"diff": diff, "files": files, "diagnostics": {}}
        await permit_editing(context, unique, metadata)
        await carry_out(context, changes)
        lines = [f"{_LETTERS[file['type']]} {file['relativePath']}" for file in files]
        loose = "".join(looseness(change) for change in changes)
        title = str(files[0]["relativePath"]) if len(files) == 1 else f"{len(files)} files"
        return ToolOutput("Done:\n" + "\n".join(lines) + loose, title, metadata)


def _moves(patch: tuple[FilePatch, ...], places: dict[str, Located]) -> dict[Path, Path]:
    """New place to old one of every file that is moved, also where it is moved more than once."""
    origin: dict[Path, Path] = {}
    for part in patch:
        if isinstance(part, UpdateFile) and part.move_to is not None:
            old, new = places[part.path].real, places[part.move_to].real
            origin[new] = origin.pop(old, old)
    return origin


def _files(
    changes: Sequence[FileChange], origin: dict[Path, Path], context: ToolContext
) -> list[dict[str, Any]]:
    """What OpenCode's clients know of the files of a patch; a moved file is one entry."""
    by_path = {change.real: change for change in changes}
    moved = {old for new, old in origin.items() if old != new and new in by_path}
    files: list[dict[str, Any]] = []
    room = _SHOWN
    for change in changes:
        if change.real in moved and change.after is None:
            continue
        source = by_path.get(origin.get(change.real, change.real), change)
        file = _file(change, source, context)
        room -= len(file["patch"])
        files.append(file if room >= 0 else {**file, "patch": ""})
    return files


def _file(change: FileChange, source: FileChange, context: ToolContext) -> dict[str, Any]:
    diff = change.diff
    kind = "update"
    if source is not change:
        kind = "move"
        old = source.before.text if source.before else ""
        diff = unified(str(change.real), old, change.after or "")
    elif change.before is None:
        kind = "add"
    elif change.after is None:
        kind = "delete"
    return {
        "filePath": clean(str(source.real)),
        "relativePath": relative(change.real, context),
        "type": kind,
        "patch": valid_patch(diff),
        "additions": diff.additions,
        "deletions": diff.deletions,
        **({"movePath": clean(str(change.real))} if kind == "move" else {}),
    }
