"""Commands of the configuration: a template filled with the words behind the command's name."""

import re
from pathlib import Path
from typing import Final

from msgspec import Struct

from roost.config.models import CommandConfig
from roost.core.errors import UsageError
from roost.core.wire_names import wire_name
from roost.runtime.models import FileInput, PromptInput, PromptInputPart, TextInput
from roost.sessions.models import ModelName

_WORD: Final = re.compile(r"\"([^\"]*)\"|'([^']*)'|(\S+)")
_NUMBERED: Final = re.compile(r"\$([1-9]\d*)")
_ALL: Final = "$ARGUMENTS"
_FILE: Final = re.compile(r"(?<![\w`@])@(\.?[^\s`,.]*(?:\.[^\s`,.]+)*)")
_SHELL: Final = re.compile(r"!`([^`]+)`")


def words_of(arguments: str) -> list[str]:
    """The words of a command line; quotes hold several together."""
    return [next(filter(None, match.groups()), "") for match in _WORD.finditer(arguments)]


def placeholders(template: str) -> list[str]:
    """`$1`, `$2` … in the order of their numbers, then `$ARGUMENTS`: what the user may give."""
    numbers = sorted({int(number) for number in _NUMBERED.findall(template)})
    return [f"${number}" for number in numbers] + [_ALL] * (_ALL in template)


def expand(template: str, arguments: str) -> str:
    """`template` with its placeholders filled.

    The highest numbered one takes all remaining words. Without any placeholder the arguments
    follow the template. What is filled in is never expanded again.
    """
    words = words_of(arguments)
    last = max((int(number) for number in _NUMBERED.findall(template)), default=0)

    def fill(match: re.Match[str]) -> str:
        if match.group() == _ALL:
            return arguments
        number = int(match.group(1))
        chosen = words[number - 1 :] if number == last else words[number - 1 : number]
        return " ".join(chosen)

    filled = re.sub(rf"{_NUMBERED.pattern}|{re.escape(_ALL)}", fill, template)
    if not placeholders(template) and arguments.strip():
        filled = f"{filled}\n\n{arguments.strip()}"
    return filled.strip()


def mentioned_files(template: str) -> list[str]:
    """The paths that a template names as `@path`, each once."""
    return list(dict.fromkeys(name for name in _FILE.findall(template) if name))


class CommandBody(Struct, frozen=True, rename=wire_name):
    """Which command, and what stands behind its name. `model` is `provider/model`."""

    command: str
    arguments: str = ""
    message_id: str | None = None
    agent: str | None = None
    model: str | None = None
    variant: str | None = None
    parts: tuple[FileInput, ...] = ()


def model_name(ref: str | None) -> ModelName | None:
    """The model that a body names as `provider/model`, or None."""
    provider, _, model = (ref or "").partition("/")
    return ModelName(provider, model) if provider and model else None


def command_prompt(
    command: CommandConfig, body: CommandBody, message_id: str, directory: Path
) -> PromptInput:
    """The prompt that a command stands for; files that its template names go along.

    Raises `UsageError` for a template that runs shell commands.
    """
    if _SHELL.search(command.template):
        raise UsageError(
            f"the command {body.command!r} runs shell commands, which is not possible here",
            hint="Let the model run them: name them in the template without the exclamation mark.",
        )
    parts: list[PromptInputPart] = [TextInput(text=expand(command.template, body.arguments))]
    for name in mentioned_files(command.template):
        path = directory / name
        if path.is_file():
            parts.append(FileInput(mime="text/plain", url=path.as_uri(), filename=name))
    return PromptInput(
        parts=(*parts, *body.parts),
        message_id=message_id,
        model=model_name(body.model or command.model),
        agent=body.agent or command.agent,
        variant=body.variant or command.variant,
    )
