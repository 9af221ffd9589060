"""One that was stopped before it began ends, and leaves alone what is said to it next."""

from stage import HELPER, MODEL, Stage, note, prompt

from roost.actors.cancel import stop
from roost.actors.unheard import end_unheard, withdraw
from roost.core.clock import now_ms
from roost.db.transaction import Transaction
from roost.inbox.drain import drain
from roost.inbox.notices import NoticeBody
from roost.sessions.models import Message


def stopped(stage: Stage) -> None:
    """The helper was to run, and is stopped before it does."""
    stage.send(prompt(stage.helper, "work"))
    stage.do(lambda tx: stop(tx, stage.helper, "graceful", due=True))
    assert stage.actor(stage.helper).cancel == "graceful"


def ended(stage: Stage) -> bool:
    return stage.do(lambda tx: end_unheard(tx, stage.helper))


def test_what_waited_is_a_message_of_a_cancelled_turn_and_the_actor_sleeps(stage: Stage) -> None:
    stopped(stage)
    assert ended(stage)
    actor = stage.actor(stage.helper)
    assert (actor.status, actor.cancel, actor.owner) == ("idle", None, None)
    assert len(stage.history(stage.helper)) == 1
    assert [row.state for row in stage.rows() if row.receiver == stage.helper] == ["delivered"]
    assert "turn.ended" in stage.event_types()


def test_its_parent_hears_of_it(stage: Stage) -> None:
    stopped(stage)
    ended(stage)
    told = [row.body for row in stage.rows() if row.receiver == stage.main]
    assert [(one.notice, one.actor_id) for one in told if isinstance(one, NoticeBody)] == [
        ("cancelled", HELPER)
    ]


def test_all_that_waited_is_taken_up_however_much_it_is(stage: Stage) -> None:
    stopped(stage)
    for number in range(250):
        stage.send(note(stage.helper, f"word {number}"))
    assert ended(stage)
    assert stage.actor(stage.helper).status == "idle"
    assert {row.state for row in stage.rows() if row.receiver == stage.helper} == {"delivered"}


def test_what_is_said_next_is_heard(stage: Stage) -> None:
    stopped(stage)
    ended(stage)
    assert stage.send(prompt(stage.helper, "go on")).pending
    claim = stage.claim(stage.helper)
    assert claim is not None
    assert claim.actor.cancel is None
    assert [len(message.parts) for message in stage.drain(claim)] == [1]


def test_one_that_nobody_stopped_or_that_runs_is_left_alone(stage: Stage) -> None:
    assert not ended(stage)
    stage.send(prompt(stage.helper, "work"))
    assert not ended(stage)
    assert stage.claim(stage.helper) is not None
    stage.do(lambda tx: stop(tx, stage.helper, "forced"))
    assert not ended(stage)
    assert stage.actor(stage.helper).status == "running"


def test_one_that_was_to_run_for_what_was_taken_back_sleeps(stage: Stage) -> None:
    first = stage.send(prompt(stage.main, "one"))
    second = stage.send(prompt(stage.main, "two"))
    stage.do(lambda tx: withdraw(tx, first.id))
    assert stage.actor().status == "pending"
    stage.do(lambda tx: withdraw(tx, second.id))
    assert stage.actor().status == "idle"


def test_one_that_was_to_run_for_news_and_is_held_sleeps(stage: Stage) -> None:
    stage.send(note(stage.main, "news", kind="notice"))
    assert stage.actor().status == "pending"
    assert stage.do(lambda tx: stop(tx, stage.main, "forced")) == []
    assert stage.actor().status == "idle"
    assert stage.actor().held


def test_a_turn_can_leave_to_the_next_what_is_said_after_a_moment(stage: Stage) -> None:
    stage.send(prompt(stage.helper, "before"))
    claim = stage.claim(stage.helper)
    assert claim is not None
    moment = stage.rows()[-1].created
    while now_ms() == moment:
        pass
    stage.send(prompt(stage.helper, "after"))

    def take(tx: Transaction) -> list[Message]:
        return drain(tx, stage.helper, claim.turn.id, agent="explore", model=MODEL, until=moment)

    assert [len(message.parts) for message in stage.do(take)] == [1]
    assert stage.settle(claim, "cancelled") == "pending"
