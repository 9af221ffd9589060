"""What a running turn keeps in memory: its slice, what it has used, the step in the works."""

import time
from collections.abc import Iterable, Sequence

from msgspec import Struct

from roost.actors.models import Budgets, Claim, Progress
from roost.actors.traces import Decided
from roost.context.checkpoint_store import Checkpoint
from roost.context.prefix import Prefix, Wanted
from roost.context.view import View
from roost.inbox.models import Address
from roost.llm.providers.cache import EncodingCache
from roost.sessions.effective import Slice, effective, mark_of
from roost.sessions.models import Message, UserInfo
from roost.sessions.unreadable import is_stand_in
from roost.turn.asked import binds
from roost.turn.continuity import Continuity
from roost.turn.recorder import Recorder
from roost.turn.remarks import Remarks


class Fork(Struct, frozen=True):
    """How the parent's requests began, which those of a fork continue byte for byte."""

    session_id: str
    agent: str
    """Whose system prompt and tools they had."""
    prompt: UserInfo | None
    """The prompt that held for them."""
    cache_key: str

    @classmethod
    def of(cls, parent: Address, seen: Sequence[Message], prompt: UserInfo | None) -> "Fork":
        """The fork of a conversation of `parent` that ends with `seen`, which was asked things.

        `prompt` held for it if none of these did.
        """
        said = [
            (one.info, binds(one))
            for one in seen
            if isinstance(one.info, UserInfo) and not is_stand_in(one.info)
        ]
        prompts = [info for info, binding in said if binding]
        prompt = prompts[-1] if prompts else prompt
        return cls(parent.session_id, said[-1][0].agent, prompt, cache_key(parent))


def cache_key(address: Address) -> str:
    """What tells a provider which requests share a prefix."""
    return f"{address.session_id}/{address.actor_id}"


class Known(Struct, frozen=True):
    """What was read of the newest checkpoint, and when (seconds of the monotonic clock)."""

    newest: Checkpoint | None
    read: float


class Memory:
    """One turn.

    Slice and sums are changed by `intake` and `apply` alone, once their transaction is committed;
    what concerns the step in the works, and what a provider refuses, by `sampler` and `toolcalls`.
    A step that is cut in its middle is added up by `sampler`, what a judge used by `judging`.
    """

    def __init__(
        self,
        claim: Claim,
        known: Slice,
        fork: Fork | None = None,
        *,
        prompt: UserInfo | None = None,
    ) -> None:
        """`prompt` is the newest one before what is `known`, if that has none."""
        self.claim = claim
        self.fork = fork
        self.messages = list(known.messages)
        """The effective slice, oldest first; extended, never loaded again."""
        self.settled = known.settled
        """How many of them are the mark of the last shortening and its tail."""
        self.user = prompt
        """The newest message that was said to the actor."""
        self.prompt = prompt
        """The newest of them that was a prompt, of a person or as the actor's brief, and asked for
        more than a shorter conversation."""
        turn = claim.turn
        self.progress = Progress(turn.budgets, turn.steps, turn.tokens, turn.cost)
        """What the turn has used."""
        self.hops = claim.turn.hops
        self.view = View()
        self.encoded = EncodingCache()
        self.prefix: tuple[Wanted, Prefix] | None = None
        """How its requests begin, and for whom that holds."""
        self.checkpoint: Known | None = None
        """None: not looked at yet."""
        self.overhead = 0
        """Tokens of that beginning, by an estimate; 0 before the first request."""
        self.continuity = Continuity()
        self.recorder: Recorder | None = None
        """The step that is being written."""
        self.ran: list[str] = []
        """Ids of the tool parts that were run; what they left behind ends with the turn."""
        self.without_media = False
        """The provider refused an image of this slice; none is sent any more."""
        self.without_reasoning = False
        """The provider refused a reasoning block of this slice; none is sent any more."""
        self.wait_until: int | None = None
        """The step at work asked to wait for mail until then (milliseconds since the epoch)."""
        self.remembered = 0
        """How many files of memory there were when the turn began."""
        self.finalizing = False
        """The result is delivered; what follows is for hooks alone."""
        self.decisions: list[Decided] = []
        """What is to be kept of verdicts, and is not stored yet."""
        self.remarks: Remarks | None = None
        """Says what is to be known beside new words; None where nothing is."""
        self.steering = ""
        """How the newest words of a person came, if not as a turn begins; for all its requests."""
        self.single = ""
        """Why steps are not chosen from several, as people were told last."""
        self._began = time.monotonic()
        for message in known.messages:
            self._hear(message)

    def extend(self, messages: Iterable[Message]) -> None:
        """Add `messages` at the end of the slice; a mark among them shortens it."""
        for message in messages:
            self.messages.append(message)
            if mark_of(message) is None:
                self._hear(message)
            else:
                self._shorten()

    def _hear(self, message: Message) -> None:
        info = message.info
        if isinstance(info, UserInfo) and mark_of(message) is None and not is_stand_in(info):
            self.user = info
            if binds(message):
                self.prompt = info

    def _shorten(self) -> None:
        shortened = effective(self.messages)
        self.messages, self.settled = list(shortened.messages), shortened.settled
        self.continuity.declare("the conversation was shortened")

    def replace(self, changed: Iterable[Message]) -> None:
        """Put messages of the slice that have changed in the place of what they were."""
        for message in changed:
            at = next(
                at
                for at in range(len(self.messages) - 1, -1, -1)
                if self.messages[at].info.id == message.info.id
            )
            self.messages[at] = message

    @property
    def budgets(self) -> Budgets:
        """The limits of the turn, and what it has used of them."""
        return self.progress.budgets

    def take_decisions(self) -> tuple[Decided, ...]:
        """What is to be kept of verdicts, for whoever stores it now."""
        taken, self.decisions = tuple(self.decisions), []
        return taken

    def wait_for_mail(self, until: int) -> None:
        """Let the step at work be followed by a wait."""
        self.wait_until = until

    @property
    def elapsed(self) -> float:
        """Seconds since the turn began in this process."""
        return time.monotonic() - self._began
