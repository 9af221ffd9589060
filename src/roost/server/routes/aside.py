"""Questions aside: about a conversation, and not of it; and what of it a model is shown."""

from typing import Annotated, Final

from msgspec import Meta, Struct

from roost.inbox.models import Address
from roost.runtime.context_view import ContextView, context_of
from roost.runtime.readers import SECONDS
from roost.runtime.runtime import Runtime
from roost.runtime.side_answer import LENGTH, SideAnswer, ask_aside
from roost.server.endpoint import ActorQuery, Call, Endpoint, endpoint
from roost.server.problems import RefusalError
from roost.server.waiting import Waiting

LONGEST: Final = 3_600.0


class AskBody(Struct, frozen=True):
    """What somebody wants to know."""

    question: Annotated[str, Meta(min_length=1, max_length=LENGTH)]
    seconds: Annotated[float, Meta(gt=0, le=LONGEST)] = SECONDS
    """How long the answer may take."""


class AskAnswer(Waiting[SideAnswer]):
    """The answer, and what it took."""

    answer = SideAnswer


async def ask(call: Call[ActorQuery, AskBody]) -> AskAnswer:
    """Ask something about what was said and done in a session, which hears nothing of it.

    Works while the session does. Who goes away before the answer stops it.
    """
    meant = await call.slice()
    runtime, body = call.service.runtime, call.body
    actor = await runtime.named(meant.session.id, meant.actor_id or call.query.agent_id)

    async def work() -> SideAnswer:
        return await answered(runtime, actor.address, body.question, body.seconds)

    return AskAnswer(call.service, work)


async def answered(
    runtime: Runtime, asked: Address, question: str, seconds: float = SECONDS
) -> SideAnswer:
    """The answer. Raises `RefusalError` where there is none, else as `ask_aside` does."""
    told = await ask_aside(runtime, asked, question, seconds)
    if told.fault:
        raise RefusalError(502, told.answer)
    return told


async def get_context(call: Call[ActorQuery, None]) -> ContextView:
    """What fills the window of the model of a session, or of one of its actors."""
    meant = await call.slice()
    actor_id = meant.actor_id or call.query.agent_id
    return await context_of(call.service.runtime, meant.session.id, actor_id)


ROUTES: Final[tuple[Endpoint, ...]] = (
    endpoint("POST", "/session/{sessionID}/ask", ask),
    endpoint("GET", "/session/{sessionID}/context", get_context),
)
