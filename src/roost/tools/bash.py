"""The tool `bash`: one shell command."""

from __future__ import annotations

import asyncio
import os
import tempfile
from contextlib import nullcontext
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final

from msgspec import Meta, Struct

from roost.core.errors import DeniedError
from roost.core.text import clean, cut
from roost.tools import markup
from roost.tools.contract import Tool, ToolContext, ToolError, ToolOutput
from roost.tools.output import abridged, cap, fits, spill_path, sweep
from roost.tools.paths import ask, locate, permit_outside, relative
from roost.tools.restorable import restorable
from roost.workspace.output import Output
from roost.workspace.running import ShellCommand, ShellResult
from roost.workspace.shell_notes import notes

if TYPE_CHECKING:
    from roost.permissions.bash import BashAnalysis  # loads the parser of shell scripts
    from roost.permissions.models import PermissionRequest
    from roost.workspace.guard import Guard

DEFAULT_MS: Final = 120_000
MAX_MS: Final = 600_000
LIVE_CHARS: Final = 30_000
"""Characters of the end of the output that clients are shown."""
_END_SHARE: Final = 0.6
"""Share of the end in what is shown of a long output: results come last."""
_TITLE: Final = 80
_SHORT: Final = 2_000
"""Characters of a command that is understood faster than a thread is woken."""


class BashArguments(Struct, frozen=True):
    """What to run."""

    command: Annotated[str, Meta(min_length=1, description="The command line.")]
    timeout: (
        Annotated[
            int,
            Meta(gt=0, description="Milliseconds; 120000 if left out, at most 600000."),
        ]
        | None
    ) = None
    description: (
        Annotated[str, Meta(description="What it does, in five to ten words, for the user.")] | None
    ) = None
    workdir: Annotated[str, Meta(description="Directory to run in instead.")] | None = None


class BashTool(Tool[BashArguments]):
    """Runs a command after everything it is seen to do has been allowed."""

    name: ClassVar[str] = "bash"
    parameters: ClassVar[type[Struct]] = BashArguments
    permission: ClassVar[str] = "bash"

    async def run(self, arguments: BashArguments, context: ToolContext) -> ToolOutput:
        """Run it and tell output, exit code and what became of its processes."""
        cwd, remark = await _directory(arguments.workdir, context)
        analysis = await _permit(arguments.command, cwd, context)
        milliseconds = min(arguments.timeout or DEFAULT_MS, MAX_MS)
        title = clean(arguments.description or cut(arguments.command, _TITLE))
        shown: dict[str, Any] = {"output": "", "description": title}
        context.progress(title, shown)

        def live(text: str) -> None:
            context.progress(None, {"output": clean(text)[-LIVE_CHARS:]})

        command = ShellCommand(
            id=context.call_id,
            text=arguments.command,
            cwd=cwd,
            output_path=spill_path(context.spill_folder, context.call_id),
            timeout=milliseconds / 1000,
        )
        # What is proved to change nothing need not be noted: a look at all files costs something.
        async with nullcontext() if analysis.read_only else context.record.running():
            result = await context.shell.run(command, live)
        told = [*remark, *_notes(arguments, result)]
        if result.left_running and command.output_path.exists():
            told.append(f"What it writes goes to {command.output_path}.")
        text, path = await _shown(result.output, context)
        metadata = {**_metadata(result, path), "description": title}
        return ToolOutput(_with_notes(text, told), title, metadata, capped=True)


async def _directory(workdir: str | None, context: ToolContext) -> tuple[Path, list[str]]:
    """Where the command runs, and what to say about it."""
    if workdir:
        place = locate(workdir, context)
        await permit_outside(context, [place])
        if not place.real.is_dir():
            raise ToolError(f"workdir {relative(place.real, context)} is not a directory.")
        return place.real, []
    if context.directory.is_dir():
        return context.directory, []
    if not context.root.is_dir():
        raise ToolError(f"The project {context.root} does not exist any more.")
    gone, root = clean(str(context.directory)), clean(str(context.root))
    return context.root, [f"Your working directory {gone} does not exist; this ran in {root}."]


async def _permit(command: str, cwd: Path, context: ToolContext) -> BashAnalysis:
    """What `command` does, once all of it is allowed. Raises `DeniedError`."""
    analysis, requests = await requests_of(command, cwd, context.root, context.guard)
    for request in requests:
        await ask(context, request)
    return analysis


async def requests_of(
    command: str, cwd: Path, root: Path, guard: Guard
) -> tuple[BashAnalysis, tuple[PermissionRequest, ...]]:
    """What `command` does, and what has to be allowed for it to be run in `cwd`.

    Raises `DeniedError` for what nobody can allow.
    """
    from roost.permissions.bash import Surroundings, analyse
    from roost.permissions.shell_requests import shell_requests

    around = Surroundings(
        cwd=cwd,
        guard=guard,
        home=Path.home(),
        temporary=_temporary(root),
        pids=frozenset({os.getpid()}),
    )
    if len(command) < _SHORT:
        analysis = analyse(command, around)
    else:
        analysis = await asyncio.to_thread(analyse, command, around)
    if analysis.refusals:
        raise DeniedError(
            f"This command is refused: {clean('; '.join(analysis.refusals))}.",
            hint="No rule and no approval can allow it.",
        )
    safe = await restorable(analysis.destroys)
    return analysis, tuple(shell_requests(analysis, around, lambda one: one in safe))


@cache
def _temporary(root: Path) -> tuple[Path, ...]:
    """Folders for scratch files; one that holds the project holds its neighbours too."""
    folders = {Path(tempfile.gettempdir()), Path("/", "tmp"), Path("/", "var", "tmp")}
    real = {Path(os.path.realpath(folder)) for folder in folders}
    return tuple(sorted(folder for folder in real if not root.is_relative_to(folder)))


async def _shown(output: Output, context: ToolContext) -> tuple[str, Path | None]:
    """The output as a model is shown it, and the file with all of it if something was cut."""
    if output.file is None and not output.omitted and fits(output.head):
        return _readable(output.head), None
    return await asyncio.to_thread(_cut, output, context)


def _readable(text: str) -> str:
    return markup.escaped(clean(text)).rstrip("\n")


def _cut(output: Output, context: ToolContext) -> tuple[str, Path | None]:
    if output.file is not None:
        sweep(context.spill_folder)
        if not output.omitted and fits(output.head):
            return _readable(output.head), None
    if output.file is None and not output.omitted:
        text, path = cap(output.head, context.spill_folder, context.call_id, tail=_END_SHARE)
    else:
        head, path = clean(output.head), output.file
        end = clean(output.tail) if output.omitted else head
        text = abridged(head, end, output.total, path, tail=_END_SHARE)
    return _readable(text), path


def _metadata(result: ShellResult, path: Path | None) -> dict[str, Any]:
    """What OpenCode's clients know of a command."""
    return {
        "output": clean(result.output.text)[-LIVE_CHARS:],
        "exit": result.exit if result.end == "exited" else None,
        "truncated": path is not None,
        **({"outputPath": clean(str(path))} if path else {}),
    }


def _notes(arguments: BashArguments, result: ShellResult) -> list[str]:
    found: list[str] = []
    if result.end == "exited" and result.exit:
        found.append(f"Exit code {result.exit}.")
    found += notes(arguments.command, result)
    if result.end == "timed out":
        found.append("If it needs longer and waits for nothing, give a larger timeout.")
    if arguments.timeout and arguments.timeout > MAX_MS:
        found.append(f"A timeout is at most {MAX_MS} milliseconds.")
    return found


def _with_notes(text: str, told: list[str]) -> str:
    shown = text or "(no output)"
    if not told:
        return shown
    listed = "\n".join(markup.escaped(clean(note)) for note in told)
    return f"{shown}\n\n<bash_metadata>\n{listed}\n</bash_metadata>"
