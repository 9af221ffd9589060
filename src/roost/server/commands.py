"""A command as clients send it."""

from msgspec import Struct

from roost.core.wire_names import wire_name
from roost.runtime.commands import CommandCall, model_name
from roost.runtime.models import FileInput


class CommandBody(Struct, frozen=True, rename=wire_name):
    """Which command, and what stands behind its name. `model` is `provider/model`; agent, model and
    variant hold where the command itself names none.
    """

    command: str
    arguments: str = ""
    message_id: str | None = None
    agent: str | None = None
    model: str | None = None
    variant: str | None = None
    parts: tuple[FileInput, ...] = ()


def command_call(body: CommandBody, message_id: str) -> CommandCall:
    """The same, as the runtime wants it."""
    return CommandCall(
        name=body.command.removeprefix("/"),
        arguments=body.arguments,
        message_id=message_id,
        agent=body.agent,
        model=model_name(body.model),
        variant=body.variant,
        parts=body.parts,
    )
