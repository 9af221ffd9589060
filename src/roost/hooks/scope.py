"""The hooks around one turn: `session.pre` before it, `session.post` exactly once after it."""

import asyncio
from types import TracebackType
from typing import Literal

import msgspec

from roost.hooks.models import HookReport, SessionPost, SessionPre
from roost.hooks.runner import Hooks


class SessionScope:
    """Use as an async context manager around a turn.

    `before` is what the hooks said at the start; if it has a `refusal` the turn must not begin.
    `ended` notes how the turn ended; without that the end is told by what leaves the block: nothing
    is `completed`, CancelledError `cancelled`, any other exception `error`. After the block `after`
    is what the hooks said then. No exception is swallowed.
    """

    def __init__(self, hooks: Hooks, starting: SessionPre) -> None:
        self._hooks = hooks
        self._starting = starting
        self._ending = SessionPost(
            session_id=starting.session_id,
            actor_id=starting.actor_id,
            agent=starting.agent,
            mode=starting.mode,
            task_id=starting.task_id,
            outcome="completed",
        )
        self._noted = False
        self.before = HookReport(on="session.pre")
        self.after = HookReport(on="session.post")

    def ended(
        self,
        outcome: Literal["completed", "error", "cancelled"],
        *,
        error: str | None = None,
        final_text: str = "",
        message_id: str | None = None,
    ) -> None:
        """Note how the turn ended; the last word counts."""
        self._noted = True
        self._ending = msgspec.structs.replace(
            self._ending,
            outcome=outcome,
            error=error,
            final_text=final_text,
            message_id=message_id,
        )

    async def __aenter__(self) -> "SessionScope":
        try:
            self.before = await self._hooks.session_pre(self._starting)
        except BaseException as error:
            await self._tell(error)
            raise
        if self.before.refusal:
            self.ended("cancelled", error=self.before.refusal)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        await self._tell(error)

    async def _tell(self, error: BaseException | None) -> None:
        if not self._noted and isinstance(error, asyncio.CancelledError):
            self.ended("cancelled")
        elif not self._noted and error is not None:
            self.ended("error", error=str(error) or type(error).__name__)
        self.after = await self._hooks.session_post(self._ending)
