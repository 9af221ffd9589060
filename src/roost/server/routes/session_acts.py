"""What can be done with a whole session: copy its beginning, let it write its instructions."""

from typing import Annotated, Final

from msgspec import Meta, Struct

from roost.core.wire_names import wire_name
from roost.runtime.forking import fork
from roost.runtime.models import PromptInput
from roost.server import built_in
from roost.server.commands import CommandBody, command_prompt
from roost.server.endpoint import Call, Endpoint, NoQuery, endpoint
from roost.server.prompting import accept, answer_to
from roost.server.waiting import Waiting
from roost.sessions.models import ModelName, Session

Identifier = Annotated[str, Meta(min_length=1, max_length=200)]


class ForkBody(Struct, frozen=True, rename=wire_name):
    """Up to which message, itself left out; none: all that was said."""

    message_id: Identifier | None = None


class InitBody(Struct, frozen=True, rename=wire_name):
    """With which model, and under which id the prompt is stored."""

    provider_id: str
    model_id: str
    message_id: Identifier


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
    project = await runtime.project_of(session.id)
    command = built_in.commands(project)[built_in.INIT]
    asked = CommandBody(command=built_in.INIT, model=ModelName(body.provider_id, body.model_id).ref)
    given: PromptInput = command_prompt(command, asked, body.message_id, project.directory)
    accepted = await accept(runtime, session.id, None, given, idle_only=False)

    async def work() -> bool:
        await answer_to(runtime, session.id, accepted.message_id)
        return True

    return Done(call.service, work)


ROUTES: Final[tuple[Endpoint, ...]] = (
    endpoint("POST", "/session/{sessionID}/fork", fork_session),
    endpoint("POST", "/session/{sessionID}/init", init_session),
)
