"""A damaged row of an actor hides no other, gives it no right, and lets it be stopped and woken."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from stage import LIMITS, Stage, everybody_is_dead, note, prompt

from roost.actors import claim as claims
from roost.actors import family, tree_budgets, turn_store
from roost.actors import store as actors
from roost.actors.cancel import cancel_tree
from roost.actors.models import Actor, Budgets, Claim
from roost.actors.view import view
from roost.db.transaction import Reader

DAMAGE = [
    ("tools", "["),
    ("tools", '{"a":1}'),
    ("output_schema", "{"),
    ("output_schema", "[1]"),
    ("retry", "{}"),
    ("mode", "captain"),
    ("lifecycle", "eternal"),
    ("status", "dreaming"),
    ("cancel", "gently"),
    ("context_mode", "all"),
    ("created", "yesterday"),
    ("fence", "high"),
    ("turns", "many"),
    ("waiting_until", "soon"),
]
LOOKS: dict[str, Callable[[Reader, Stage], list[Actor]]] = {
    "of a session": lambda db, stage: actors.of_session(db, stage.session_id),
    "children": lambda db, stage: family.children(db, stage.main),
    "descendants": lambda db, stage: family.descendants(db, stage.main),
    "at work": lambda db, _: actors.not_idle(db),
    "of an owner": lambda db, _: actors.owned_by(db, "proc_one"),
}


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    """`main` with two children at work, `explore-1` and `explore-2`."""
    one = Stage(tmp_path / "roost.db")
    one.furnish()
    second = msgspec.structs.replace(one.actor(one.helper), actor_id="explore-2")
    one.do(lambda tx: actors.register(tx, second))
    for address in (one.helper, second.address):
        one.send(note(address, "go"))
        held = one.claim(address)
        assert held is not None
        one.drain(held)
    yield one
    one.close()


def damage(stage: Stage, column: str, value: Any, table: str = "actor") -> None:
    sql = f"UPDATE {table} SET {column} = ? WHERE actor_id = ?"
    stage.connection.execute(sql, (value, stage.helper.actor_id))


@pytest.mark.parametrize(("column", "value"), DAMAGE)
def test_the_others_are_seen_as_ever_and_the_damage_is_named(
    stage: Stage, column: str, value: str
) -> None:
    damage(stage, column, value)
    for name, look in LOOKS.items():
        found = {
            actor.actor_id: actor for actor in stage.read(lambda db, look=look: look(db, stage))
        }
        assert found["explore-2"].damage == "", name
        assert found["explore-1"].damage == column, name
    seen = stage.read(lambda db: view(db, actors.get(db, stage.helper)))
    assert seen.damage == column
    assert msgspec.json.encode(seen)


@pytest.mark.parametrize(("column", "value"), DAMAGE)
def test_it_is_stopped_taken_over_and_woken_again(stage: Stage, column: str, value: str) -> None:
    damage(stage, column, value)
    marked = stage.do(lambda tx: cancel_tree(tx, stage.main, "forced"))
    assert {actor.actor_id for actor in marked} == {"explore-1", "explore-2"}
    stage.recover(everybody_is_dead)
    assert stage.actor(stage.helper).owner is None
    stage.send(prompt(stage.helper, "again"))
    held = stage.claim(stage.helper)
    assert held is not None
    assert stage.do(lambda tx: actors.check_fence(tx, held)).status == "running"
    stage.drain(held)
    assert stage.settle(held) == "idle"


@pytest.mark.parametrize("value", ["[", "null", "5", '["read", 1]'])
def test_tools_that_cannot_be_read_are_none(stage: Stage, value: str) -> None:
    damage(stage, "tools", value)
    assert stage.actor(stage.helper).tools == ()


def test_a_mode_that_is_not_known_is_the_one_of_the_place(stage: Stage) -> None:
    stage.connection.execute("UPDATE actor SET mode = 'captain', lifecycle = 'eternal'")
    main, helper = stage.actor(), stage.actor(stage.helper)
    assert (main.mode, main.lifecycle) == ("main", "persistent")
    assert (helper.mode, helper.lifecycle) == ("subagent", "ephemeral")


def test_whoever_held_an_actor_whose_fence_is_damaged_holds_it_no_more(stage: Stage) -> None:
    stage.send(prompt(stage.main, "go"))
    held = stage.claim()
    assert held is not None
    stage.connection.execute("UPDATE actor SET fence = 'high' WHERE actor_id = 'main'")
    stage.recover(everybody_is_dead)
    stage.send(prompt(stage.main, "again"))
    again = stage.claim()
    assert again is not None
    assert again.turn.fence > held.turn.fence


def test_a_turn_whose_budgets_are_damaged_ends_as_ever(stage: Stage) -> None:
    damage(stage, "budgets", "{", "turn")
    turn = stage.read(lambda db: turn_store.find_turn(db, stage.helper, 1))
    assert turn is not None
    assert turn.budgets == Budgets()
    held = Claim(stage.actor(stage.helper), turn, LIMITS)
    assert stage.settle(held) == "idle"
    (ended,) = stage.read(lambda db: turn_store.turns_of(db, stage.helper))
    assert ended.outcome == "success"


def test_limits_of_a_tree_that_are_damaged_are_those_of_the_turn(stage: Stage) -> None:
    budgets = Budgets({tree_budgets.TOKENS: 100})
    stage.send(prompt(stage.main, "go"))
    held = stage.claim(budgets=budgets)
    assert held is not None
    stage.do(lambda tx: tree_budgets.begin(tx, held, budgets))
    stage.do(lambda tx: tree_budgets.charge(tx, held, 30, 0.0))
    stage.connection.execute("UPDATE tree SET limits = '['")
    left = stage.read(lambda db: tree_budgets.read(db, held, budgets))
    assert left.left(tree_budgets.TOKENS) == 70


def test_leases_of_the_others_are_renewed(stage: Stage) -> None:
    damage(stage, "retry", "{")
    held = stage.do(lambda tx: claims.renew(tx, "proc_one"))
    assert {actor.actor_id for actor in held} == {"explore-1", "explore-2"}
