"""What a running turn keeps in memory: its slice, what it has used, the step in the works."""

import time

from roost.actors.models import Budgets, Claim
from roost.context.view import View
from roost.llm.providers.cache import EncodingCache
from roost.sessions.models import Message
from roost.turn.recorder import Recorder


class Memory:
    """One turn. Only `intake` and `apply` change it."""

    def __init__(self, claim: Claim, messages: list[Message]) -> None:
        self.claim = claim
        self.messages = messages
        """The slice, oldest first; extended, never loaded again."""
        self.budgets: Budgets = claim.turn.budgets
        self.steps = claim.turn.steps
        self.tokens = claim.turn.tokens
        self.cost = claim.turn.cost
        self.view = View()
        self.encoded = EncodingCache()
        self.recorder: Recorder | None = None
        """The step that is being written."""
        self.ran: list[str] = []
        """Ids of the tool parts that were run; what they left behind ends with the turn."""
        self.without_media = False
        """The provider refused an image of this slice; none is sent any more."""
        self.without_reasoning = False
        """The provider refused a reasoning block of this slice; none is sent any more."""
        self._began = time.monotonic()

    @property
    def elapsed(self) -> float:
        """Seconds since the turn began in this process."""
        return time.monotonic() - self._began
