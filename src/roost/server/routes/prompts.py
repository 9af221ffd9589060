"""Prompts: waited for, left in the queue, made from a command."""

from typing import Any, Final, Literal

from roost.core.errors import UsageError
from roost.core.ids import new_id
from roost.events.types import Event
from roost.runtime.models import PromptInput
from roost.server.commands import CommandBody, command_prompt
from roost.server.endpoint import ActorQuery, Call, Endpoint, endpoint
from roost.server.prompting import abandon, accept, answer_to, check_ids, leave, queued_message
from roost.server.waiting import Waiting
from roost.server.wire import MessageView
from roost.sessions.models import Session


class PromptQuery(ActorQuery, frozen=True):
    """What happens to the turn when the client goes away before its end."""

    on_disconnect: Literal["detach", "cancel"] = "detach"


class PromptAnswer(Waiting[MessageView]):
    """The last message of the turn."""

    answer = MessageView


async def prompt(call: Call[PromptQuery, PromptInput]) -> PromptAnswer:
    """Prompt an idle actor and wait for its answer.

    While it takes, a blank comes every ten seconds. A busy actor refuses with 409; the same
    `messageID` again waits for the same answer.
    """
    session = await call.session()
    return await _waited_for(call, session, call.body)


async def _waited_for(
    call: Call[PromptQuery, Any], session: Session, given: PromptInput, news: tuple[Event, ...] = ()
) -> PromptAnswer:
    runtime = call.service.runtime
    actor_id = call.query.agent_id
    accepted = await accept(runtime, session.id, actor_id, given, news)
    message_id = accepted.message_id

    async def work() -> MessageView:
        if given.no_reply:
            return await queued_message(runtime, session.id, message_id)
        return await answer_to(runtime, session.id, message_id)

    async def left() -> None:
        if call.query.on_disconnect == "cancel":
            await abandon(runtime, session.id, actor_id, message_id)

    return PromptAnswer(call.service, work, left)


async def prompt_async(call: Call[ActorQuery, PromptInput]) -> None:
    """Leave a prompt with an actor, busy or not. Once this answers it is stored.

    A busy actor hears it at its next step. Sources that send too many get 429 and `Retry-After`.
    """
    session = await call.session()
    check_ids(call.body)
    call.count_prompt()
    await leave(call.service.runtime, session.id, call.query.agent_id, call.body)


async def run_command(call: Call[PromptQuery, CommandBody]) -> PromptAnswer:
    """Fill a command's template, prompt with it, and wait for the answer."""
    session = await call.session()
    body = call.body
    project = await call.service.runtime.project_of(session.id)
    known = project.loaded.config.command
    if (command := known.get(body.command)) is None:
        names = ", ".join(sorted(known))
        hint = f"There are: {names}." if known else "None are configured."
        raise UsageError(f"there is no command {body.command!r}", hint=hint)
    message_id = body.message_id or new_id("message")
    given = command_prompt(command, body, message_id, project.directory)
    properties = {
        "name": body.command,
        "sessionID": session.id,
        "arguments": body.arguments,
        "messageID": message_id,
    }
    event = Event("command.executed", properties, session_id=session.id)
    return await _waited_for(call, session, given, (event,))


ROUTES: Final[tuple[Endpoint, ...]] = (
    endpoint("POST", "/session/{sessionID}/message", prompt),
    endpoint("POST", "/session/{sessionID}/prompt_async", prompt_async),
    endpoint("POST", "/session/{sessionID}/command", run_command),
)
