"""A tree of actors over several sessions and processes, as the properties of trees see it: what may
be done to it, and what must hold afterwards.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

from stage import MODEL, Stage, answer_info, in_history

from roost.actors import family, store, turn_store
from roost.actors.ending import notice_key
from roost.actors.limits import ActorLimits
from roost.actors.models import Actor, Claim, Ending, Settled
from roost.actors.rows import actor_from_row
from roost.actors.settle import settle
from roost.actors.spawn import Brief, spawn, spawn_peer
from roost.core.clock import now_ms
from roost.core.errors import UsageError
from roost.db.connect import patiently
from roost.db.transaction import Transaction
from roost.inbox import changes
from roost.inbox import store as inbox
from roost.inbox.drain import drain
from roost.inbox.listing import listed
from roost.inbox.models import Address, InboxRow
from roost.sessions import transcript
from roost.sessions.models import AssistantInfo, Message, NewSession
from roost.sessions.parts import Span, TextPart, ToolPart, ToolRunning, is_open

T = TypeVar("T")
SMALL = ActorLimits(depth=2, children=3, running=2, hops=6)
"""Limits that a short history reaches."""


class FamilyStage(Stage):
    """One session whose `main` has a family: in memory, or on the file of others."""

    def __init__(self, path: Path | None = None) -> None:
        super().__init__(path)
        if not self.session_id:
            self.furnish()

    def do(self, transaction: Callable[[Transaction], T]) -> T:
        return patiently(lambda: super(FamilyStage, self).do(transaction), self.path)

    def actors(self) -> list[Actor]:
        """Every actor of every session."""
        rows = self.read(lambda db: db.all("SELECT * FROM actor ORDER BY session_id, actor_id"))
        return [actor_from_row(row) for row in rows]

    def rows(self) -> list[InboxRow]:
        """All mail of all sessions, in the order in which it was accepted."""
        return self.read(lambda db: listed(db, None, 1_000_000))

    def has_mail(self, address: Address) -> bool:
        return self.read(lambda db: inbox.has_mail(db, address))

    def below(self, address: Address) -> list[Actor]:
        return self.read(lambda db: family.descendants(db, address))

    def outcome(self, claim: Claim) -> str | None:
        return self.read(lambda db: turn_store.get_turn(db, claim.turn.id)).outcome

    def spawn(self, parent: Claim, *, peer: bool, background: bool) -> Actor:
        """A child of the turn `parent`. Raises `UsageError` where a limit stands against it."""
        brief = Brief(
            agent="general", description="d", task="t", model=MODEL, background=background
        )
        if not peer:
            return self.do(lambda tx: spawn(tx, parent, brief))
        new = NewSession(directory="/somewhere", project_id="project")
        return self.do(lambda tx: spawn_peer(tx, parent, brief, new))

    def why_not(self, parent: Claim) -> bool:
        """Whether a spawn by `parent` has to be refused."""
        actor = self.actor(parent.address)
        busy = [
            one for one in self.actors() if one.parent == parent.address and one.status != "idle"
        ]
        return (
            actor.mode == "subagent"
            or actor.cancel is not None
            or actor.depth >= SMALL.depth
            or len(busy) >= SMALL.children
        )

    def take(self, claim: Claim, *, own_only: bool = False) -> list[Message]:
        """What a turn hears at the start of a step."""

        def taken(tx: Transaction) -> list[Message]:
            store.check_fence(tx, claim)
            where, turn = claim.address, claim.turn.id
            return drain(tx, where, turn, agent="build", model=MODEL, own_only=own_only)

        return self.do(taken)

    def end(self, claim: Claim, outcome: Any, *, finalize: bool = False) -> Settled:
        ending = Ending(outcome=outcome, finalize=finalize)
        return self.do(lambda tx: settle(tx, claim, ending))

    def say(self, claim: Claim, text: str, *, is_running: bool = False) -> str:
        """A message of the model in a turn, with a tool that still runs on request; its id."""
        info = answer_info(claim.address.session_id)
        where = (claim.address.session_id, info.id)
        part: TextPart | ToolPart = TextPart(f"prt_{info.id}", *where, text)
        if is_running:
            part = ToolPart(f"prt_{info.id}", *where, "call", "bash", ToolRunning({}, Span(1)))

        def add(tx: Transaction) -> None:
            store.check_fence(tx, claim)
            transcript.append_message(
                tx,
                Message(info, (part,)),
                actor_id=claim.address.actor_id,
                turn_id=claim.turn.id,
            )

        self.do(add)
        return info.id

    def consume(self, parent: Claim, child_turn: str) -> bool:
        """The answer of a tool of the parent tells how a turn of its child ended."""
        message_id = self.say(parent, "the tool's answer")
        key, turn = notice_key(child_turn), parent.turn.id
        return self.do(lambda tx: changes.consume(tx, parent.address, key, message_id, turn))


def refused(call: Callable[[], object]) -> bool:
    """Whether `call` is refused with words for the model."""
    try:
        call()
    except UsageError:
        return True
    return False


def assert_family_laws(stage: FamilyStage, accepted: Iterable[str]) -> None:
    """Nothing lost, doubled or left hanging, in any session."""
    rows = stage.rows()
    assert [row.id for row in rows] == list(accepted)
    for actor in stage.actors():
        mine = [row for row in rows if row.receiver == actor.address]
        _assert_heard_in_order(stage, actor, mine)
        _assert_state(stage, actor)
        if actor.parent is not None:
            _assert_told_once(stage, actor, [r for r in rows if r.receiver == actor.parent])


def _assert_heard_in_order(stage: FamilyStage, actor: Actor, mine: list[InboxRow]) -> None:
    """What was drained stands in the history once, in the order in which it was accepted; what a
    tool's answer told stands nowhere else.
    """
    history = stage.history(actor.address)
    answers = {one.info.id for one in history if isinstance(one.info, AssistantInfo)}
    assert {row.state for row in mine} <= {"queued", "delivered", "rejected", "expired"}
    delivered = [row for row in mine if row.state == "delivered"]
    told_inline = {row.id for row in delivered if row.message_id in answers}
    assert all(row.kind == "notice" for row in delivered if row.id in told_inline)
    heard = in_history(history, mine)
    drained = [row for row in delivered if row.id not in told_inline]
    assert sorted(heard) == sorted(row.id for row in drained)
    to_itself = {row.id for row in drained if row.sender == actor.address}
    """A turn whose result is delivered hears itself before others."""
    assert [one for one in heard if one not in to_itself] == [
        row.id for row in drained if row.id not in to_itself
    ]
    if actor.status != "running":
        assert not [part for one in history for part in one.parts if is_open(part)]


def _assert_state(stage: FamilyStage, actor: Actor) -> None:
    is_running = actor.status == "running"
    assert is_running == (actor.owner is not None)
    turns = stage.read(lambda db: turn_store.turns_of(db, actor.address))
    assert [turn.number for turn in turns] == list(range(1, len(turns) + 1))
    assert actor.turns == len(turns)
    open_turns = [turn.id for turn in turns if turn.phase != "ended"]
    assert open_turns == ([actor.current_turn] if is_running else [])
    assert all(turn.outcome is not None for turn in turns if turn.phase == "ended")
    assert [turn.fence for turn in turns] == sorted({turn.fence for turn in turns})
    assert actor.fence >= max([0, *(turn.fence for turn in turns)])
    if actor.status == "idle":
        assert not stage.has_mail(actor.address)
        assert actor.cancel is None
    if not is_running:
        assert actor.waiting_until is None
        assert actor.stalled is None


def _assert_told_once(stage: FamilyStage, actor: Actor, to_parent: list[InboxRow]) -> None:
    """Each turn that came out somehow has one notice, which was told at most once."""
    turns = stage.read(lambda db: turn_store.turns_of(db, actor.address))
    came_out = [turn.id for turn in turns if turn.outcome is not None]
    told = [row for row in to_parent if (row.key or "").startswith("turn:")]
    own = [row for row in told if row.sender == actor.address]
    assert sorted(row.key or "" for row in own) == sorted(map(notice_key, came_out))
    assert all(row.state in {"queued", "delivered", "expired"} for row in own)


def assert_lease(stage: FamilyStage, claim: Claim) -> None:
    """Who holds an actor is named as its owner, under a lease that runs."""
    actor = stage.actor(claim.address)
    assert (actor.owner, actor.fence) == (claim.actor.owner, claim.turn.fence)
    assert actor.lease_until > now_ms()
