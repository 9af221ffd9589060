"""Command lines in the templates of commands: each is run under the permission rules of whoever
runs the command, and its output takes its place.
"""

from collections.abc import Sequence
from typing import Final

from roost.context.agents import Agent
from roost.core.errors import DeniedError, UsageError
from roost.core.ids import new_id
from roost.core.text import clean, cut
from roost.runtime.project import Project
from roost.runtime.rights import Rules
from roost.runtime.runtime import Runtime
from roost.runtime.templates import Piece, ShellPiece
from roost.sessions.models import Session
from roost.tools.bash import requests_of
from roost.tools.output import spill_path
from roost.workspace.running import ShellCommand, ShellResult

SECONDS: Final = 60.0
"""How long one of them may take."""
LIMIT: Final = 30_000
"""Characters that are taken of its output: a third of its beginning, and its end."""
MOST: Final = 20
"""Command lines of one template."""
_SHOWN: Final = 200


async def expanded(
    runtime: Runtime, session: Session, agent: Agent, name: str, pieces: Sequence[Piece]
) -> str:
    """The text of `pieces`, with what their command lines print.

    All of them are looked at before the first one is run. Nobody is asked: one that needs a
    permission is refused. Raises `DeniedError` and `UsageError`, naming the command `name`.
    """
    commands = [piece.command for piece in pieces if isinstance(piece, ShellPiece)]
    if len(commands) > MOST:
        raise UsageError(f"the command /{name} runs {len(commands)} command lines; {MOST} may be")
    project = await runtime.project_of(session.id)
    rules = Rules(project, session, runtime.settings)
    for command in commands:
        await _permit(runtime, project, rules, agent, name, command)
    outputs = iter([await _output(runtime, project, command) for command in commands])
    return "".join(next(outputs) if isinstance(one, ShellPiece) else one for one in pieces)


async def _permit(
    runtime: Runtime, project: Project, rules: Rules, agent: Agent, name: str, command: str
) -> None:
    try:
        _, requests = await requests_of(command, project.directory, project.root, project.guard)
        project_id = await runtime.project_id(project.directory)
        for request in requests:
            await runtime.worlds.gate.check_unasked(request, rules.layers(agent), project_id)
    except DeniedError as error:
        raise DeniedError(
            f"the command /{name} runs `{cut(command, _SHOWN)}`, which is not allowed:"
            f" {error.message}",
            hint=error.hint,
            permission=error.permission,
            needs_person=error.needs_person,
        ) from error


async def _output(runtime: Runtime, project: Project, command: str) -> str:
    call_id = new_id("part")
    wanted = ShellCommand(
        id=call_id,
        text=command,
        cwd=project.directory,
        output_path=spill_path(runtime.paths.data / "outputs", call_id),
        timeout=SECONDS,
    )
    async with runtime.worlds.desk_of(project) as desk:
        try:
            result = await desk.shell.run(wanted)
        finally:
            await desk.shell.reap(call_id)
        return desk.secrets.hide(clean(_shown(command, result)))


def _shown(command: str, result: ShellResult) -> str:
    text = _bounded(result.output.text.rstrip("\n"))
    if result.end == "exited" and not result.exit:
        return text
    ended = f"exit code {result.exit}" if result.end == "exited" else result.end
    return f"{text}\n[`{cut(command, _SHOWN)}` failed: {ended}]".lstrip("\n")


def _bounded(text: str) -> str:
    if len(text) <= LIMIT:
        return text
    head, tail = text[: LIMIT // 3], text[-(LIMIT - LIMIT // 3) :]
    return f"{head}\n… ({len(text) - LIMIT} characters left out)\n{tail}"
