"""What a person does with a whole session: copy its beginning, let it write its instructions, run a
command by hand.
"""

from typing import Annotated, Final

from msgspec import Meta, Struct

from roost.core.text import clean
from roost.core.wire_names import wire_name
from roost.runtime import built_in
from roost.runtime.commands import CommandCall, command_prompt
from roost.runtime.forking import fork
from roost.runtime.models import PromptInput, TextInput
from roost.runtime.shortening import shorten
from roost.server.endpoint import ActorQuery, Call, Endpoint, NoQuery, endpoint
from roost.server.faces import shown_message
from roost.server.prompting import accept, answer_to, check_ids
from roost.server.waiting import Waiting
from roost.server.wire import MessageView
from roost.sessions.models import AssistantInfo, ModelName, Session
from roost.turn.by_hand import WORDS

_TURN: Final = 1_000
"""Messages of a turn among which the one with the command is looked for."""
Identifier = Annotated[str, Meta(min_length=1, max_length=200)]


class ForkBody(Struct, frozen=True, rename=wire_name):
    """Up to which message, itself left out; none: all that was said."""

    message_id: Identifier | None = None


class InitBody(Struct, frozen=True, rename=wire_name):
    """With which model, and under which id the prompt is stored."""

    provider_id: str
    model_id: str
    message_id: Identifier


class ShellBody(Struct, frozen=True, rename=wire_name):
    """A command line of the person, and who reads what it prints."""

    command: Annotated[str, Meta(min_length=1, max_length=100_000)]
    agent: str | None = None
    model: ModelName | None = None
    message_id: Identifier | None = None


class ShellAnswer(Waiting[MessageView]):
    """The message that holds the command and what it printed."""

    answer = MessageView


class Done(Waiting[bool]):
    """True, when it is done."""

    answer = bool


async def fork_session(call: Call[NoQuery, ForkBody | None]) -> Session:
    """A new session that begins as another one did."""
    session = await call.session()
    message_id = call.body.message_id if call.body else None
    return await fork(call.service.runtime, session.id, message_id)


async def init_session(call: Call[NoQuery, InitBody]) -> Done:
    """Let a session write AGENTS.md, with the command `init`, and wait until it has."""
    session = await call.session()
    runtime, body = call.service.runtime, call.body
    asked = CommandCall(
        name=built_in.INIT,
        message_id=body.message_id,
        model=ModelName(body.provider_id, body.model_id),
    )
    given = await command_prompt(runtime, session.id, asked)
    accepted = await accept(runtime, session.id, None, given, idle_only=False)

    async def work() -> bool:
        await answer_to(runtime, session.id, accepted.message_id)
        return True

    return Done(call.service, work)


class SummarizeBody(Struct, frozen=True, rename=wire_name):
    """With which model."""

    provider_id: str
    model_id: str
    auto: bool = False


async def summarize_session(call: Call[ActorQuery, SummarizeBody | None]) -> Done:
    """Shorten the conversation for the model, and wait until it is; nothing of it is deleted."""
    meant = await call.slice()
    runtime, body = call.service.runtime, call.body
    actor = await runtime.named(meant.session.id, meant.actor_id or call.query.agent_id)
    model = ModelName(body.provider_id, body.model_id) if body else None

    async def work() -> bool:
        done = await shorten(runtime, actor.session_id, actor_id=actor.actor_id, model=model)
        return done.done

    return Done(call.service, work)


async def run_shell(call: Call[NoQuery, ShellBody]) -> ShellAnswer:
    """Run a command line of the person; the model reads what it printed when it is next prompted.

    409 while the session is busy.
    """
    session = await call.session()
    runtime, body, view = call.service.runtime, call.body, call.view
    given = PromptInput(
        parts=(TextInput(text=WORDS, synthetic=True),),
        message_id=body.message_id,
        model=body.model,
        agent=body.agent,
    )
    check_ids(given)
    accepted = await runtime.prompt(session.id, given, command=clean(body.command))

    async def work() -> MessageView:
        last = await answer_to(runtime, session.id, accepted.message_id)
        # The turn may have gone on to what was said meanwhile.
        said = await runtime.transcripts.answer(session.id, accepted.message_id, limit=_TURN)
        own = [message for message in said if isinstance(message.info, AssistantInfo)]
        return shown_message(own[0] if own else last, view)

    return ShellAnswer(call.service, work)


ROUTES: Final[tuple[Endpoint, ...]] = (
    endpoint("POST", "/session/{sessionID}/fork", fork_session),
    endpoint("POST", "/session/{sessionID}/init", init_session),
    endpoint("POST", "/session/{sessionID}/shell", run_shell),
    endpoint("POST", "/session/{sessionID}/summarize", summarize_session),
)
