"""The tool `read`: text by numbered lines, folders, images and PDF files."""

import asyncio
import os
from pathlib import Path
from typing import Annotated, ClassVar, Final, Literal

import msgspec
from msgspec import Meta, Struct

from roost.core.wire_names import wire_name
from roost.llm.models import Media
from roost.tools.contract import Tool, ToolContext, ToolError, ToolOutput
from roost.tools.listing import LINE_CHARS, file_text, folder_output, preview
from roost.tools.lookalikes import missing
from roost.tools.output import MAX_BYTES
from roost.tools.paths import locate, permit_reading, relative
from roost.tools.readings import Readings
from roost.workspace.files import Window, WindowLimits, read_bytes, read_window
from roost.workspace.media import PDF, checked_media, media_type
from roost.workspace.openat import opened_file

LINES: Final = 2000


class ReadArguments(Struct, frozen=True, rename=wire_name):
    """What to read."""

    file_path: Annotated[str, Meta(description="The file or folder.")]
    offset: (
        Annotated[int, Meta(ge=0, description="Number of the first line (or entry), from 1.")]
        | None
    ) = None
    limit: Annotated[int, Meta(ge=1, description="How many lines; 2000 if left out.")] | None = None


class ReadTool(Tool[ReadArguments]):
    """Shows files and folders, and notes in the actor's ledger what it has seen."""

    name: ClassVar[str] = "read"
    parameters: ClassVar[type[Struct]] = ReadArguments
    effects: ClassVar[Literal["reads", "writes"]] = "reads"
    permission: ClassVar[str] = "read"

    def __init__(self) -> None:
        self._readings = Readings()

    async def run(self, arguments: ReadArguments, context: ToolContext) -> ToolOutput:
        """Read the file or list the folder."""
        place = locate(arguments.file_path, context)
        real, title = place.real, relative(place.real, context)
        first, limit = arguments.offset or 1, arguments.limit or LINES
        await permit_reading(context, [place])
        if real.is_dir():
            return await asyncio.to_thread(folder_output, real, title, first=first, limit=limit)
        if not os.path.lexists(real):
            raise await asyncio.to_thread(missing, real, context.guard.root)
        context.touched(real)
        found = await asyncio.to_thread(_look, real, first, WindowLimits(limit, LINE_CHARS))
        if isinstance(found, str):
            return await asyncio.to_thread(_media, real, title, found, context)
        window = found
        if first > 1 and not window.lines:
            raise ToolError(f"offset {first} is behind the end of {title}{_total(window)}.")
        self._readings.note(context.ledger, real, window, line_chars=LINE_CHARS)
        text = file_text(place.path, window)
        return ToolOutput(text, title, preview(window.lines, truncated=window.more), capped=True)


def _total(window: Window) -> str:
    return "" if window.total is None else f", which has {window.total} lines"


def _look(real: Path, first: int, limits: WindowLimits) -> Window | str:
    """The MIME type of an image or a PDF, or lines of a text."""
    with opened_file(real) as descriptor:
        mime = media_type(os.read(descriptor, 16))
    return mime or _within(read_window(real, first, limits), MAX_BYTES)


def _within(window: Window, size: int) -> Window:
    """`window` with no more lines than fit into `size` bytes, but with one at least."""
    for kept, line in enumerate(window.lines):
        size -= len(line) + 1 if line.isascii() else len(line.encode()) + 1
        if size < 0 and kept:
            return msgspec.structs.replace(window, lines=window.lines[:kept], more=True)
    return window


def _media(real: Path, title: str, mime: str, context: ToolContext) -> ToolOutput:
    kind = "PDF" if mime == PDF else "image"
    visible = context.reads_pdf if mime == PDF else context.reads_images
    if not visible:
        advice = " Try pdftotext in the shell." if mime == PDF else ""
        size = real.stat().st_size
        said = f"{title} is a file of type {mime} ({size:,} bytes), which you cannot see.{advice}"
        return ToolOutput(said, title, preview([said], truncated=False))
    checked = checked_media(read_bytes(real), title)
    said = f"The {kind} {title} is attached." + (f" It was {checked.note}." if checked.note else "")
    media = Media(checked.mime, checked.base64, real.name)
    return ToolOutput(said, title, preview([said], truncated=False), (media,))
