"""Starts other actors: goes on at once (`spawn`), or holds the call until the turn ends (`run`)."""

import asyncio
from typing import Any, Final

from roost.core.errors import UsageError
from roost.core.finishing import make_or_undo, see_through
from roost.core.text import clean, cut
from roost.permissions.models import PermissionRequest
from roost.tools import actor_words
from roost.tools.actor_operations import DEFAULT_TIMEOUT_MS, Order, Run, Spawn
from roost.tools.actor_port import Finished, Spawned, SpawnOrder
from roost.tools.answer_format import answer_format
from roost.tools.contract import ToolContext, ToolError, ToolOutput
from roost.tools.output import cap

STOP_SECONDS: Final = 10.0
"""How long a call that was stopped takes care of stopping what it had started."""
_NOT_STOPPED: Final = "an actor was not stopped with its caller"
_PROMPT_SHOWN: Final = 2_000
"""Characters of the prompt that a person sees who is asked."""
_GOES_ON: Final = "It goes on in the background."
NOTICE: Final = "A notice comes to you when its turn ends; do not poll."


async def spawn(order: Spawn, context: ToolContext) -> ToolOutput:
    """Start an actor in the background."""
    title = f"Background {_title(order)}"
    child = await _made(order, context, title, background=True)
    words = f"actor_id: {child.actor_id}\nIt works in the background. {NOTICE}"
    output = "\n".join((words, *child.notes))
    return ToolOutput(output, title, _metadata(order, child))


async def run(order: Run, context: ToolContext) -> ToolOutput:
    """Start an actor and give its result; one that takes too long goes on in the background.

    Raises `ToolError` with what there is of a result when its turn fails. If the call is stopped,
    so is the actor.
    """
    child = await _made(order, context, _title(order), background=False)
    try:
        return await _result(order, child, context)
    except asyncio.CancelledError:
        stopping = context.actors.cancel(child.actor_id, "forced")
        await see_through(stopping, _NOT_STOPPED, seconds=STOP_SECONDS)
        raise


async def _made(order: Order, context: ToolContext, title: str, *, background: bool) -> Spawned:
    """The new actor, once it is allowed; none is left behind by a call that is stopped."""
    _check_schema(order)
    agent = order.subagent_type
    description = actor_words.line(order.description)
    metadata = {
        "subagent_type": agent,
        "description": description,
        "prompt": cut(clean(order.prompt), _PROMPT_SHOWN),
    }
    await context.ask(
        PermissionRequest("actor", (agent,), always=(agent,), metadata=metadata, title=title)
    )
    context.progress(title, {"agent": agent, "description": description})
    port = context.actors
    child = await make_or_undo(
        port.spawn(_ordered(order, background=background)),
        lambda child: port.cancel(child.actor_id, "forced"),
        _NOT_STOPPED,
        seconds=STOP_SECONDS,
    )
    context.progress(title, _metadata(order, child))
    return child


def _check_schema(order: Order) -> None:
    if order.output_schema is None:
        return
    try:
        answer_format({"type": "json_schema", "schema": order.output_schema})
    except UsageError as error:
        words = error.message.replace("format.schema", "output_schema", 1)
        raise ToolError(words, hint=error.hint) from error


def _ordered(order: Order, *, background: bool) -> SpawnOrder:
    return SpawnOrder(
        agent=order.subagent_type,
        description=actor_words.line(order.description),
        prompt=order.prompt,
        model=_said(order.model),
        task_id=_said(order.task_id),
        context=order.context or "none",
        output_schema=order.output_schema,
        background=background,
    )


def _said(text: str | None) -> str | None:
    """`text`, if it says anything."""
    return (text or "").strip() or None


async def _result(order: Run, child: Spawned, context: ToolContext) -> ToolOutput:
    port, actor_id = context.actors, child.actor_id
    timeout = order.timeout_ms or DEFAULT_TIMEOUT_MS
    finished = await port.wait(actor_id, timeout, turn=child.turn)
    title, metadata = _title(order), _metadata(order, child)
    match finished.how:
        case "ended" | "finished before":
            output = _inline(finished, child, context)
            return ToolOutput(output, title, metadata, stored=finished.stored)
        case "timeout":
            limit = actor_words.since(timeout / 1000)
            words = f"{actor_id} has not ended within {limit}. {_GOES_ON}"
        case "steered":
            words = f"The user spoke to you while you waited for {actor_id}. {_GOES_ON}"
        case "asked":
            words = f"{actor_words.ASKED} {_GOES_ON}"
        case "cancelled":
            await port.cancel(actor_id, "graceful")
            raise ToolError(f"You were asked to stop, and {actor_id} was asked with you.")
    await port.detach(actor_id)
    output = "\n".join((f"{words} {NOTICE}", *child.notes, actor_words.snapshot(finished.view)))
    return ToolOutput(output, title, metadata)


def _inline(finished: Finished, child: Spawned, context: ToolContext) -> str:
    """The result. Raises `ToolError` if the turn did not succeed."""
    words = "\n".join((actor_words.result(finished.view), *child.notes))
    if actor_words.outcome_of(finished.view) in {None, "success"}:
        return words
    shown, _ = cap(words, context.spill_folder, context.call_id)
    raise ToolError(shown, stored=finished.stored)


def _title(order: Order) -> str:
    kind = actor_words.type_title(order.subagent_type)
    return f"{kind} Task — {actor_words.line(order.description)}"


def _metadata(order: Order, child: Spawned) -> dict[str, Any]:
    found = actor_words.about(
        child.session_id, child.actor_id, order.subagent_type, order.description
    )
    return {**found, "command": clean(order.command)} if order.command else found
