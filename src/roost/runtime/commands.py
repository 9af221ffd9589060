"""Slash commands: what one stands for, as a prompt."""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Final

from msgspec import Struct

from roost.config.models import CommandConfig
from roost.core.errors import UsageError
from roost.core.text import cut, echo
from roost.runtime import built_in, goal_command, shortening, side_command
from roost.runtime.actor_port import spawnable
from roost.runtime.command_shell import expanded
from roost.runtime.mentions import mentioned
from roost.runtime.models import FileInput, PromptInput, PromptInputPart, SubtaskInput, TextInput
from roost.runtime.project import Project
from roost.runtime.runtime import Runtime
from roost.runtime.templates import ShellPiece, filled
from roost.sessions.models import ModelName

_HELPER: Final = "general"
"""The agent of a subtask whose command names none that can be started."""
_TITLE: Final = 60
_BESIDE: Final = frozenset({goal_command.NAME, side_command.NAME, shortening.NAME})
"""Commands that are more than a prompt: whoever takes a command looks at them first."""


class CommandCall(Struct, frozen=True, kw_only=True):
    """A command as it was given."""

    name: str
    arguments: str = ""
    message_id: str | None = None
    agent: str | None = None
    """What the session runs as where the command names no agent; so are model and variant."""
    model: ModelName | None = None
    variant: str | None = None
    parts: tuple[FileInput, ...] = ()


def find_command(project: Project, name: str) -> CommandConfig:
    """The command `name`. Raises `UsageError` with those that may be meant, and for one that waits
    until the person trusts its repository.
    """
    known: Mapping[str, CommandConfig] = built_in.commands(project)
    if (command := known.get(name)) is not None:
        return command
    key = f"command.{name}"
    waiting = next((one for one in project.loaded.waiting if one.key == key), None)
    if waiting is not None:
        raise UsageError(
            f"the command /{name} of {waiting.source} is not used: {waiting.reason}",
            hint="If you trust this repository's configuration: roost config trust.",
        )
    skills = [one for one in known if built_in.loads_skill(project, one)]
    names = [*sorted({*_BESIDE, *known}.difference(skills)), *skills]
    near = get_close_matches(name, names, n=1)
    guess = f" Did you mean /{near[0]}?" if near else ""
    listed = ", ".join(f"/{one}" for one in names)
    raise UsageError(f"there is no command /{echo(name)}.{guess}", hint=f"There are: {listed}.")


def is_command(project: Project, name: str) -> bool:
    """Whether there is a command of that name, built in or configured."""
    return name in _BESIDE or name in built_in.commands(project)


async def command_prompt(
    runtime: Runtime, session_id: str, call: CommandCall, actor_id: str | None = None
) -> PromptInput:
    """The prompt to an actor that a command stands for: its template filled, what its command lines
    print, and the files and agents that it names.

    Raises `UsageError` for an unknown command, `ConfigError` for an unknown agent, either for a
    group of models that cannot be used, `DeniedError` for a command line that needs a permission.
    """
    session = await runtime.session(session_id)
    project = await runtime.project_of(session_id)
    command = find_command(project, call.name)
    actor = await runtime.named(session_id, actor_id)
    agent = project.agent(command.agent or call.agent or actor.agent)
    pieces = filled(command.template, call.arguments)
    text = (await expanded(runtime, session, agent, call.name, pieces)).strip()
    if not text:
        raise UsageError(
            f"the command /{call.name} has nothing to say",
            hint="Its template is empty, and so is what the command lines in it print.",
        )
    words = " ".join(piece for piece in pieces if not isinstance(piece, ShellPiece))
    named = mentioned(words, project).parts
    own = await _own_model(runtime, project, command)
    if _is_subtask(command, agent.mode):
        task = SubtaskInput(
            prompt=_with_missing(text, named),
            description=cut(command.description or f"/{call.name} {call.arguments}", _TITLE),
            agent=_helper(project, agent.name),
            model=own,
            command=call.name,
        )
        return _prompt(call, (task, *call.parts), call.agent, call.model, call.variant)
    parts = (TextInput(text), *named, *call.parts)
    chosen = command.agent or call.agent
    return _prompt(call, parts, chosen, own or call.model, command.variant or call.variant)


def _prompt(
    call: CommandCall,
    parts: tuple[PromptInputPart, ...],
    agent: str | None,
    model: ModelName | None,
    variant: str | None,
) -> PromptInput:
    return PromptInput(
        parts=parts, message_id=call.message_id, agent=agent, model=model, variant=variant
    )


async def _own_model(
    runtime: Runtime, project: Project, command: CommandConfig
) -> ModelName | None:
    """The model that a command is carried out with, also where it names a group."""
    named = model_name(command.model)
    if named is not None or not command.model:
        return named
    return await runtime.worlds.names.choose(project, command.model)


def _is_subtask(command: CommandConfig, mode: str) -> bool:
    if command.subtask is not None:
        return command.subtask
    return command.agent is not None and mode == "subagent"


def _helper(project: Project, name: str) -> str:
    return name if name in spawnable(project.agents) else _HELPER


def _with_missing(text: str, named: tuple[PromptInputPart, ...]) -> str:
    """A task reads the files that it names by itself, and is told which of them are not there."""
    missing = [part.text for part in named if isinstance(part, TextInput)]
    return "\n\n".join((text, *missing))


def model_name(ref: str | None) -> ModelName | None:
    """The model that is named as `provider/model`, or None."""
    provider, _, model = (ref or "").partition("/")
    return ModelName(provider, model) if provider and model else None
