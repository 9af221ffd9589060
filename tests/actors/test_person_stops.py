"""What a person's stop reaches: the turn, what it waits for, on request all below; nothing else."""

from typing import Any

import msgspec
import pytest
from stage import HELPER, Stage, note, prompt

from roost.actors import store as actors
from roost.actors.cancel import cancel_session, stop
from roost.actors.models import Claim
from roost.db.transaction import Transaction
from roost.inbox.models import Address
from roost.sessions import store as sessions
from roost.sessions.models import NewSession


@pytest.fixture
def running(stage: Stage) -> Claim:
    """Main runs a turn."""
    stage.send(prompt(stage.main, "go"))
    claim = stage.claim()
    assert claim is not None
    stage.drain(claim)
    return claim


def child(stage: Stage, name: str, parent: Address, *, background: bool) -> Address:
    """An actor that runs, below `parent`."""
    like = stage.actor(stage.helper)
    made = msgspec.structs.replace(like, actor_id=name, parent=parent, background=background)
    stage.do(lambda tx: actors.register(tx, made))
    stage.send(note(made.address, "work"))
    claim = stage.claim(made.address)
    assert claim is not None
    stage.drain(claim)
    return made.address


def stopped(stage: Stage, address: Address | None = None, **how: Any) -> list[str]:
    """Whom a forced stop of `address` marks."""
    marked = stage.do(lambda tx: stop(tx, address or stage.main, "forced", **how))
    return [actor.actor_id for actor in marked]


def test_a_stop_reaches_the_children_that_are_waited_for_and_all_below_them(
    stage: Stage, running: Claim
) -> None:
    waited = child(stage, "general-1", stage.main, background=False)
    child(stage, "explore-8", waited, background=True)
    child(stage, "explore-9", stage.main, background=True)
    assert stopped(stage) == ["main", "general-1", "explore-8"]
    assert stage.actor(Address(stage.session_id, "explore-9")).cancel is None


def test_a_stop_of_the_tree_reaches_all_that_is_at_work_below(stage: Stage, running: Claim) -> None:
    behind = child(stage, "explore-9", stage.main, background=True)
    child(stage, "explore-10", behind, background=True)
    assert set(stopped(stage, tree=True)) == {"main", "explore-9", "explore-10"}
    assert stage.actor(stage.helper).cancel is None, "one that sleeps is left alone"


def test_a_stop_of_one_who_sleeps_stops_its_tree_only_on_request(stage: Stage) -> None:
    child(stage, "explore-9", stage.main, background=False)
    assert stopped(stage) == []
    assert stopped(stage, tree=True) == ["explore-9"]


def test_the_news_of_others_wakes_nobody_whom_a_person_has_stopped(
    stage: Stage, running: Claim
) -> None:
    stage.send(note(stage.main, "sent before", kind="notice"))
    stopped(stage)
    stage.send(note(stage.main, "sent after", kind="notice"))
    assert stage.settle(running, "cancelled") == "idle"
    assert not stage.send(note(stage.main, "sent later", kind="notice")).pending
    assert stage.send(prompt(stage.main, "go on")).pending
    claim = stage.claim()
    assert claim is not None
    assert len(stage.drain(claim)) == 2, "the news together, then the prompt"
    assert stage.actor().held is False


def test_a_prompt_that_waits_is_heard_after_the_stop(stage: Stage, running: Claim) -> None:
    stage.send(prompt(stage.main, "and this"))
    stopped(stage)
    assert stage.settle(running, "cancelled") == "pending"


def test_a_stop_of_another_turn_changes_nothing(stage: Stage, running: Claim) -> None:
    assert stopped(stage, turn_id="trn_other") == []
    assert stage.actor().held is False
    assert stopped(stage, turn_id=running.turn.id) == ["main"]


def test_one_that_is_to_run_ends_unheard_only_where_it_is_meant_itself(stage: Stage) -> None:
    stage.send(prompt(stage.helper, "work"))
    assert stopped(stage, stage.helper) == []
    assert stage.actor(stage.helper).status == "pending"
    assert stopped(stage, stage.helper, due=True) == [HELPER]
    claim = stage.claim(stage.helper)
    assert claim is not None, "it has mail, takes it up and ends"
    assert claim.actor.cancel == "forced"


def test_a_session_is_stopped_with_the_sessions_below_it(stage: Stage, running: Claim) -> None:
    def furnish(tx: Transaction) -> str:
        new = NewSession(directory="/somewhere", project_id="p", parent_id=stage.session_id)
        below = sessions.create(tx, new)
        actors.register(tx, actors.new_main(below.id, "build"))
        return below.id

    below = Address(stage.do(furnish), "main")
    stage.send(prompt(below, "go"))
    assert stage.claim(below) is not None
    marked = stage.do(lambda tx: cancel_session(tx, stage.session_id, "forced"))
    assert [actor.address for actor in marked] == [stage.main, below]
