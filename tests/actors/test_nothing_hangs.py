"""What would leave an actor half awake, wake one that was stopped, or let a parent wait in vain."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from family_stage import SMALL, FamilyStage, assert_family_laws
from stage import everybody_is_dead, note, prompt

from roost.actors import liveness, store, turn_store
from roost.actors.cancel import cancel_tree, stop
from roost.actors.models import Actor, Claim
from roost.core.clock import now_ms
from roost.db.transaction import Transaction
from roost.inbox.drain import DRAIN_LIMIT
from roost.inbox.models import Address, InboxRow
from roost.inbox.notices import NoticeBody, words


@pytest.fixture
def family(tmp_path: Path) -> Iterator[FamilyStage]:
    made = FamilyStage(tmp_path / "roost.db")
    yield made
    assert_family_laws(made, [row.id for row in made.rows()])
    made.close()


def running(stage: FamilyStage, address: Address, **how: Any) -> Claim:
    """A turn of an actor that has heard all that waited for it, and a prompt if nothing did."""
    if not stage.has_mail(address):
        stage.send(prompt(address, "go"))
    claim = stage.claim(address, **{"limits": SMALL, **how})
    assert claim is not None
    stage.take(claim)
    return claim


def child(
    stage: FamilyStage, parent: Claim, *, peer: bool = False, background: bool = True
) -> Claim:
    """A running child of a turn."""
    return running(stage, stage.spawn(parent, peer=peer, background=background).address)


def notices(stage: FamilyStage) -> list[InboxRow]:
    return [row for row in stage.rows() if row.kind == "notice"]


def kill_tree(stage: FamilyStage, top: Address) -> list[Actor]:
    return stage.do(lambda tx: cancel_tree(tx, top, "forced"))


def test_one_that_is_taken_over_but_has_to_wait_for_room_is_to_run_and_not_half_running(
    family: FamilyStage,
) -> None:
    parent = running(family, family.main)
    made = [child(family, parent) for _ in range(2)]
    one_only = msgspec.structs.replace(SMALL, running=1)
    got = family.claim(
        made[0].address, owner="proc_two", is_dead=everybody_is_dead, limits=one_only
    )
    assert got is None
    actor = family.actor(made[0].address)
    assert (actor.status, actor.owner) == ("pending", None)
    assert family.outcome(made[0]) == "interrupted"


def test_the_room_that_an_actor_takes_itself_does_not_keep_it_waiting(family: FamilyStage) -> None:
    lost = child(family, running(family, family.main))
    one_only = msgspec.structs.replace(SMALL, running=1)
    again = family.claim(lost.address, owner="two", is_dead=everybody_is_dead, limits=one_only)
    assert again is not None
    assert again.actor.owner == "two"


def test_one_that_is_taken_over_while_it_waited_for_mail_waits_no_longer(
    family: FamilyStage,
) -> None:
    lost = child(family, running(family, family.main))
    family.do(lambda tx: store.set_waiting(tx, lost, now_ms() + 60_000))
    again = family.claim(lost.address, owner="two", is_dead=everybody_is_dead, limits=SMALL)
    assert again is not None
    assert family.actor(lost.address).waiting_until is None
    assert liveness.is_watched(family.actor(lost.address))


def test_the_end_of_a_child_does_not_wake_a_parent_that_was_stopped_with_it(
    family: FamilyStage,
) -> None:
    peer = child(family, running(family, family.main), peer=True)
    below = child(family, peer)
    kill_tree(family, peer.address)
    assert family.end(peer, "cancelled") == "idle"
    family.end(below, "cancelled")
    assert family.actor(peer.address).status == "idle", "the news waits"
    assert [row.wake for row in notices(family)] == [True, False]


def test_what_others_said_to_an_actor_that_is_stopped_starts_no_turn_of_it(
    family: FamilyStage,
) -> None:
    parent = running(family, family.main)
    stopped = child(family, parent)
    family.send(note(stopped.address, "before"))
    kill_tree(family, stopped.address)
    family.send(note(stopped.address, "meanwhile"))
    assert family.end(stopped, "cancelled") == "idle"
    words_of_parent = note(stopped.address, "go on", sender=family.main)
    assert family.send(words_of_parent).pending
    again = family.claim(stopped.address, limits=SMALL)
    assert again is not None
    (heard,) = family.take(again)
    assert len(heard.parts) == 3


def test_one_that_is_stopped_before_it_heard_its_brief_ends_cancelled_once(
    family: FamilyStage,
) -> None:
    made = family.spawn(running(family, family.main), peer=False, background=True)
    claim = family.claim(made.address, limits=SMALL)
    assert claim is not None
    kill_tree(family, made.address)
    assert family.end(claim, "cancelled") == "idle", "the brief does not start it again"
    assert len(notices(family)) == 1


def test_a_person_who_stops_a_child_that_is_still_to_run_lets_its_parent_know(
    family: FamilyStage,
) -> None:
    made = family.spawn(running(family, family.main), peer=False, background=False)
    family.do(lambda tx: stop(tx, made.address, "forced"))
    claim = family.claim(made.address, limits=SMALL)
    assert claim is not None
    assert claim.actor.cancel == "forced"
    family.take(claim)
    family.end(claim, "cancelled")
    (told,) = notices(family)
    assert isinstance(told.body, NoticeBody)
    assert told.body.notice == "cancelled"


def test_a_child_that_was_waited_for_works_in_the_background_from_its_second_turn_on(
    family: FamilyStage,
) -> None:
    first = child(family, running(family, family.main), background=False)
    assert not family.actor(first.address).background
    family.end(first, "success")
    family.send(note(first.address, "one more thing", sender=family.main))
    running(family, first.address)
    family.recover(everybody_is_dead, SMALL)
    (_, interrupted) = notices(family)
    assert isinstance(interrupted.body, NoticeBody)
    assert interrupted.body.resumed, "it goes on, since nobody waits for it"


@pytest.mark.parametrize("between", ["success", "failure", "cancelled"])
def test_only_deaths_in_a_row_count_towards_the_limit_on_resuming(
    family: FamilyStage, between: str
) -> None:
    claim = child(family, running(family, family.main))
    family.recover(everybody_is_dead, SMALL)
    assert family.actor(claim.address).resumed == 1
    family.end(running(family, claim.address), between)
    assert family.actor(claim.address).resumed == 0


def test_one_that_is_silent_again_and_again_has_one_notice_that_waits_and_says_the_newest(
    family: FamilyStage,
) -> None:
    claim = child(family, running(family, family.main))
    for seconds in (400, 500, 600):
        fall_silent(family, claim, seconds)
        family.do(lambda tx: store.note_activity(tx, claim))
    (told,) = notices(family)
    assert "no activity for 600 s" in words(told.body)
    family.take(Claim(family.actor(), turn_of(family)))
    fall_silent(family, claim, 700)
    assert [row.state for row in notices(family)] == ["delivered", "queued"]


def fall_silent(stage: FamilyStage, claim: Claim, seconds: int) -> None:
    since = now_ms() - seconds * 1000
    who = (claim.address.session_id, claim.address.actor_id)

    def wait(tx: Transaction) -> None:
        sql = "UPDATE actor SET last_activity = ? WHERE session_id = ? AND actor_id = ?"
        tx.run(sql, (since, *who))
        actor = store.get(tx, claim.address)
        assert liveness.is_stalled(actor, now_ms(), SMALL.stall_seconds)
        liveness.tell_of_stalls(tx, [actor])

    stage.do(wait)


def turn_of(stage: FamilyStage) -> Any:
    current = stage.actor().current_turn
    assert current is not None
    return stage.read(lambda db: turn_store.get_turn(db, current))


def test_many_results_at_once_are_heard_in_one_turn_a_hundred_a_step(family: FamilyStage) -> None:
    claim = running(family, family.main)
    ids = [
        family.send(note(family.main, "x" * 2_000, kind="notice")).id
        for _ in range(10 * DRAIN_LIMIT)
    ]
    steps = 0
    heard: list[str] = []
    while family.end(claim, "success") == "more":
        (message,) = family.take(claim)
        assert len(message.parts) == DRAIN_LIMIT
        heard += [entry["id"] for entry in message.info.provenance["inbox"]]
        steps += 1
    assert (steps, heard) == (10, ids)
    assert family.actor().turns == 1
