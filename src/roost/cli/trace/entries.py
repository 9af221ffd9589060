"""What can stand in a timeline. Also the lines of `roost trace --format json`: their `type` is the
tag, times are milliseconds since the epoch, spans of time seconds, money US dollars.
"""

from msgspec import Struct

from roost.core.wire_names import wire_name


class _Entry(Struct, frozen=True, kw_only=True, rename=wire_name, omit_defaults=True):
    at: int
    """When it began."""


class Spent(Struct, frozen=True, rename=wire_name):
    """Tokens of a call of a model."""

    input: int = 0
    """All that was sent, cached or not."""
    cached: int = 0
    """Those of them that the provider had kept."""
    written: int = 0
    """Those of them that it has kept from now on."""
    output: int = 0
    """All that came, thinking included."""
    reasoning: int = 0

    def plus(self, other: "Spent") -> "Spent":
        """Both together."""
        return Spent(
            self.input + other.input,
            self.cached + other.cached,
            self.written + other.written,
            self.output + other.output,
            self.reasoning + other.reasoning,
        )


class Head(_Entry, frozen=True, kw_only=True, tag="turn"):
    """The turn itself, as it stands."""

    session_id: str
    actor_id: str
    turn_id: str
    """Empty: it has no row, as in a session that was imported."""
    number: int
    count: int
    """Turns of the actor that there are."""
    title: str
    directory: str
    agent: str
    models: tuple[str, ...] = ()
    reason: str = ""
    parent: str = ""
    """Who started the actor, as SESSION/ACTOR."""
    description: str = ""
    state: str
    """How it came out, or `running`, `finalizing`, `lost` (its process is gone)."""
    seconds: float
    steps: int
    tokens: Spent = Spent()
    cost: float = 0.0
    budgets: dict[str, tuple[float, float | None]] = {}
    """What was used of which, and how much of it there is."""
    damage: str = ""


class Heard(_Entry, frozen=True, kw_only=True, tag="mail"):
    """Something was said to the actor."""

    kind: str
    """As the inbox calls it: `prompt`, `brief`, `message`, `notice`, `permission`, `system`."""
    sender: str = ""
    text: str
    attached: int = 0
    waited: float = 0.0
    """Seconds from when it was said until it was heard."""
    message_id: str = ""
    damage: bool = False


class Called(_Entry, frozen=True, kw_only=True, tag="step"):
    """A step: a call of the model, with the tools it asked for."""

    number: int
    message_id: str
    model: str
    first: float | None = None
    """Seconds to the first thing that the model said or called."""
    answered: float | None = None
    """Seconds until it had ended its answer."""
    elapsed: float | None = None
    """Seconds until now, while it answers."""
    seconds: float | None = None
    """Until the last of its tools had ended; None: it goes on."""
    tokens: Spent = Spent()
    cost: float = 0.0
    finish: str = ""
    said: str = ""
    error: str = ""
    hidden: bool = False
    """It is left out of what the model sees."""
    degraded: str = ""


class Ran(_Entry, frozen=True, kw_only=True, tag="tool"):
    """A call of a tool."""

    step: int
    message_id: str = ""
    call_id: str
    tool: str
    about: str
    """What it does, in a few words."""
    state: str
    """`pending`, `running`, `completed`, `error`, `denied`, `interrupted`."""
    seconds: float | None = None
    bytes: int | None = None
    """Of what the model was given back."""
    exit: int | None = None
    error: str = ""


class Retry(_Entry, frozen=True, kw_only=True, tag="retry"):
    """A call of the model failed and was tried again."""

    message_id: str = ""
    """Its step."""
    attempt: int
    tries: int | None = None
    kind: str = ""
    """The class of the error."""
    text: str
    wait: float | None = None


class Decision(_Entry, frozen=True, kw_only=True, tag="decision"):
    """A policy did not leave things to go their usual way."""

    message_id: str = ""
    """The step that was judged."""
    policy: str
    action: str
    budget: str = ""
    used: float = 0.0
    limit: float | None = None
    text: str = ""
    outcome: str = ""
    hidden: int = 0
    seconds: float | None = None
    """Of a wait: at most so long."""


class Hooked(_Entry, frozen=True, kw_only=True, tag="hook"):
    """A hook was run."""

    on: str
    name: str
    seconds: float
    answer: str = ""
    text: str = ""
    failed: bool = False


class Judged(_Entry, frozen=True, kw_only=True, tag="judge"):
    """An independent judge looked at the goal."""

    result: str
    text: str
    model: str
    seconds: float
    tokens: Spent = Spent()
    cost: float = 0.0


class Proposals(_Entry, frozen=True, kw_only=True, tag="proposals"):
    """Several candidates proposed a step, or there was a reason not to have several."""

    message_id: str = ""
    candidates: tuple[str, ...] = ()
    """What became of each: `usable`, or why it was not."""
    taken: int | None = None
    """The one that was taken, from 1."""
    by: str = ""
    model: str = ""
    """The judge, where one was asked."""
    text: str = ""
    seconds: float = 0.0
    tokens: int = 0
    """Of all but the one that was taken."""
    cost: float = 0.0


class Question(_Entry, frozen=True, kw_only=True, tag="ask"):
    """A person was asked."""

    kind: str
    about: str
    state: str
    """`open`, `once`, `always`, `reject`, `answered`, `rejected`, `withdrawn`."""
    seconds: float | None = None
    """Until it was answered; None: it waits."""
    text: str = ""
    """What the person said to it."""


class Sent(_Entry, frozen=True, kw_only=True, tag="sent"):
    """The actor said something to another one, or its parent was told of its end."""

    kind: str
    to: str
    text: str


class Child(_Entry, frozen=True, kw_only=True, tag="child"):
    """A turn of an actor that this one started."""

    session_id: str
    actor_id: str
    turn_id: str
    number: int
    agent: str
    description: str = ""
    state: str
    seconds: float | None = None
    steps: int
    tokens: int
    cost: float


class Damaged(_Entry, frozen=True, kw_only=True, tag="damaged"):
    """Something that cannot be read."""

    text: str


class End(_Entry, frozen=True, kw_only=True, tag="outcome"):
    """The turn ended."""

    outcome: str
    seconds: float
    error: str = ""
    degraded: str = ""
    status: str = ""
    """What the actor says of its task."""
    summary: str = ""
    steps: int
    tokens: Spent = Spent()
    cost: float


Entry = (
    Heard
    | Called
    | Ran
    | Retry
    | Decision
    | Hooked
    | Judged
    | Proposals
    | Question
    | Sent
    | Child
    | Damaged
    | End
)


def is_open(entry: Entry) -> bool:
    """Whether more of it is to come."""
    match entry:
        case Called() | Child():
            return entry.seconds is None
        case Ran():
            return entry.state in {"pending", "running"}
        case Question():
            return entry.state == "open"
        case _:
            return False
