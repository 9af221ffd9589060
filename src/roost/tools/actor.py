"""The tool `actor`: other actors, which work on their own and report back.

It is made for a set of agents, in one of two forms (JSON or a command line) and in one of two
scopes: whole, or only what an actor needs that starts no others.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, ClassVar, Final, Literal, TypeAlias, assert_never, cast

import msgspec
from msgspec import Struct

from roost.tools import actor_delegate, actor_words
from roost.tools.actor_command import operation_of_line, usage
from roost.tools.actor_operations import (
    ALL,
    DEFAULT_TIMEOUT_MS,
    LISTED_MODELS,
    TALK,
    Cancel,
    CommandLine,
    Invocation,
    Kinds,
    Models,
    Run,
    Send,
    Spawn,
    StatusOf,
    TalkInvocation,
    Wait,
    WaitForMail,
)
from roost.tools.actor_port import ActorView, Finished
from roost.tools.actor_reading import checked, operation_in, refuse
from roost.tools.arguments import ArgumentsError, read_object
from roost.tools.contract import ToolContext, ToolOutput
from roost.tools.operation_tool import OperationTool, page

Style = Literal["json", "shell"]
NAME: Final = "actor"
_KEPT: Final = 64
"""Forms of the tool that are kept, with their schemas, for the next turn."""


Operation: TypeAlias = Spawn | Run | StatusOf | Wait | WaitForMail | Cancel | Send | Models


class ActorOffer(Struct, frozen=True, kw_only=True):
    """What an actor may do with others, as far as its tool shows it."""

    agents: Mapping[str, str] = {}
    """The agents that it may start: name and description. None: it only talks."""
    style: Style = "json"


class ActorTool(OperationTool[Operation]):
    """Starts other actors, waits for them, looks at them, talks to them, stops them."""

    name: ClassVar[str] = NAME
    parameters: ClassVar[type[Struct]] = Invocation
    permission: ClassVar[str] = NAME
    kinds: ClassVar[Kinds] = ALL
    words: ClassVar[str] = "actor.md"
    agent_field: ClassVar[str] = "subagent_type"

    def parse(self, value: dict[str, Any]) -> Operation:
        """The action in `value`. Raises `msgspec.ValidationError` that names the field."""
        return self._checked(operation_in(value))

    def _checked(self, fields: dict[str, Any]) -> Operation:
        return cast("Operation", checked(fields, self.kinds, self._agents))

    def effects_of(self, arguments: Operation) -> Literal["reads", "writes"]:
        """Calls that hold the step up do so side by side; the others in order, so that a wait in
        the same step is for what was spawned or sent before it.
        """
        return "reads" if isinstance(arguments, Run | Wait | StatusOf | Models) else "writes"

    async def run(self, arguments: Operation, context: ToolContext) -> ToolOutput:
        """Do it; see the functions of each action."""
        match arguments:
            case Spawn():
                return await actor_delegate.spawn(arguments, context)
            case Run():
                return await actor_delegate.run(arguments, context)
            case StatusOf():
                return await _status(arguments, context)
            case Wait(actor_id=str(actor_id)) if actor_id.strip():
                return await _wait(actor_id.strip(), arguments.timeout_ms, context)
            case Wait() | WaitForMail():
                return await _wait_for_mail(arguments.timeout_ms, context)
            case Cancel():
                return await _cancel(arguments, context)
            case Send():
                return await _send(arguments, context)
            case Models():
                return await _models(arguments, context)
            case _:
                assert_never(arguments)


class TalkTool(ActorTool):
    """The same for an actor that starts no others."""

    parameters: ClassVar[type[Struct]] = TalkInvocation
    kinds: ClassVar[Kinds] = TALK
    words: ClassVar[str] = "actor_talk.md"


class ActorCommandTool(ActorTool):
    """The whole tool as a command line."""

    parameters: ClassVar[type[Struct]] = CommandLine

    def _further(self) -> tuple[str, ...]:
        lines = [f"    {usage(verb, kind)}" for verb, kind in self.kinds.items()]
        return ("\n".join([page("actor_command.md"), "", *lines]),)

    def parse(self, value: dict[str, Any]) -> Operation:
        """The action that the line says; JSON in its place is understood too."""
        line = value.get("command")
        if set(value) != {"command"}:
            return super().parse(value)
        if not isinstance(line, str):
            refuse(f"command: got {type(line).__name__}, expected a line of text")
        if line.lstrip().startswith("{"):
            return super().parse(_object(line))
        return self._checked(operation_of_line(line, self.kinds))


class TalkCommandTool(ActorCommandTool):
    """The command line of an actor that starts no others."""

    kinds: ClassVar[Kinds] = TALK
    words: ClassVar[str] = "actor_talk.md"


def actor_tool(offer: ActorOffer) -> ActorTool:
    """The tool for `offer`; the same one for equal offers, so that nothing is made twice."""
    return _made(tuple(offer.agents.items()), offer.style)


@lru_cache(maxsize=_KEPT)
def _made(agents: tuple[tuple[str, str], ...], style: Style) -> ActorTool:
    if agents:
        return (ActorCommandTool if style == "shell" else ActorTool)(dict(agents))
    return (TalkCommandTool if style == "shell" else TalkTool)({})


@lru_cache
def _object(line: str) -> dict[str, Any]:
    try:
        return read_object(line)
    except ArgumentsError as error:
        raise msgspec.ValidationError(f"command: {error.message}") from error


async def _status(asked: StatusOf, context: ToolContext) -> ToolOutput:
    """One actor, or all with what became of the messages to them."""
    if asked.actor_id and asked.actor_id.strip():
        view = await context.actors.status(asked.actor_id.strip())
        return ToolOutput(actor_words.snapshot(view), _title(view), actor_words.who(view))
    views = await context.actors.listed()
    sent = await context.actors.sent()
    count = len(views)
    title = f"{count} actor{'' if count == 1 else 's'}"
    return ToolOutput(actor_words.listing(views, sent), title, {"count": count})


async def _wait(actor_id: str, timeout_ms: int | None, context: ToolContext) -> ToolOutput:
    """The end of a turn, or how things stand when the time is up."""
    view = await context.actors.status(actor_id)
    context.progress(f"Waiting for {_title(view)}", actor_words.who(view))
    timeout = timeout_ms or DEFAULT_TIMEOUT_MS
    finished = await context.actors.wait(actor_id, timeout)
    output = _waited(finished, timeout)
    metadata = actor_words.who(finished.view)
    return ToolOutput(output, _title(finished.view), metadata, stored=finished.stored)


def _waited(finished: Finished, timeout: int) -> str:
    view = finished.view
    snapshot = actor_words.snapshot(view)
    match finished.how:
        case "ended":
            return f"{actor_words.result(view)}\n\n{snapshot}"
        case "finished before":
            head = "Its turn had ended, and you were told so already:"
            return f"{head}\n{actor_words.result(view)}\n\n{snapshot}"
        case "timeout":
            over = f"{view.actor_id} has not ended within {actor_words.since(timeout / 1000)}"
            words = f"{over}; it goes on. {actor_delegate.NOTICE}"
        case "steered":
            words = f"The user spoke to you; {view.actor_id} goes on. {actor_delegate.NOTICE}"
        case "asked":
            words = f"{actor_words.ASKED} {view.actor_id} goes on. {actor_delegate.NOTICE}"
        case "cancelled":
            words = "You were asked to stop, so you wait no longer."
    return f"{words}\n\n{snapshot}"


NOBODY: Final = (
    "You do not wait: no actor of yours is at work, and all mail was heard. What they had to say "
    "stands above."
)


async def _wait_for_mail(timeout_ms: int | None, context: ToolContext) -> ToolOutput:
    """The wait itself begins when the step has ended, with no call left open."""
    timeout = timeout_ms or DEFAULT_TIMEOUT_MS
    if not await context.actors.wait_for_mail(timeout):
        return ToolOutput(NOBODY, "Nobody to wait for")
    limit = actor_words.since(timeout / 1000)
    words = f"You sleep at the end of this step until mail comes, for {limit} at most."
    return ToolOutput(f"{words} Then your next step begins.", "Waiting for mail")


async def _cancel(asked: Cancel, context: ToolContext) -> ToolOutput:
    """Stop it; of one that has ended already it says so."""
    actor_id = asked.actor_id.strip()
    before = await context.actors.status(actor_id)
    view = await context.actors.cancel(actor_id, asked.mode or "graceful")
    if before.status == "idle" and view.status == "idle":
        words = f"{actor_id} was not at work; nothing is changed."
    elif view.status == "idle":
        words = f"{actor_id} has stopped. The notice of it tells you what it left."
    else:
        words = f"{actor_id} is stopping. {actor_delegate.NOTICE}"
    output = f"{words}\n\n{actor_words.snapshot(view)}"
    return ToolOutput(output, f"Stop {_title(view)}", actor_words.who(view))


async def _send(asked: Send, context: ToolContext) -> ToolOutput:
    """Queue it. A receiver that is not there is told of, not raised."""
    sent = await context.actors.send(
        asked.to_actor_id.strip(),
        asked.content,
        to_session_id=(asked.to_session_id or "").strip() or None,
        reply_to=(asked.reply_to or "").strip() or None,
    )
    title = f"Message to {actor_words.line(asked.to_actor_id, 60)}"
    metadata = {"inboxID": sent.inbox_id, "to": asked.to_actor_id}
    if sent.inbox_id is None:
        error = sent.error or "receiver not found"
        return ToolOutput(f"inboxID: null\nerror: {error}", title, {**metadata, "error": error})
    state = actor_words.fate(sent)
    words = f"{state} What comes of it reaches you as mail; do not poll."
    return ToolOutput(f"inboxID: {sent.inbox_id}\n{words}", title, metadata)


async def _models(asked: Models, context: ToolContext) -> ToolOutput:
    found = await context.actors.models(vision=asked.vision, limit=asked.limit or LISTED_MODELS)
    title = f"{len(found)} model{'' if len(found) == 1 else 's'}"
    return ToolOutput(actor_words.model_list(found), title, {"count": len(found)})


def _title(view: ActorView) -> str:
    about = actor_words.line(view.description, 80)
    return f"{view.actor_id} — {about}" if about else view.actor_id
