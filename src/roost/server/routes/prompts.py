"""Prompts: waited for, left in the queue, made from a command."""

from typing import Any, Final, Literal

import msgspec

from roost.actors.models import Actor
from roost.core.clock import now_ms
from roost.core.ids import new_id
from roost.events.types import Event
from roost.runtime import goal_command, goals, shortening, side_command
from roost.runtime.commands import command_prompt, model_name
from roost.runtime.goal_command import ClearGoal, ResumeGoal, SetGoal, ShowGoal
from roost.runtime.models import PromptInput, TextInput
from roost.runtime.runtime import Runtime
from roost.server.commands import CommandBody, command_call
from roost.server.endpoint import ActorQuery, Call, Endpoint, endpoint
from roost.server.faces import meant_tools, shown_message
from roost.server.prompting import abandon, accept, answer_to, check_ids, is_known, leave
from roost.server.routes.aside import answered
from roost.server.slices import Slice
from roost.server.waiting import Waiting
from roost.server.wire import MessageView, message_view
from roost.sessions.models import Message, MessageTime, ModelName, Session, UserInfo
from roost.sessions.parts import TextPart


class PromptQuery(ActorQuery, frozen=True):
    """How a prompt is waited for."""

    on_disconnect: Literal["detach", "cancel"] = "detach"
    """What happens to the turn when the client goes away before its end."""
    busy: Literal["queue", "refuse"] = "queue"
    """What happens to a prompt for an actor that is at work."""


class PromptAnswer(Waiting[MessageView]):
    """The last message of the turn."""

    answer = MessageView


async def prompt(call: Call[PromptQuery, PromptInput]) -> PromptAnswer:
    """Prompt an actor and wait for its answer.

    While it takes, a blank comes every ten seconds. A busy actor hears it at its next step, or
    refuses it with 409 if that is wished; the same `messageID` again waits for the same answer.
    """
    return await _waited_for(call, await call.slice(), _meant(call))


def _meant(call: Call[Any, PromptInput]) -> PromptInput:
    """What a client says, with the tools that it means."""
    return msgspec.structs.replace(call.body, tools=meant_tools(call.body.tools, call.view))


async def _waited_for(
    call: Call[PromptQuery, Any], meant: Slice, given: PromptInput, news: tuple[Event, ...] = ()
) -> PromptAnswer:
    runtime = call.service.runtime
    session_id, actor_id = meant.session.id, meant.actor_id or call.query.agent_id
    refuses = call.query.busy == "refuse"
    accepted = await accept(runtime, session_id, actor_id, given, news, idle_only=refuses)
    return _answer(call, meant, accepted.message_id, no_reply=given.no_reply)


def _answer(
    call: Call[PromptQuery, Any], meant: Slice, message_id: str, *, no_reply: bool = False
) -> PromptAnswer:
    """The answer to a prompt that is stored."""
    runtime, view = call.service.runtime, call.view
    session_id, actor_id = meant.session.id, meant.actor_id or call.query.agent_id

    async def work() -> MessageView:
        if no_reply:
            said = await runtime.transcripts.message(session_id, message_id)
        else:
            said = await answer_to(runtime, session_id, message_id)
        return shown_message(said, view)

    async def left() -> None:
        if call.query.on_disconnect == "cancel":
            await abandon(runtime, session_id, actor_id, message_id)

    return PromptAnswer(call.service, work, left)


async def prompt_async(call: Call[ActorQuery, PromptInput]) -> None:
    """Leave a prompt with an actor, busy or not. Once this answers it is stored.

    A busy actor hears it at its next step. Sources that send too many get 429 and `Retry-After`.
    """
    meant = await call.slice()
    check_ids(call.body)
    call.count_prompt()
    actor_id = meant.actor_id or call.query.agent_id
    await leave(call.service.runtime, meant.session.id, actor_id, _meant(call))


async def run_command(call: Call[PromptQuery, CommandBody]) -> PromptAnswer:
    """Fill a command's template, prompt with it, and wait for the answer.

    `goal` is built in: it gives the session a goal, which is the prompt, too. So is `btw`: what it
    asks is answered aside, by a message that is stored nowhere.
    """
    meant = await call.slice()
    session, body = meant.session, call.body
    if body.command == goal_command.NAME:
        return await _goal(call, meant, body)
    if body.command == side_command.NAME:
        return await _aside(call, meant, body)
    if body.command == shortening.NAME:
        return await _shortened(call, meant, body)
    message_id = body.message_id or new_id("message")
    made = command_call(body, message_id)
    check_ids(PromptInput(parts=made.parts, message_id=message_id))
    runtime = call.service.runtime
    if await is_known(runtime, session.id, message_id):  # it is not carried out again
        return _answer(call, meant, message_id)
    given = await command_prompt(runtime, session.id, made, meant.actor_id)
    event = _executed(session, body, message_id)
    return await _waited_for(call, meant, given, (event,))


async def _goal(
    call: Call[PromptQuery, CommandBody], meant: Slice, body: CommandBody
) -> PromptAnswer:
    """`/goal`: with a condition or to go on it is a prompt; what is not is answered at once, by a
    message that is stored nowhere.
    """
    runtime, session = call.service.runtime, meant.session
    message_id = body.message_id or new_id("message")
    event = _executed(session, body, message_id)
    match goal_command.read_arguments(body.arguments):
        case ClearGoal():
            return PromptAnswer(call.service, lambda: _cleared(runtime, event, message_id))
        case ShowGoal():
            return PromptAnswer(call.service, lambda: _shown(runtime, event, message_id))
        case SetGoal(condition=condition) if await _is_refused(call, meant):
            return PromptAnswer(call.service, lambda: _set(runtime, event, message_id, condition))
        case SetGoal(condition=condition):
            given = PromptInput(parts=(TextInput(condition), *body.parts), goal=condition)
        case ResumeGoal():
            given = await goals.resuming(runtime, session.id)
    given = msgspec.structs.replace(
        given,
        message_id=message_id,
        agent=body.agent,
        model=model_name(body.model),
        variant=body.variant,
    )
    return await _waited_for(call, meant, given, (event,))


async def _aside(
    call: Call[PromptQuery, CommandBody], meant: Slice, body: CommandBody
) -> PromptAnswer:
    """`/btw`: the answer is for this client's eyes."""
    runtime = call.service.runtime
    actor = await runtime.named(meant.session.id, meant.actor_id or call.query.agent_id)
    message_id = body.message_id or new_id("message")

    async def work() -> MessageView:
        told = await answered(runtime, actor.address, body.arguments)
        return _unstored(actor, message_id, told.answer)

    return PromptAnswer(call.service, work)


async def _shortened(
    call: Call[PromptQuery, CommandBody], meant: Slice, body: CommandBody
) -> PromptAnswer:
    """`/compact`: what it came to is for this client's eyes."""
    runtime = call.service.runtime
    actor = await runtime.named(meant.session.id, meant.actor_id or call.query.agent_id)

    async def work() -> MessageView:
        done = await shortening.shorten(runtime, actor.session_id, actor_id=actor.actor_id)
        return _unstored(actor, body.message_id or new_id("message"), shortening.in_words(done))

    return PromptAnswer(call.service, work)


def _executed(session: Session, body: CommandBody, message_id: str) -> Event:
    properties = {
        "name": body.command,
        "sessionID": session.id,
        "arguments": body.arguments,
        "messageID": message_id,
    }
    return Event("command.executed", properties, session_id=session.id)


async def _is_refused(call: Call[PromptQuery, CommandBody], meant: Slice) -> bool:
    """Whether the session is at work, and no prompt is to wait in it."""
    if call.query.busy != "refuse" or meant.actor_id is not None:
        return False
    return (await call.service.runtime.named(meant.session.id)).status != "idle"


async def _set(runtime: Runtime, executed: Event, message_id: str, condition: str) -> MessageView:
    """Give a session at work a goal, and say nothing to it: the turn at work is judged by it."""
    session_id = executed.properties["sessionID"]
    goal = await goals.set_goal(runtime, session_id, condition, (executed,))
    words = f"The turn at work will be judged by the goal: {goal.condition}"
    return _unstored(await runtime.named(session_id), message_id, words)


async def _shown(runtime: Runtime, executed: Event, message_id: str) -> MessageView:
    """The goal, for this client's eyes."""
    session_id = executed.properties["sessionID"]
    view = await goals.view_goal(runtime, session_id)
    words = goal_command.how_it_stands(view.goal)
    return _unstored(await runtime.named(session_id), message_id, words)


async def _cleared(runtime: Runtime, executed: Event, message_id: str) -> MessageView:
    """Clear the goal. What it answers is for this client's eyes, and stored nowhere."""
    session_id = executed.properties["sessionID"]
    goal = await goals.clear_goal(runtime, session_id, (executed,))
    words = f"The goal is cleared: {goal.condition}" if goal else "There is no goal to clear."
    return _unstored(await runtime.named(session_id), message_id, words)


def _unstored(actor: Actor, message_id: str, words: str) -> MessageView:
    """A message that nobody else sees, and no model."""
    session_id = actor.session_id
    info = UserInfo(
        id=message_id,
        session_id=session_id,
        time=MessageTime(created=now_ms()),
        agent=actor.agent,
        model=ModelName.of(actor.model or "", actor.variant),
    )
    part = TextPart(new_id("part"), session_id, message_id, words, synthetic=True, ignored=True)
    return message_view(Message(info, (part,)))


ROUTES: Final[tuple[Endpoint, ...]] = (
    endpoint("POST", "/session/{sessionID}/message", prompt),
    endpoint("POST", "/session/{sessionID}/prompt_async", prompt_async),
    endpoint("POST", "/session/{sessionID}/command", run_command),
)
