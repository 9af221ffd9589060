"""The tool `session`: other sessions that one directs. Only agents that list it are shown it."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, ClassVar, Final, TypeAlias, assert_never, cast

from msgspec import Struct

from roost.context.agents import DEFAULT_AGENT
from roost.core.text import clean, cut
from roost.inbox.render import as_data
from roost.permissions.models import PermissionRequest, Traits
from roost.tools import session_words as words
from roost.tools.actor_words import fate, line, who
from roost.tools.contract import ToolContext, ToolError, ToolOutput
from roost.tools.operation_tool import OperationTool
from roost.tools.session_operations import (
    JOIN_MS,
    Approve,
    Ask,
    CancelSession,
    Create,
    Dashboard,
    GrantApproval,
    Join,
    ListSessions,
    SendTo,
    SessionInvocation,
    SetMode,
    StatusOfSession,
    Switch,
)
from roost.tools.session_port import SessionOrder, SessionView
from roost.tools.session_reading import read_operation

NAME: Final = "session"
_KEPT: Final = 16
_TASK_SHOWN: Final = 2_000


Operation: TypeAlias = (
    Create
    | SendTo
    | Ask
    | Join
    | Switch
    | SetMode
    | CancelSession
    | Approve
    | GrantApproval
    | StatusOfSession
    | ListSessions
    | Dashboard
)


class SessionTool(OperationTool[Operation]):
    """Begins sessions, gives them work, waits for them, answers what they ask, stops them."""

    name: ClassVar[str] = NAME
    parameters: ClassVar[type[Struct]] = SessionInvocation
    permission: ClassVar[str] = NAME
    words: ClassVar[str] = "session.md"
    agent_field: ClassVar[str] = "agent"

    def parse(self, value: dict[str, Any]) -> Operation:
        """The action in `value`. Raises `msgspec.ValidationError` that names the field."""
        return cast("Operation", read_operation(value, self._agents))

    async def run(self, arguments: Operation, context: ToolContext) -> ToolOutput:
        """Do it; see the functions of each action."""
        match arguments:
            case Create():
                return await _create(arguments, context)
            case SendTo():
                return await _send(arguments, context)
            case Ask():
                return await _ask(arguments, context)
            case Join():
                return await _join(arguments, context)
            case Switch() | SetMode() | CancelSession():
                return await _change(arguments, context)
            case Approve() | GrantApproval():
                return await _agree(arguments, context)
            case StatusOfSession() | ListSessions() | Dashboard():
                return await _look(arguments, context)
            case _:
                assert_never(arguments)


@lru_cache(maxsize=_KEPT)
def _made(agents: tuple[tuple[str, str], ...]) -> SessionTool:
    return SessionTool(dict(agents))


def session_tool(agents: Mapping[str, str]) -> SessionTool:
    """The tool for sessions that work as one of `agents`; the same one for equal agents."""
    return _made(tuple(agents.items()))


async def _create(order: Create, context: ToolContext) -> ToolOutput:
    """Begin a session, once that is allowed; a folder outside of the project is asked for."""
    title = line(order.title or order.topic or order.task, 80)
    shown = {"task": cut(clean(order.task), _TASK_SHOWN), "agent": order.agent or ""}
    agent = order.agent or DEFAULT_AGENT
    await context.ask(
        PermissionRequest(NAME, (agent,), always=(agent,), metadata=shown, title=title)
    )
    outside = context.sessions.outside(order.dir) if order.dir else None
    if outside is not None:
        await context.ask(
            PermissionRequest(
                NAME,
                (outside,),
                always=(outside,),
                metadata={**shown, "directory": outside},
                title=f"Begin a session in {outside}",
                traits=(Traits(outside=True),),
            )
        )
    made = await context.sessions.create(
        SessionOrder(
            task=order.task,
            agent=order.agent,
            model=(order.model or "").strip() or None,
            title=line(order.title or "", 80),
            directory=order.dir,
            isolate=order.isolate or False,
            topic=order.topic or "",
        )
    )
    if made.sent is not None and made.sent.inbox_id is None:
        raise ToolError(f"The task did not reach {made.session_id}: {made.sent.error}")
    views = await context.sessions.listed(with_trees=False)
    output = [words.opened(made), words.ledger(views, made.session_id, order.task)]
    metadata = {"sessionID": made.session_id, "sessionId": made.session_id, "new": made.new}
    return ToolOutput("\n\n".join(output), f"Session {title}", metadata)


async def _send(asked: SendTo, context: ToolContext) -> ToolOutput:
    session_id = asked.session_id.strip()
    sent = await context.sessions.send(session_id, asked.task)
    title = f"Message to {session_id}"
    metadata = {"sessionID": session_id, "inboxID": sent.inbox_id}
    if sent.inbox_id is None:
        return ToolOutput(f"error: {sent.error}", title, {**metadata, "error": sent.error})
    state = fate(sent)
    views = await context.sessions.listed(with_trees=False)
    ledger = words.ledger(views, session_id, asked.task)
    return ToolOutput(f"{state} A notice comes when its turn ends.\n\n{ledger}", title, metadata)


async def _ask(asked: Ask, context: ToolContext) -> ToolOutput:
    session_id = asked.session_id.strip()
    title = f"Ask {session_id}: {line(asked.question, 60)}"
    context.progress(title, {"sessionID": session_id})
    reply = await context.sessions.ask(session_id, asked.question)
    metadata = {"sessionID": session_id, "fault": reply.fault}
    output = reply.text if reply.fault else f"<answer>\n{as_data(clean(reply.text))}\n</answer>"
    return ToolOutput(output, title, metadata, stored=reply.stored)


async def _join(asked: Join, context: ToolContext) -> ToolOutput:
    ids = list(dict.fromkeys(one.strip() for one in asked.session_ids if one.strip()))
    title = f"Wait for {len(ids)} session{'' if len(ids) == 1 else 's'}"
    context.progress(title, {"sessionIDs": ids})
    found = await context.sessions.join(ids, asked.timeout_ms or JOIN_MS)
    metadata = {"sessionIDs": ids, "how": found.how, "unknown": list(found.unknown)}
    return ToolOutput(words.joined(found), title, metadata, stored=found.stored)


async def _look(
    asked: StatusOfSession | ListSessions | Dashboard, context: ToolContext
) -> ToolOutput:
    if isinstance(asked, StatusOfSession):
        view = await context.sessions.status(asked.session_id.strip())
        return ToolOutput(words.snapshot(view), _title(view), who(view.actor))
    with_trees = isinstance(asked, Dashboard)
    views = await context.sessions.listed(with_trees=with_trees)
    output = words.dashboard(views) if with_trees else words.listing(views)
    count = len(views)
    return ToolOutput(output, f"{count} session{'' if count == 1 else 's'}", {"count": count})


async def _change(asked: Switch | SetMode | CancelSession, context: ToolContext) -> ToolOutput:
    session_id = asked.session_id.strip()
    match asked:
        case Switch():
            await context.sessions.switch(session_id)
            said = f"Whoever looks at this session now is shown {session_id}."
            return ToolOutput(said, f"Switch to {session_id}", {"sessionID": session_id})
        case SetMode(agent=agent):
            view = await context.sessions.set_agent(session_id, agent)
            said = f"{session_id} works as {agent} from its next turn on."
            return ToolOutput(said, _title(view), who(view.actor))
        case CancelSession():
            ended = await context.sessions.cancel(session_id)
            return ToolOutput(
                words.ended(ended), f"Stop {_title(ended.session)}", who(ended.session.actor)
            )


async def _agree(asked: Approve | GrantApproval, context: ToolContext) -> ToolOutput:
    if isinstance(asked, Approve):
        request = asked.request_id.strip()
        session_id = await context.sessions.approve(request)
        metadata = {"sessionID": session_id, "requestID": request}
        return ToolOutput(
            f"You agreed to {request}, once. It goes on.", f"Agree to {request}", metadata
        )
    session_id = asked.session_id.strip()
    answered = await context.sessions.grant(session_id)
    whose = "every session of yours asks" if session_id == "*" else f"{session_id} asks"
    said = f"What {whose} from now on is agreed to, but for what needs a person."
    if answered:
        said += (
            f" {answered} request{'' if answered == 1 else 's'} that waited went through with it."
        )
    return ToolOutput(said, f"Agree to what {whose}", {"sessionID": session_id})


def _title(view: SessionView) -> str:
    return f"{view.actor.session_id} — {line(view.title, 60)}"
