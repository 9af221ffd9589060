"""What the words of `roost run` stand for: a command, or a prompt that names files and agents."""

import re
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from roost.cli.run.request import RunOptions
from roost.core.errors import UsageError
from roost.runtime.attachments import skills_named
from roost.runtime.commands import CommandCall, command_prompt, is_command
from roost.runtime.goal_command import goal_command
from roost.runtime.mentions import mentioned
from roost.runtime.models import FileInput, PromptInput, TextInput
from roost.runtime.project import Project
from roost.runtime.runtime import Runtime
from roost.skills.loading import LOADED

_SLASH: Final = re.compile(r"\s*/(?P<name>[^\s/]\S*)(?:\s+(?P<arguments>.*))?\s*\Z", re.DOTALL)
_AS_WORDS: Final = "To say it as plain words, let something stand before the slash."


class Slash(Struct, frozen=True):
    """A line that begins with a slash."""

    name: str
    arguments: str = ""


class Spoken(Struct, frozen=True):
    """The prompt, and what the person should know of it."""

    prompt: PromptInput
    notes: tuple[str, ...] = ()


def slash_in(text: str) -> Slash | None:
    """What a line that begins with a slash names; None for any other words."""
    found = _SLASH.match(text)
    return None if found is None else Slash(found["name"], (found["arguments"] or "").strip())


async def spoken(
    runtime: Runtime, session_id: str, given: PromptInput, options: RunOptions
) -> Spoken:
    """What `given` stands for in a session.

    Raises `UsageError` for a command that is not there, else as `command_prompt` does.
    """
    first = given.parts[0]
    if not isinstance(first, TextInput) or first.text == given.goal or goal_command(first.text):
        return Spoken(given)
    project = await runtime.project_of(session_id)
    slash = slash_in(first.text)
    if slash is not None and (
        options.command is not None or is_command(project, slash.name) or not _is_path(slash.name)
    ):
        made = await _commanded(runtime, session_id, given, slash, options)
        return Spoken(made, _loading(made, project))
    found = mentioned(first.text, project)
    made = msgspec.structs.replace(given, parts=(first, *found.parts, *given.parts[1:]))
    return Spoken(made, (*found.notes, *_loading(made, project)))


def _loading(given: PromptInput, project: Project) -> tuple[str, ...]:
    """What the person is told of the skills that come with their words."""
    named = skills_named(given, project.skills)[:LOADED]
    return tuple(f"with the skill {one.name} ({one.page})" for one in named)


def _is_path(name: str) -> bool:
    """Whether words that begin with `/name` speak of a file."""
    path = f"/{name}"
    return "/" in name or Path(path.rstrip(":,.?!")).exists()


async def _commanded(
    runtime: Runtime, session_id: str, given: PromptInput, slash: Slash, options: RunOptions
) -> PromptInput:
    call = CommandCall(
        name=slash.name,
        arguments=slash.arguments,
        agent=given.agent,
        variant=given.variant,
        parts=tuple(part for part in given.parts if isinstance(part, FileInput)),
    )
    try:
        made = await command_prompt(runtime, session_id, call)
    except UsageError as error:
        if options.command is None and error.hint:
            raise UsageError(error.message, hint=f"{error.hint} {_AS_WORDS}") from error
        raise
    return msgspec.structs.replace(
        given,
        parts=made.parts,
        agent=options.agent or made.agent,
        model=None if options.model else made.model,
        variant=options.variant or made.variant,
    )
