"""Terminal interfaces driven from outside: what is asked of one goes to all that show a folder."""

from typing import Annotated, Final, Literal, TypeVar

from msgspec import Meta, Struct

from roost.core.text import clean
from roost.core.wire_names import wire_name
from roost.events.types import Event
from roost.server.endpoint import Call, Endpoint, Handler, NoQuery, endpoint
from roost.server.slices import parse_id

B = TypeVar("B")
_COMMANDS: Final = {
    "session_new": "session.new",
    "session_share": "session.share",
    "session_interrupt": "session.interrupt",
    "session_compact": "session.compact",
    "messages_page_up": "session.page.up",
    "messages_page_down": "session.page.down",
    "messages_line_up": "session.line.up",
    "messages_line_down": "session.line.down",
    "messages_half_page_up": "session.half.page.up",
    "messages_half_page_down": "session.half.page.down",
    "messages_first": "session.first",
    "messages_last": "session.last",
    "agent_cycle": "agent.cycle",
}
"""Commands by the older names that `execute-command` takes; others are told as they are."""
Words = Annotated[str, Meta(max_length=100_000)]


class AppendedText(Struct, frozen=True):
    """What is put behind the words that stand in the prompt."""

    text: Words


class Command(Struct, frozen=True):
    """A command of the interface by its name."""

    command: Annotated[str, Meta(max_length=200)]


class Toast(Struct, frozen=True, omit_defaults=True):
    """A short notice; `duration` in milliseconds."""

    message: Words
    variant: Literal["info", "success", "warning", "error"]
    title: Words | None = None
    duration: Annotated[int, Meta(ge=1, le=3_600_000)] | None = None


class Selected(Struct, frozen=True, rename=wire_name):
    """The session to be shown."""

    session_id: str


class PromptAppend(Struct, frozen=True, tag_field="type", tag="tui.prompt.append"):
    """See `append-prompt`."""

    properties: AppendedText


class CommandExecute(Struct, frozen=True, tag_field="type", tag="tui.command.execute"):
    """A command by its newer name."""

    properties: Command


class ToastShow(Struct, frozen=True, tag_field="type", tag="tui.toast.show"):
    """See `show-toast`."""

    properties: Toast


class SessionSelect(Struct, frozen=True, tag_field="type", tag="tui.session.select"):
    """See `select-session`."""

    properties: Selected


async def _tell(call: Call[NoQuery, B], type_: str, about: Struct) -> bool:
    event = Event(type_, about, directory=call.directory)
    await call.service.runtime.database.write(lambda tx: tx.emit(event))
    return True


async def append_prompt(call: Call[NoQuery, AppendedText]) -> bool:
    """Put words into the prompt."""
    return await _tell(call, "tui.prompt.append", AppendedText(clean(call.body.text)))


async def execute_command(call: Call[NoQuery, Command]) -> bool:
    """Carry out a command of the interface."""
    name = call.body.command
    return await _tell(call, "tui.command.execute", Command(_COMMANDS.get(name, name)))


async def show_toast(call: Call[NoQuery, Toast]) -> bool:
    """Show a short notice."""
    return await _tell(call, "tui.toast.show", call.body)


async def select_session(call: Call[NoQuery, Selected]) -> bool:
    """Show a session. Raises `NotFoundError`, `DeniedError`."""
    await call.service.session(parse_id(call.body.session_id)[0])
    return await _tell(call, "tui.session.select", call.body)


async def publish(
    call: Call[NoQuery, PromptAppend | CommandExecute | ToastShow | SessionSelect],
) -> bool:
    """Tell interfaces one of these events."""
    if isinstance(call.body, SessionSelect):
        await call.service.session(parse_id(call.body.properties.session_id)[0])
    type_ = str(call.body.__struct_config__.tag)
    return await _tell(call, type_, call.body.properties)


def _carrying_out(command: str) -> Handler:
    async def carry_out(call: Call[NoQuery, None]) -> bool:
        """Carry out the command of the interface that the path names."""
        return await _tell(call, "tui.command.execute", Command(command))

    return carry_out


_NAMED: Final = (
    ("open-help", "help.show"),
    ("open-sessions", "session.list"),
    ("open-themes", "theme.switch"),
    ("open-models", "model.list"),
    ("submit-prompt", "prompt.submit"),
    ("clear-prompt", "prompt.clear"),
)
ROUTES: Final[tuple[Endpoint, ...]] = (
    endpoint("POST", "/tui/append-prompt", append_prompt),
    endpoint("POST", "/tui/execute-command", execute_command),
    endpoint("POST", "/tui/show-toast", show_toast),
    endpoint("POST", "/tui/select-session", select_session),
    endpoint("POST", "/tui/publish", publish),
    *(
        endpoint("POST", f"/tui/{path}", _carrying_out(command), name=path.replace("-", "_"))
        for path, command in _NAMED
    ),
)
