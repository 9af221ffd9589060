"""The plan of a session, as one call of a tool meets it."""

from collections.abc import Awaitable, Callable
from typing import Final

import msgspec

from roost.actors.send import send
from roost.context.agents import Agent, choose_agent
from roost.core.clock import now_ms
from roost.core.ids import new_id
from roost.db.transaction import Transaction
from roost.inbox.models import Letter, PromptBody
from roost.runtime.project import Project
from roost.sessions.models import ModelName, Session
from roost.sessions.parts import TextPart
from roost.sessions.plan_file import plan_file
from roost.tools.actor_port import Stored
from roost.turn.world import Caller

_WORDS: Final = "The user agrees with the plan in {}. Read it again and carry it out."


class PlanPort:
    """See `roost.tools.plan_port.PlanPort`."""

    def __init__(
        self,
        caller: Caller,
        session: Session,
        project: Project,
        choose: Callable[[Agent], Awaitable[ModelName]],
    ) -> None:
        """`choose` gives the model on which an agent goes on with the session."""
        self._caller = caller
        self._session = session
        self._project = project
        self._choose = choose

    @property
    def file(self) -> str:
        return plan_file(self._session)

    @property
    def successor(self) -> str:
        return choose_agent(self._project.agents, None).name

    def refusal(self) -> str:
        if not self._caller.agent.plans:
            return "You are not in plan mode: go on with the work."
        if not self._caller.claim.actor.fronts:
            return "Only the session's own actor leaves plan mode. Report to who started you."
        return ""

    async def agreed(self) -> Stored:
        """The person's consent becomes a prompt of theirs to the agent that does the work."""
        agent = choose_agent(self._project.agents, None)
        model = await self._choose(agent)
        claim, words = self._caller.claim, _WORDS.format(self.file)

        def stored(tx: Transaction, _: str) -> None:
            message_id = new_id("message")
            where = claim.address
            part = TextPart(new_id("part"), where.session_id, message_id, words, synthetic=True)
            body = PromptBody(
                message_id=message_id,
                agent=agent.name,
                model=msgspec.structs.replace(model, variant=model.variant or agent.variant),
                parts=(part,),
                created=now_ms(),
            )
            send(tx, Letter(receiver=where, kind="prompt", body=body))

        return stored
