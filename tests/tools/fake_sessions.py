"""Other sessions as the tool sees them, without a runtime: what is asked is noted, answers set."""

from typing import Any

from fake_actors import a_view

from roost.core.errors import NotFoundError
from roost.tools.actor_port import Sent
from roost.tools.session_port import (
    Ended,
    Joined,
    Opened,
    Reply,
    SessionOrder,
    SessionView,
    TreeView,
)

ONE = "ses_one"


def a_session(session_id: str = ONE, **changes: Any) -> SessionView:
    """A session at work."""
    fields: dict[str, Any] = {
        "actor": a_view(session_id, session_id=session_id, mode="peer", agent="build"),
        "title": "The fix",
        "directory": "/project",
        "bucket": "progressing",
    }
    return SessionView(**{**fields, **changes})


class FakeSessions:
    """Directs nothing: see `roost.tools.session_port.SessionPort`."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.orders: list[SessionOrder] = []
        self.views = [a_session()]
        self.opened = Opened(session_id=ONE, new=True, title="The fix", directory="/project")
        self.sent = Sent("inb_1", busy=True)
        self.reply = Reply("It is <b>in</b> load.py.")
        self.joined = Joined("rest", (a_session(),))
        self.tree = ""
        self.folder_outside: str | None = None

    def outside(self, directory: str) -> str | None:
        self.calls.append(("outside", directory))
        return self.folder_outside

    async def create(self, order: SessionOrder) -> Opened:
        self.orders.append(order)
        return self.opened

    async def send(self, session_id: str, words: str) -> Sent:
        self.calls.append(("send", session_id, words))
        return self.sent

    async def ask(self, session_id: str, question: str) -> Reply:
        self.calls.append(("ask", session_id, question))
        return self.reply

    async def join(self, session_ids: list[str], timeout_ms: int) -> Joined:
        self.calls.append(("join", tuple(session_ids), timeout_ms))
        return self.joined

    async def status(self, session_id: str) -> SessionView:
        return self._view(session_id)

    async def listed(self, *, with_trees: bool) -> list[SessionView]:
        self.calls.append(("listed", with_trees))
        return self.views

    async def switch(self, session_id: str) -> None:
        self.calls.append(("switch", session_id))

    async def set_agent(self, session_id: str, agent: str) -> SessionView:
        self.calls.append(("set_agent", session_id, agent))
        return self._view(session_id)

    async def cancel(self, session_id: str) -> Ended:
        self.calls.append(("cancel", session_id))
        return Ended(self._view(session_id), self.tree)

    async def approve(self, request_id: str) -> str:
        self.calls.append(("approve", request_id))
        return ONE

    async def grant(self, session_id: str) -> int:
        self.calls.append(("grant", session_id))
        return 1

    def _view(self, session_id: str) -> SessionView:
        found = [one for one in self.views if one.actor.session_id == session_id]
        if not found:
            raise NotFoundError(f"there is no session {session_id} of yours")
        return found[0]


def a_tree(**changes: Any) -> TreeView:
    fields: dict[str, Any] = {"directory": "/trees/fix", "branch": "roost/fix", "base": "main"}
    return TreeView(**{**fields, **changes})
