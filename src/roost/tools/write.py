"""The tool `write`: the whole content of a file."""

import asyncio
from typing import Annotated, ClassVar

from msgspec import Meta, Struct

from roost.core.text import clean
from roost.core.wire_names import wire_name
from roost.tools.changing import (
    carry_out,
    change_metadata,
    counts,
    permit_seeing,
    whole_size,
)
from roost.tools.contract import Tool, ToolContext, ToolError, ToolOutput
from roost.tools.paths import locate, permit_editing, relative
from roost.workspace.changes import plan_write


class WriteArguments(Struct, frozen=True, rename=wire_name):
    """What to write where."""

    file_path: Annotated[
        str, Meta(description="The file, absolute or relative to your working directory.")
    ]
    content: Annotated[str, Meta(description="All of its new content.")]


class WriteTool(Tool[WriteArguments]):
    """Creates a file, or replaces one that the actor knows in full."""

    name: ClassVar[str] = "write"
    parameters: ClassVar[type[Struct]] = WriteArguments
    permission: ClassVar[str] = "edit"

    async def run(self, arguments: WriteArguments, context: ToolContext) -> ToolOutput:
        """Write the file once it is approved."""
        place = locate(arguments.file_path, context, write=True)
        title = relative(place.real, context)
        await permit_seeing(context, [place])
        exists = place.real.is_file()
        if exists and whole_size(place.real) and not context.ledger.knows_all(place.real):
            raise ToolError(
                f"{title} exists, and you have not read all of it. Nothing was written.",
                hint="Read it to its end first, or change parts of it with edit.",
            )
        change = await asyncio.to_thread(plan_write, place.real, arguments.content, context.ledger)
        metadata = {**change_metadata(change), "filepath": clean(str(place.real)), "exists": exists}
        if exists and not change.diff.text:
            return ToolOutput(f"{title} has exactly this content already.", title, metadata)
        await permit_editing(context, [place], metadata)
        await carry_out(context, [change])
        done = "Replaced" if exists else "Created"
        return ToolOutput(f"{done} {title} ({counts(change.diff)}).", title, metadata)
