"""A person stops what a turn has left at work, in whichever moment its news comes."""

from collections.abc import Callable
from pathlib import Path

import pytest
from family_stage import SMALL, FamilyStage
from stage import note, prompt
from test_races import RUNS, Arena, arena, live_on, running

from roost.actors import turn_store
from roost.actors.cancel import stop_below
from roost.inbox.models import Address

__all__ = ["arena"]


def stop(one: FamilyStage, address: Address) -> bool:
    return one.do(lambda tx: stop_below(tx, address))


def stopping(address: Address) -> Callable[[FamilyStage], bool]:
    return lambda one: stop(one, address)


def left_at_work(stage: FamilyStage) -> None:
    """`main` has ended a turn, and `helper` works for it in the background."""
    first = running(stage, stage.main)
    assert stage.end(first, "success") == "idle"


def outcomes(stage: FamilyStage, address: Address) -> list[str | None]:
    turns = stage.read(lambda db: turn_store.turns_of(db, address))
    return [turn.outcome for turn in turns]


def test_news_that_comes_while_it_is_stopped_wakes_nobody(arena: Arena) -> None:
    for _ in range(RUNS):
        stage = arena.fresh()
        left_at_work(stage)
        child = running(stage, stage.helper)
        settled, stopped = arena.race(
            lambda one, c=child: one.end(c, "success"), stopping(stage.main)
        )
        assert settled == "idle"
        assert stopped is True
        assert stage.actor().status == "idle"
        assert stage.actor().held
        live_on(stage)
        assert outcomes(stage, stage.main) == ["success"], "no turn came of the news"


def test_a_turn_that_news_begins_while_it_is_stopped_does_not_go_on(arena: Arena) -> None:
    for _ in range(RUNS):
        stage = arena.fresh()
        left_at_work(stage)
        stage.send(note(stage.main, "news", kind="notice"))
        assert stage.actor().status == "pending"
        claim, stopped = arena.race(
            lambda one, to=stage.main: one.claim(to, owner="proc_a", limits=SMALL),
            stopping(stage.main),
        )
        assert stopped is True
        arena.seen.add("claimed" if claim else "not claimed")
        assert stage.actor().cancel == ("forced" if claim else None)
        assert stage.actor().status == ("running" if claim else "idle")
        live_on(stage)
    assert arena.seen == {"claimed", "not claimed"}


def test_a_prompt_that_comes_while_it_is_stopped_is_answered(arena: Arena) -> None:
    for _ in range(RUNS):
        stage = arena.fresh()
        left_at_work(stage)
        running(stage, stage.helper)
        _, stopped = arena.race(
            lambda one, to=stage.main: one.send(prompt(to, "and now?")), stopping(stage.main)
        )
        arena.seen.add(str(stopped))
        assert stage.actor().status == "pending"
        assert (stage.actor(stage.helper).cancel is not None) == stopped
        live_on(stage)
        assert outcomes(stage, stage.main)[:2] == ["success", "success"]
    assert arena.seen == {"True", "False"}


@pytest.fixture
def stage(tmp_path: Path) -> FamilyStage:
    return FamilyStage(tmp_path / "roost.db")


def test_a_turn_of_another_prompt_goes_on_with_all_below_it(stage: FamilyStage) -> None:
    left_at_work(stage)
    running(stage, stage.helper)
    running(stage, stage.main)
    assert not stop(stage, stage.main)
    assert stage.actor().cancel is None
    assert stage.actor(stage.helper).cancel is None
    stage.close()


def test_where_nothing_is_at_work_nothing_is_stopped_and_no_news_wakes(stage: FamilyStage) -> None:
    left_at_work(stage)
    assert not stop(stage, stage.main)
    stage.send(note(stage.main, "late news", kind="notice"))
    assert stage.actor().status == "idle"
    stage.close()
