"""An actor as relatives, people and clients see it: what it does, what it cost, how it ended."""

from typing import Final, Literal

from msgspec import Struct

from roost.actors import turn_store
from roost.actors.ending import notice_key
from roost.actors.models import Actor, Mode, Outcome, Status, Turn
from roost.actors.report import last_words
from roost.core.clock import now_ms
from roost.core.wire_names import wire_name
from roost.db.transaction import Reader
from roost.inbox import store as inbox
from roost.inbox.models import Address
from roost.inbox.notices import NoticeBody
from roost.sessions import transcript
from roost.sessions.parts import ToolPart, is_open

Liveness = Literal["progressing", "stalled", "waiting", "pending", "idle"]
THINKING: Final = "calling its model"
FINALIZING: Final = "finalizing: its result is delivered"


class ActorView(Struct, frozen=True, kw_only=True, rename=wire_name, omit_defaults=True):
    """An actor as it stands."""

    session_id: str
    actor_id: str
    agent: str
    description: str
    mode: Mode
    status: Status
    liveness: Liveness
    parent: Address | None
    depth: int
    background: bool
    model: str | None
    age: float
    """Seconds since it was made."""
    quiet: float
    """Seconds since its last sign of life."""
    doing: str
    """The tool that runs, or what else it does; empty when idle."""
    turns: int
    steps: int
    tokens: int
    cost: float
    """US dollars, of all its turns."""
    queued: int
    """Messages that it has not heard yet."""
    task_id: str | None = None
    outcome: Outcome | None = None
    """How its last turn came out; None until that is delivered."""
    reported_status: str | None = None
    """What it said of its task then."""
    summary: str | None = None
    notice: NoticeBody | None = None
    """What its parent was told of its last turn."""
    result: str = ""
    """Its last words of that turn."""
    damage: str = ""
    """The columns of its row that cannot be read."""


def view(
    db: Reader, actor: Actor, *, with_result: bool = False, of: Turn | None = None
) -> ActorView:
    """How `actor` stands now; `with_result` also reads its last words.

    `of`: the turn whose end is meant, although the actor may be at work again. None: the last one.
    """
    now = now_ms()
    sums = turn_store.sums(db, actor.address)
    turn = of or (turn_store.find_turn(db, actor.address, actor.turns) if actor.turns else None)
    is_over = turn is not None and turn.outcome is not None
    is_over = is_over and (of is not None or actor.status != "pending")
    activity = doing(db, actor)
    if activity == THINKING and turn is not None and turn.phase == "finalizing":
        activity = FINALIZING
    notice = None
    if actor.parent is not None and turn is not None and turn.outcome is not None:
        row = inbox.by_key(db, actor.parent, notice_key(turn.id))
        notice = row.body if row and isinstance(row.body, NoticeBody) else None
    words = ""
    if with_result and turn is not None and turn.outcome is not None:
        words = last_words(db, actor, turn.id, turn.result_message_id)
    return ActorView(
        session_id=actor.session_id,
        actor_id=actor.actor_id,
        agent=actor.agent,
        description=actor.description,
        mode=actor.mode,
        status=actor.status,
        liveness=liveness(actor),
        parent=actor.parent,
        depth=actor.depth,
        background=actor.background,
        model=actor.model,
        age=(now - actor.created) / 1000,
        quiet=(now - actor.last_activity) / 1000,
        doing=activity,
        turns=actor.turns,
        steps=sums.steps,
        tokens=sums.tokens,
        cost=sums.cost,
        queued=inbox.count_queued(db, actor.address),
        task_id=actor.task_id,
        outcome=turn.outcome if is_over and turn else None,
        reported_status=turn.reported_status if is_over and turn else None,
        summary=turn.summary if is_over and turn else None,
        notice=notice,
        result=words,
        damage=actor.damage,
    )


def liveness(actor: Actor) -> Liveness:
    """Whether an actor makes progress, as far as its signs of life tell."""
    match actor.status:
        case "idle":
            return "idle"
        case "pending":
            return "pending"
        case "running":
            if actor.waiting_until is not None:
                return "waiting"
            return "stalled" if actor.stalled is not None else "progressing"


def doing(db: Reader, actor: Actor) -> str:
    """What a running actor does: the tool that runs and its title, a wait, or a model call."""
    if actor.status != "running":
        return ""
    if actor.retry is not None:
        return f"waiting to try its model again: {actor.retry.message}"
    if actor.waiting_until is not None:
        return "waiting for mail"
    open_messages = transcript.load_open(db, actor.session_id, actor.actor_id)
    tools = [
        part
        for message in open_messages
        for part in message.parts
        if isinstance(part, ToolPart) and is_open(part)
    ]
    if not tools:
        return THINKING
    title = getattr(tools[0].state, "title", None)
    return f"{tools[0].tool}: {title}" if title else tools[0].tool
