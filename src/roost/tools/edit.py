"""The tool `edit`: one piece of text replaced by another."""

import asyncio
import os
from typing import Annotated, ClassVar

from msgspec import Meta, Struct

from roost.core.wire_names import wire_name
from roost.tools.changing import (
    carry_out,
    change_metadata,
    counts,
    looseness,
    permit_seeing,
    whole_size,
)
from roost.tools.contract import Tool, ToolContext, ToolOutput
from roost.tools.lookalikes import missing
from roost.tools.paths import locate, permit_editing, permit_reading, relative
from roost.workspace.changes import FileChange, plan_edits, plan_write
from roost.workspace.edit import Edit
from roost.workspace.guard import Located


class EditArguments(Struct, frozen=True, rename=wire_name):
    """What becomes what, and where."""

    file_path: Annotated[
        str, Meta(description="The file, absolute or relative to your working directory.")
    ]
    old_string: Annotated[str, Meta(description="The text to replace.")]
    new_string: Annotated[str, Meta(description="The text that takes its place.")]
    replace_all: (
        Annotated[bool, Meta(description="Replace every occurrence; otherwise there must be one.")]
        | None
    ) = None


class EditTool(Tool[EditArguments]):
    """Changes a file in place; nothing but what was quoted is touched."""

    name: ClassVar[str] = "edit"
    parameters: ClassVar[type[Struct]] = EditArguments
    permission: ClassVar[str] = "edit"

    async def run(self, arguments: EditArguments, context: ToolContext) -> ToolOutput:
        """Make the change once it is approved."""
        place = locate(arguments.file_path, context, write=True)
        title = relative(place.real, context)
        if arguments.old_string and not os.path.lexists(place.real):
            # Look-alikes tell what is in the folder, so it must be allowed to be looked at.
            await permit_reading(context, [place])
            raise await asyncio.to_thread(missing, place.real, context.guard.root)
        await permit_seeing(context, [place])
        change = await asyncio.to_thread(_planned, place, arguments, context)
        metadata = change_metadata(change)
        await permit_editing(context, [place], metadata)
        await carry_out(context, [change])
        done = "Created" if change.before is None else "Edited"
        return ToolOutput(
            f"{done} {title} ({counts(change.diff)}).{looseness(change)}", title, metadata
        )


def _planned(place: Located, arguments: EditArguments, context: ToolContext) -> FileChange:
    real, ledger = place.real, context.ledger
    exists = os.path.lexists(real)
    if not arguments.old_string and arguments.new_string and not (exists and whole_size(real)):
        return plan_write(real, arguments.new_string, ledger)
    edit = Edit(arguments.old_string, arguments.new_string, all=bool(arguments.replace_all))
    return plan_edits(real, [edit], ledger)
