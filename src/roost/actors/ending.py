"""The end of a turn as others learn of it: the turn's row, the event, the parent's notice, and what
an interrupted actor is told so that it goes on.

One transaction holds all of it, so that no crash can part a result from the news of it. The key of
the notice is the turn, so each turn gives exactly one.
"""

from typing import Final

from roost.actors import store, turn_store
from roost.actors.limits import RESUMES, ActorLimits
from roost.actors.models import Actor, Ending, Outcome, Turn
from roost.actors.report import NOTHING, Report, notice_of, report_of
from roost.actors.send import send
from roost.core.clock import now_ms
from roost.core.failpoints import failpoint
from roost.db.transaction import Reader, Transaction
from roost.events.types import Event
from roost.inbox import store as inbox
from roost.inbox.models import Letter, NoteBody

RESUMED: Final = (
    "The process that ran you stopped in the middle of your work, and you go on in a new one. What "
    "you did before is above; a tool that was running then may have had effects. Look at the state "
    "of things before you repeat anything, and finish your task."
)


def notice_key(turn_id: str) -> str:
    """The key in the parent's inbox of the notice about a turn."""
    return f"turn:{turn_id}"


def deliver(
    tx: Transaction, actor: Actor, turn_id: str, ending: Ending, limits: ActorLimits
) -> None:
    """Write how the turn came out, and tell the parent; nothing if that had been done before.

    The turn is then in phase `finalizing`, until `close` ends it.
    """
    turn = turn_store.get_turn(tx, turn_id)
    if turn.outcome is not None:
        return
    parent = store.find(tx, actor.parent) if actor.parent else None
    report = NOTHING if parent is None else report_of(tx, actor, turn, ending)
    turn_store.set_outcome(tx, turn, ending, report.status, report.summary)
    failpoint("settle.outcome")
    if parent is None:
        return
    resumed = ending.outcome == "interrupted" and _goes_on(actor, limits)
    if resumed:
        _tell_to_go_on(tx, actor, turn)
    _notify(tx, parent, actor, turn, ending, report, limits, resumed=resumed)


def _notify(
    tx: Transaction,
    parent: Actor,
    actor: Actor,
    turn: Turn,
    ending: Ending,
    report: Report,
    limits: ActorLimits,
    *,
    resumed: bool,
) -> None:
    hops = turn.hops + 1
    # Who speaks to a directed session by themselves has the answer there: no need to wake its head.
    aside = actor.fronts and inbox.only_prompts(tx, actor.address, turn.id)
    quiet = resumed or aside or _stopped_with(tx, parent, actor, ending)
    letter = Letter(
        receiver=parent.address,
        kind="notice",
        body=notice_of(actor, turn, ending, report, resumed=resumed),
        sender=actor.address,
        sender_turn=turn.id,
        key=notice_key(turn.id),
        wake=not quiet and hops <= limits.hops,
        hops=hops,
    )
    send(tx, letter)
    failpoint("settle.noticed")


def _stopped_with(db: Reader, parent: Actor, actor: Actor, ending: Ending) -> bool:
    """Whether the parent is, or just was, stopped together with `actor`: that must not wake it."""
    if parent.cancel is not None:
        return True
    if parent.status != "idle" or parent.current_turn is None:
        return False
    if actor.cancel is None and ending.outcome != "cancelled":
        return False
    return turn_store.get_turn(db, parent.current_turn).outcome == "cancelled"


def _goes_on(actor: Actor, limits: ActorLimits) -> bool:
    return actor.background and limits.recovery == "resume" and actor.resumed < RESUMES


def _tell_to_go_on(tx: Transaction, actor: Actor, turn: Turn) -> None:
    letter = Letter(
        receiver=actor.address,
        kind="system",
        body=NoteBody(RESUMED, origin="recovery"),
        sender=actor.address,
        sender_turn=turn.id,
        key=f"resume:{turn.id}",
        hops=turn.hops,
    )
    send(tx, letter)
    store.set_resumed(tx, actor, actor.resumed + 1)
    failpoint("recover.told")


def close(tx: Transaction, actor: Actor, turn_id: str) -> None:
    """End a turn whose outcome is written, and tell clients; harmless if it has ended."""
    turn = turn_store.get_turn(tx, turn_id)
    if turn.phase == "ended" or turn.outcome is None:
        return
    turn_store.end_turn(tx, turn, now_ms())
    about = _about(actor, turn_id, turn.outcome)
    news = {**about, "messageID": turn.result_message_id, "error": turn.error}
    tx.emit(Event("turn.ended", news, session_id=actor.session_id))


def tell_finalizing(tx: Transaction, actor: Actor, turn_id: str, ending: Ending) -> None:
    """Tell clients that the result is there although the turn goes on."""
    about = _about(actor, turn_id, ending.outcome)
    news = {**about, "messageID": ending.result_message_id}
    tx.emit(Event("turn.delivered", news, session_id=actor.session_id))


def _about(actor: Actor, turn_id: str, outcome: Outcome) -> dict[str, object]:
    return {
        "sessionID": actor.session_id,
        "actorID": actor.actor_id,
        "turnID": turn_id,
        "outcome": outcome,
    }
