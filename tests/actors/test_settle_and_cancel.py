import pytest
from stage import Stage, assert_laws, note, prompt, texts

from roost.actors import store as actors
from roost.actors import turn_store
from roost.actors.cancel import request_cancel, stop
from roost.actors.models import (
    Actor,
    BusyStatus,
    CancelMode,
    Claim,
    Ending,
    RetryState,
    RetryStatus,
    Turn,
)
from roost.actors.settle import settle
from roost.core.errors import NotFoundError
from roost.inbox.models import Address
from roost.sessions.models import MessageError


@pytest.fixture
def running(stage: Stage) -> Claim:
    """Main runs a turn that has heard one prompt."""
    stage.send(prompt(stage.main, "go"))
    claim = stage.claim()
    assert claim is not None
    stage.drain(claim)
    return claim


def cancel(stage: Stage, mode: CancelMode) -> Actor | None:
    return stage.do(lambda tx: request_cancel(tx, stage.main, mode))


def stop_turn(stage: Stage, turn: Turn) -> list[Actor]:
    return stage.do(lambda tx: stop(tx, stage.main, "forced", turn_id=turn.id))


def outcomes(stage: Stage) -> list[str | None]:
    return [turn.outcome for turn in stage.read(lambda db: turn_store.turns_of(db, stage.main))]


def test_a_turn_that_ends_leaves_its_actor_idle_and_says_so(stage: Stage, running: Claim) -> None:
    stage.events.clear()
    assert stage.settle(running) == "idle"
    actor = stage.actor()
    assert (actor.status, actor.owner) == ("idle", None)
    assert stage.event_types() == [
        "turn.ended",
        "actor.status",
        "session.status",
        "session.idle",
        "session.updated",
    ]
    assert outcomes(stage) == ["success"]


def test_mail_sent_between_the_last_drain_and_the_end_is_not_slept_on(
    stage: Stage, running: Claim
) -> None:
    """The window in which wakes get lost: the sender sees a busy receiver and wakes nobody."""
    receipt = stage.send(note(stage.main, "just in time"))
    assert not receipt.pending
    stage.events.clear()
    assert stage.settle(running) == "more"
    assert stage.events == []
    assert stage.actor().status == "running"
    assert "just in time" in texts(stage.drain(running))[0]
    assert stage.settle(running) == "idle"
    assert outcomes(stage) == ["success"]


def test_mail_that_wakes_nobody_does_not_keep_a_turn_going(stage: Stage, running: Claim) -> None:
    stage.send(note(stage.main, "for later", wake=False))
    assert stage.settle(running) == "idle"


@pytest.mark.parametrize("outcome", ["failure", "cancelled", "interrupted"])
def test_after_any_other_end_waiting_mail_gets_a_turn_of_its_own(
    stage: Stage, running: Claim, outcome: str
) -> None:
    accepted = [row.id for row in stage.rows()]
    accepted.append(stage.send(prompt(stage.main, "still here")).id)
    assert stage.settle(running, outcome) == "pending"
    assert (stage.actor().status, stage.actor().owner) == ("pending", None)
    assert "session.idle" not in stage.event_types()
    again = stage.claim()
    assert again is not None
    assert texts(stage.drain(again)) == ["still here"]
    assert stage.settle(again) == "idle"
    assert outcomes(stage) == [outcome, "success"]
    assert_laws(stage, accepted)


def test_a_cancel_marks_the_running_turn_once(stage: Stage, running: Claim) -> None:
    stage.events.clear()
    marked = cancel(stage, "graceful")
    assert marked is not None
    assert marked.cancel == stage.actor().cancel == "graceful"
    cancel(stage, "graceful")
    assert stage.event_types() == ["actor.cancelling"]


def test_forced_outranks_graceful_whatever_comes_first(stage: Stage, running: Claim) -> None:
    cancel(stage, "graceful")
    cancel(stage, "forced")
    assert stage.actor().cancel == "forced"
    cancel(stage, "graceful")
    assert stage.actor().cancel == "forced"


def test_a_late_cancel_does_not_hit_the_next_turn(stage: Stage, running: Claim) -> None:
    stage.settle(running)
    assert stop_turn(stage, running.turn) == []
    stage.send(prompt(stage.main, "next"))
    assert stop_turn(stage, running.turn) == []
    following = stage.claim()
    assert following is not None
    assert stop_turn(stage, running.turn) == []
    assert stage.actor().cancel is None


def test_the_mark_goes_with_its_turn(stage: Stage, running: Claim) -> None:
    cancel(stage, "forced")
    stage.settle(running, "cancelled")
    assert stage.actor().cancel is None
    stage.send(prompt(stage.main, "next"))
    claim = stage.claim()
    assert claim is not None
    assert claim.actor.cancel is None


def test_a_cancel_takes_nothing_from_the_queue(stage: Stage, running: Claim) -> None:
    accepted = [row.id for row in stage.rows()]
    accepted += [stage.send(prompt(stage.main, f"queued {n}")).id for n in range(3)]
    cancel(stage, "forced")
    assert stage.settle(running, "cancelled") == "pending"
    assert [row.state for row in stage.rows()] == ["delivered"] + ["queued"] * 3
    again = stage.claim()
    assert again is not None
    assert texts(stage.drain(again)) == ["queued 0", "queued 1", "queued 2"]
    assert_laws(stage, accepted)


def test_there_is_nothing_to_cancel_in_an_idle_actor(stage: Stage) -> None:
    assert cancel(stage, "forced") is None
    with pytest.raises(NotFoundError, match="nobody"):
        stage.do(lambda tx: request_cancel(tx, Address(stage.session_id, "nobody"), "forced"))


def test_waiting_to_try_again_is_shown_until_it_is_over(stage: Stage, running: Claim) -> None:
    retry = RetryState(2, "overloaded", 123)
    stage.events.clear()
    stage.do(lambda tx: actors.set_retry(tx, running, retry))
    stage.do(lambda tx: actors.set_retry(tx, running, retry))
    assert stage.event_types() == ["actor.status", "session.status"]
    assert stage.events[1].properties["status"] == RetryStatus(2, "overloaded", 123)
    stage.do(lambda tx: actors.set_retry(tx, running, None))
    assert stage.events[3].properties["status"] == BusyStatus()
    assert stage.actor().retry is None


def test_the_error_of_a_turn_is_read_back_as_it_was_and_a_strange_one_is_told(
    stage: Stage, running: Claim
) -> None:
    error = MessageError("LimitError", {"message": "1000 steps are used"})
    stage.do(lambda tx: settle(tx, running, Ending(outcome="failure", error=error)))
    assert stage.read(lambda db: turn_store.get_turn(db, running.turn.id)).error == error
    for strange in ('{"name":"NewError","data":{}}', "{", "[]"):
        stage.connection.execute("UPDATE turn SET error = ?", (strange,))
        told = stage.read(lambda db: turn_store.get_turn(db, running.turn.id)).error
        assert told is not None
        assert told.name == "UnknownError"
        assert strange in told.message
