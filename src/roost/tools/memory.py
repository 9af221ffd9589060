"""The tool `memory`: looks into files of memory, and changes them."""

import time
from typing import Annotated, Any, ClassVar, Final, Literal, assert_never

from msgspec import Meta, Struct

from roost.core.amounts import counted
from roost.core.text import cut
from roost.memory.layout import Located
from roost.memory.search import MemoryHit, Reach
from roost.memory.sections import sections
from roost.permissions.models import PermissionRequest
from roost.tools.contract import Tool, ToolContext, ToolError, ToolOutput
from roost.tools.memory_port import MemoryText

NAME: Final = "memory"
LIMIT: Final = 10
_SHOWN: Final = 2_000
"""Characters of an entry that a person is shown who is asked about it."""
SWITCHED_OFF: Final = (
    "Memory is not written here: memory.disable_write is set. Go on without it, do not write the"
    " same to another place instead, and say so to the user if they asked for it."
)
_NOTHING: Final = """\
No section of memory fits {what} in {where}. What may help, in this order:
1. Fewer and rarer words: a name, a number, an error code.
2. `read` without `file`: a list of what there is.
3. The tool `history`: what was said literally, in this project's sessions.
4. {wider}
Then look at the files of the project, and ask the user last."""


class MemoryArguments(Struct, frozen=True):
    """What to do with which file."""

    action: Annotated[
        Literal["search", "read", "append", "update"], Meta(description="What to do.")
    ]
    query: Annotated[str, Meta(description="For search: words, or a phrase in quotes.")] | None = (
        None
    )
    scope: (
        Annotated[Reach, Meta(description="For search: where; own is the first three.")] | None
    ) = None
    limit: (
        Annotated[int, Meta(ge=1, le=50, description="For search: most sections (10).")] | None
    ) = None
    file: Annotated[str, Meta(description="Such as project/MEMORY.md.")] | None = None
    heading: Annotated[str, Meta(description="A section, without #.")] | None = None
    hash: Annotated[str, Meta(description="For update: of the section as you saw it.")] | None = (
        None
    )
    text: Annotated[str, Meta(description="For append and update.")] | None = None


class MemoryTool(Tool[MemoryArguments]):
    """Searches, reads, adds to and corrects memory."""

    name: ClassVar[str] = NAME
    parameters: ClassVar[type[Struct]] = MemoryArguments
    permission: ClassVar[str] = NAME

    def effects_of(self, arguments: MemoryArguments) -> Literal["reads", "writes"]:
        """Only two of the actions write."""
        return "reads" if arguments.action in {"search", "read"} else "writes"

    async def run(self, arguments: MemoryArguments, context: ToolContext) -> ToolOutput:
        """Do what `action` says."""
        match arguments.action:
            case "search":
                return await _search(arguments, context)
            case "read":
                return await _read(arguments, context)
            case "append" | "update":
                return await _write(arguments, context)
            case _:
                assert_never(arguments.action)


async def _search(arguments: MemoryArguments, context: ToolContext) -> ToolOutput:
    words = (arguments.query or "").strip()
    if not words:
        raise ToolError("search needs query.", hint="Give names, numbers or a quoted phrase.")
    reach: Reach = arguments.scope or "own"
    hits = await context.memory.search(words, reach, arguments.limit or LIMIT)
    title = f"Memory: {cut(words, 60)}"
    if not hits:
        return ToolOutput(_ladder(words, reach), title, {"count": 0})
    shown = "\n\n".join(_hit(number, one) for number, one in enumerate(hits, start=1))
    return ToolOutput(shown, title, {"count": len(hits)})


def _hit(number: int, one: MemoryHit) -> str:
    heading = f" § {one.found.heading}" if one.found.heading else ""
    day = time.strftime("%Y-%m-%d", time.localtime(one.found.changed / 1000))
    head = f"{number}. {one.file.name}{heading} (line {one.found.line}, file of {day})"
    return f"{head}\n   {one.hit.snippet.marked()}"


def _ladder(words: str, reach: Reach) -> str:
    where = {
        "own": "this project, this session and what is global",
        "project": "this project",
        "session": "this session",
        "global": "what is global",
        "all": "every project and session",
    }
    wider = "`scope: all`: other projects and sessions."
    if reach == "all":
        wider = "Nothing wider is left to search."
    elif reach != "own":
        wider = "`scope: own`, then `scope: all`."
    return _NOTHING.format(what=repr(cut(words, 80)), where=where[reach], wider=wider)


async def _read(arguments: MemoryArguments, context: ToolContext) -> ToolOutput:
    name = (arguments.file or "").strip()
    if not name:
        return _listing(await context.memory.listed())
    found = await context.memory.read(name)
    if not found.text:
        return ToolOutput(f"{found.file.name} is not there yet.", found.file.name, {"there": False})
    return ToolOutput(_shown_text(found), found.file.name, {"there": True})


def _listing(files: list[MemoryText]) -> ToolOutput:
    lines = [
        f"{one.file.name} ({len(one.text.encode()):,} bytes): "
        + cut("; ".join(part.heading for part in sections(one.text) if part.heading), 300)
        for one in files
    ]
    words = "\n".join(lines) or "There is no memory of this project or session yet, nor a global."
    return ToolOutput(words, counted(len(files), "file of memory", "files of memory"))


def _shown_text(found: MemoryText) -> str:
    """A file with the hash of each section behind its heading."""
    size = f"{len(found.text.encode()):,} of {found.file.largest:,} bytes"
    lines = [f"{found.file.name} ({size})"]
    for one in sections(found.text):
        first, _, rest = one.text.rstrip().partition("\n")
        lines.append(f"{first}  #{one.hash}\n{rest}" if one.level else one.text.rstrip())
    return "\n\n".join(line.rstrip() for line in lines)


async def _write(arguments: MemoryArguments, context: ToolContext) -> ToolOutput:
    if not context.memory.writable:
        raise ToolError(SWITCHED_OFF)
    file = context.memory.locate((arguments.file or "project/MEMORY.md").strip())
    _require_kept(file)
    text, heading = arguments.text or "", (arguments.heading or "").strip()
    if arguments.action == "append" and not text.strip():
        raise ToolError("append needs text.")
    if arguments.action == "update" and not (heading and arguments.hash):
        raise ToolError(
            "update needs heading and hash.", hint="`read` shows the hash of each section."
        )
    what = "Remember" if arguments.action == "append" else "Correct"
    await context.ask(
        PermissionRequest(
            NAME,
            (file.name,),
            always=(file.name,),
            metadata={"file": file.name, "heading": heading, "text": cut(text, _SHOWN)},
            title=f"{what} in {file.name}",
        )
    )
    if arguments.action == "append":
        found = await context.memory.append(file, text, heading)
        said = f"Added to {file.name}" + (f" § {heading}." if heading else ".")
        return ToolOutput(f"{said} {_room(found)}", f"Remember in {file.name}", _about(found))
    found = await context.memory.update(file, heading, arguments.hash or "", text)
    done = "Replaced" if text.strip() else "Removed"
    said = f"{done} {file.name} § {heading}. {_room(found)}"
    return ToolOutput(said, f"Correct {file.name}", _about(found))


def _require_kept(file: Located) -> None:
    if not file.own:
        raise ToolError(
            f"{file.name} is not yours: you write to the memory of your own project and session.",
            hint="Files are project/MEMORY.md, project/MEMORY-<topic>.md and session/notes.md.",
        )
    if not file.kept:
        raise ToolError(
            f"{file.name} is written by others: Roost keeps checkpoints, and those who work on a"
            " task its journal.",
            hint="Use session/notes.md for what you found out.",
        )


def _room(found: MemoryText) -> str:
    return f"It has {len(found.text.encode()):,} of {found.file.largest:,} bytes."


def _about(found: MemoryText) -> dict[str, Any]:
    return {"file": found.file.name, "bytes": len(found.text.encode())}
