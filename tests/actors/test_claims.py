from collections.abc import Callable

import pytest
from stage import Stage, answer_info, assert_laws, everybody_is_dead, note, prompt, texts

from roost.actors import claim as claims
from roost.actors import store as actors
from roost.actors import turn_store
from roost.actors.models import Budgets, BusyStatus, Claim, Progress, Turn
from roost.core.errors import StaleFenceError
from roost.core.ids import new_id
from roost.sessions import transcript
from roost.sessions.models import Message
from roost.sessions.parts import Span, ToolPart, ToolRunning, is_open


def claimed(stage: Stage, **more: object) -> Claim:
    claim = stage.claim(**more)
    assert claim is not None
    return claim


def turns(stage: Stage) -> list[Turn]:
    return stage.read(lambda db: turn_store.turns_of(db, stage.main))


def recover(stage: Stage, is_dead: claims.IsDead = everybody_is_dead) -> list[str]:
    waiting = stage.recover(is_dead)
    return [address.actor_id for address in waiting]


def leave_a_tool_running(stage: Stage, actor_id: str = "main") -> None:
    info = answer_info(stage.session_id)
    state = ToolRunning({}, Span(1))
    part = ToolPart(new_id("part"), stage.session_id, info.id, "call", "bash", state)
    message = Message(info, (part,))
    stage.do(lambda tx: transcript.append_message(tx, message, actor_id=actor_id, turn_id=None))


def test_a_claim_starts_a_turn_and_shows_the_session_as_busy(stage: Stage) -> None:
    stage.send(prompt(stage.main, "go"))
    stage.events.clear()
    claim = claimed(stage, budgets=Budgets({"steps": 5}))
    assert (claim.turn.number, claim.turn.phase, claim.turn.budgets.left("steps")) == (
        1,
        "running",
        5,
    )
    actor = stage.actor()
    assert (actor.status, actor.owner, actor.fence) == ("running", "proc_one", 1)
    assert actor.current_turn == claim.turn.id
    assert stage.event_types() == ["actor.status", "session.status"]
    assert stage.events[1].properties["status"] == BusyStatus()


def test_an_actor_that_does_not_front_its_session_does_not_show_it_as_busy(stage: Stage) -> None:
    stage.send(note(stage.helper, "go"))
    stage.events.clear()
    claimed(stage, address=stage.helper)
    assert stage.event_types() == ["actor.status"]


def test_there_is_no_turn_without_mail_unless_one_resumes(stage: Stage) -> None:
    assert stage.claim() is None
    assert claimed(stage, reason="resume").turn.reason == "resume"


def test_an_actor_is_held_by_one_owner_at_a_time(stage: Stage) -> None:
    stage.send(note(stage.main, "go"))
    claimed(stage)
    assert stage.claim(owner="proc_two") is None
    assert len(turns(stage)) == 1


def test_a_process_takes_back_what_it_could_not_put_to_rest(stage: Stage) -> None:
    stage.send(note(stage.main, "go"))
    lost = claimed(stage)
    again = stage.claim()
    assert again is not None
    assert again.turn.fence > lost.turn.fence
    assert [turn.outcome for turn in turns(stage)] == ["interrupted", None]


def test_silence_is_not_death(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """A live process that says nothing keeps its actor until its lease runs out."""
    stage.send(note(stage.main, "go"))
    claim = claimed(stage)
    until = claim.actor.lease_until
    monkeypatch.setattr(claims, "now_ms", lambda: until - 1)
    assert stage.claim(owner="proc_two") is None
    assert recover(stage, lambda _owner: False) == []
    assert stage.actor().owner == "proc_one"


def test_an_expired_lease_lets_another_take_over(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    accepted = [stage.send(prompt(stage.main, "one")).id]
    old = claimed(stage)
    stage.drain(old)
    leave_a_tool_running(stage)
    accepted.append(stage.send(prompt(stage.main, "two")).id)
    monkeypatch.setattr(claims, "now_ms", lambda: old.actor.lease_until)
    new = claimed(stage, owner="proc_two")
    assert [turn.outcome for turn in turns(stage)] == ["interrupted", None]
    assert new.turn.fence > old.turn.fence
    assert not any(is_open(part) for message in stage.history() for part in message.parts)
    assert texts(stage.drain(new)) == ["two"]
    assert_laws(stage, accepted)


def test_a_process_that_is_proven_dead_loses_its_actor_at_once(stage: Stage) -> None:
    stage.send(note(stage.main, "go"))
    claimed(stage)
    claimed(stage, owner="proc_two", is_dead=lambda owner: owner == "proc_one")
    assert [turn.outcome for turn in turns(stage)] == ["interrupted", None]


def test_renewing_keeps_an_actor(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    stage.send(note(stage.main, "go"))
    claim = claimed(stage)
    clock = claim.actor.lease_until - 1_000
    monkeypatch.setattr(claims, "now_ms", lambda: clock)
    (actor,) = stage.do(lambda tx: claims.renew(tx, "proc_one"))
    assert actor.lease_until == clock + claims.LEASE_MS
    clock = claim.actor.lease_until + 1_000
    assert stage.claim(owner="proc_two") is None
    assert stage.do(lambda tx: claims.renew(tx, "proc_two")) == []


def writes(stage: Stage, claim: Claim) -> list[Callable[[], object]]:
    """Every kind of guarded write, under `claim`."""
    return [
        lambda: stage.drain(claim),
        lambda: stage.settle(claim),
        lambda: stage.do(lambda tx: actors.set_retry(tx, claim, None)),
        lambda: stage.do(lambda tx: actors.check_fence(tx, claim)),
        lambda: stage.do(lambda tx: actors.check_held(tx, claim)),
    ]


def test_every_write_of_an_old_claim_is_refused(stage: Stage) -> None:
    stage.send(note(stage.main, "go"))
    old = claimed(stage)
    claimed(stage, owner="proc_two", is_dead=everybody_is_dead)
    before = (stage.actor(), stage.rows(), turns(stage))
    for write in writes(stage, old):
        with pytest.raises(StaleFenceError, match="no longer owns"):
            write()
    assert (stage.actor(), stage.rows(), turns(stage)) == before


def test_a_claim_is_worthless_once_its_turn_has_ended(stage: Stage) -> None:
    stage.send(note(stage.main, "go"))
    claim = claimed(stage)
    stage.drain(claim)
    stage.settle(claim)
    for write in writes(stage, claim):
        with pytest.raises(StaleFenceError):
            write()
    stage.send(note(stage.main, "go on"))
    again = claimed(stage)
    with pytest.raises(StaleFenceError):
        stage.settle(claim)
    stage.drain(again)
    assert stage.settle(again) == "idle"


def test_recovery_ends_turns_of_the_dead_and_names_who_has_mail(stage: Stage) -> None:
    accepted = [stage.send(prompt(stage.main, "go")).id]
    stage.drain(claimed(stage))
    leave_a_tool_running(stage)
    accepted.append(stage.send(note(stage.helper, "go")).id)
    assert recover(stage) == ["explore-1"]
    assert stage.actor().status == "idle"
    assert stage.actor(stage.helper).status == "pending"
    assert turns(stage)[0].outcome == "interrupted"
    assert_laws(stage, accepted)


def test_recovery_of_an_undrained_turn_names_its_actor(stage: Stage) -> None:
    stage.send(prompt(stage.main, "go"))
    claimed(stage)
    assert recover(stage) == ["main"]
    assert texts(stage.drain(claimed(stage, owner="proc_two"))) == ["go"]


def test_a_second_recovery_changes_nothing(stage: Stage) -> None:
    stage.send(prompt(stage.main, "go"))
    stage.drain(claimed(stage))
    leave_a_tool_running(stage)
    recover(stage)
    before = (stage.actor(), stage.history(), turns(stage))
    stage.events.clear()
    assert recover(stage) == []
    assert (stage.actor(), stage.history(), turns(stage)) == before
    assert stage.events == []


def test_recovery_leaves_actors_of_living_processes_alone(stage: Stage) -> None:
    stage.send(prompt(stage.main, "go"))
    stage.send(note(stage.helper, "go"))
    claimed(stage)
    claimed(stage, address=stage.helper, owner="proc_two")
    leave_a_tool_running(stage, "explore-1")
    before = (stage.actor(stage.helper), stage.history(stage.helper))
    recover(stage, lambda owner: owner == "proc_one")
    assert (stage.actor(stage.helper), stage.history(stage.helper)) == before
    assert stage.actor().owner is None


def test_budgets_are_kept_in_the_row_of_the_turn(stage: Stage) -> None:
    stage.send(note(stage.main, "go"))
    claim = claimed(stage, budgets=Budgets({"steps": 5, "nudges": 2}))
    spent = claim.turn.budgets.spend(steps=2, nudges=1)
    stage.do(lambda tx: turn_store.save_progress(tx, claim, Progress(spent, 2, 10, 0.5)))
    (turn,) = turns(stage)
    assert (turn.budgets, turn.steps, turn.tokens, turn.cost) == (spent, 2, 10, 0.5)
    assert turn.budgets.left("steps") == 3
    assert turn.budgets.left("unlimited") == float("inf")
    assert turn.budgets.refill(frozenset({"nudges"})).used == {"steps": 2}
