"""Reads all rows of a turn. Whatever is damaged is told as such and hides nothing else."""

from typing import Final

import msgspec
from msgspec import Struct

from roost.actors import store as actors
from roost.actors import traces, turns_seen
from roost.actors.models import Actor, Budgets, Turn
from roost.actors.traces import Trace
from roost.actors.turns_seen import ChildTurn, TurnSeen
from roost.core.clock import now_ms
from roost.db.transaction import Reader
from roost.goals import judged
from roost.goals.judged import Judgement
from roost.inbox import of_turn as mail
from roost.inbox.models import Address
from roost.inbox.of_turn import Mail
from roost.permissions import asked
from roost.permissions.asked import Asked
from roost.sessions import store as sessions
from roost.sessions import turn_messages
from roost.sessions.models import AssistantInfo, Session, UserInfo
from roost.sessions.turn_messages import Placed

_FAULTS: Final = (msgspec.MsgspecError, RecursionError, UnicodeError)


class Rows(Struct, frozen=True, kw_only=True):
    """Everything that is stored of one turn."""

    session: Session
    turn: Turn
    stored: bool = True
    """It has a row. A session that was imported has messages and no turns; they are told apart by
    what was said to the actor."""
    damage: str = ""
    actor: Actor | None = None
    """None: its row is damaged, or gone."""
    count: int
    """Turns of the actor that there are."""
    messages: list[Placed]
    heard: list[Mail] = []
    said: list[Mail] = []
    asked: list[Asked] = []
    traces: list[Trace] = []
    judged: list[Judgement] = []
    children: list[ChildTurn] = []

    @property
    def address(self) -> Address:
        """Whose turn it is."""
        return Address(self.turn.session_id, self.turn.actor_id)

    @property
    def is_over(self) -> bool:
        """Whether nothing will be added to it."""
        return self.turn.phase == "ended"


def read_turn(db: Reader, seen: TurnSeen, *, since: int = 0) -> Rows:
    """The rows of a turn; of messages only those from the place `since` on.

    Raises `NotFoundError` if its session is gone.
    """
    turn = seen.turn
    address = Address(turn.session_id, turn.actor_id)
    until = turn.ended or now_ms()
    return Rows(
        session=sessions.get(db, turn.session_id),
        turn=turn,
        damage=seen.damage,
        actor=actor_at(db, address),
        count=len(turns_seen.of_actor(db, address)),
        messages=turn_messages.of_turn(db, *_of(turn), since=since),
        heard=mail.heard(db, address, turn.id),
        said=mail.said(db, address, turn.id),
        asked=asked.of_turn(db, turn.id),
        traces=traces.of_turn(db, turn.id),
        judged=judged.of_turn(db, turn.id),
        children=turns_seen.of_children(db, address, turn.started, until),
    )


def _of(turn: Turn) -> tuple[str, str, str]:
    return turn.session_id, turn.actor_id, turn.id


def actor_at(db: Reader, address: Address) -> Actor | None:
    """The actor at that address as far as it is there and can be read."""
    try:
        return actors.find(db, address)
    except _FAULTS:
        return None


def read_imported(db: Reader, session: Session, actor_id: str) -> list[Rows]:
    """What an actor did that belongs to no turn, as in a session that was imported: in pieces that
    begin where somebody spoke to it again.
    """
    placed = turn_messages.of_turn(db, session.id, actor_id, None)
    pieces: list[list[Placed]] = []
    for one in placed:
        if not pieces or (_begins_anew(one) and _has_answer(pieces[-1])):
            pieces.append([])
        pieces[-1].append(one)
    actor = actor_at(db, Address(session.id, actor_id))
    return [
        Rows(
            session=session,
            turn=_as_turn(session, actor_id, number, piece),
            stored=False,
            actor=actor,
            count=len(pieces),
            messages=piece,
        )
        for number, piece in enumerate(pieces, start=1)
    ]


def _begins_anew(placed: Placed) -> bool:
    """Whether somebody spoke, and not only Roost itself so that the actor goes on."""
    info = placed.message.info
    if not isinstance(info, UserInfo):
        return False
    kinds = {row.get("kind") for row in (info.provenance or {}).get("inbox", ())}
    return kinds != {"system"}


def _has_answer(piece: list[Placed]) -> bool:
    """Whether the model has ended what was said so far: after tools it goes on by itself."""
    last = piece[-1].message.info
    return isinstance(last, AssistantInfo) and last.finish != "tool-calls"


def _as_turn(session: Session, actor_id: str, number: int, piece: list[Placed]) -> Turn:
    infos = [one.message.info for one in piece]
    steps = [info for info in infos if isinstance(info, AssistantInfo)]
    error = steps[-1].error if steps else None
    ended = max((info.time.completed or info.time.created for info in steps), default=None)
    return Turn(
        id="",
        session_id=session.id,
        actor_id=actor_id,
        number=number,
        fence=0,
        reason="prompt",
        phase="ended",
        budgets=Budgets(),
        started=infos[0].time.created,
        ended=ended,
        outcome=None if not steps else "failure" if error is not None else "success",
        error=error,
        steps=len(steps),
        tokens=sum(info.tokens.total for info in steps),
        cost=sum(info.cost for info in steps),
    )
