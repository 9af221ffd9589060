import os
import subprocess
import sys
from itertools import chain
from pathlib import Path

import msgspec
from stage import Stage, assert_laws, note, prompt, texts

from roost.actors import store as actors
from roost.actors import turn_store
from roost.actors.claim import LEASE_MS
from roost.actors.owner import Owner
from roost.actors.send import send
from roost.core.clock import now_ms
from roost.db.transaction import Transaction
from roost.inbox.models import Address

RACING = Path(__file__).with_name("racing.py")


def start(stage: Stage, *what: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
    return subprocess.Popen(
        [sys.executable, str(RACING), str(stage.path), *what],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_a_process_is_alive_until_it_ends_and_then_provably_dead(tmp_path: Path) -> None:
    me, other = Owner(tmp_path), Owner(tmp_path)
    assert not me.is_dead(other.id)
    assert not me.is_dead(me.id)
    os.close(other._handle)
    assert me.is_dead(other.id)
    assert me.is_dead(other.id)
    me.close()


def test_nobody_is_called_dead_without_proof(tmp_path: Path) -> None:
    me, other = Owner(tmp_path), Owner(tmp_path)
    other.close()
    assert not me.is_dead(other.id)
    assert not me.is_dead("proc_unknown")
    assert not me.is_dead("../../etc/passwd")
    me.close()


def test_locks_of_the_dead_are_removed_once_nobody_names_them(tmp_path: Path) -> None:
    me, named, forgotten, alive = (Owner(tmp_path) for _ in range(4))
    os.close(named._handle)
    os.close(forgotten._handle)
    me.remove_dead({named.id})
    left = {path.stem for path in tmp_path.iterdir()}
    assert left == {me.id, named.id, alive.id}
    assert me.is_dead(named.id)
    me.close()
    alive.close()


def test_the_lock_of_a_process_that_is_killed_is_proof_and_of_a_silent_one_is_none(
    stage: Stage,
) -> None:
    accepted = [stage.send(prompt(stage.main, "go")).id]
    process = start(stage, "hold")
    assert process.stdout is not None
    holder = process.stdout.readline().strip()
    assert stage.actor().owner == holder
    me = Owner(stage.path.parent / "owners")
    assert not me.is_dead(holder)
    assert stage.claim(owner=me.id, is_dead=me.is_dead) is None
    process.kill()
    process.communicate()
    assert me.is_dead(holder)
    claim = stage.claim(owner=me.id, is_dead=me.is_dead)
    assert claim is not None
    assert claim.actor.owner == me.id
    assert texts(stage.drain(claim)) == ["go"]
    assert_laws(stage, accepted)
    me.close()


def register_many(stage: Stage, number: int) -> list[Address]:
    """So many actors with a letter each."""
    main = stage.actor()

    def register(tx: Transaction) -> list[Address]:
        made = [msgspec.structs.replace(main, actor_id=f"racer-{n}") for n in range(number)]
        for actor in made:
            actors.register(tx, actor)
            send(tx, note(actor.address, "go"))
        return [actor.address for actor in made]

    return stage.do(register)


def names_until_done(process: subprocess.Popen[str]) -> list[str]:
    assert process.stdout is not None
    return [line.strip() for line in iter(process.stdout.readline, "done\n")]


def test_of_processes_that_race_for_an_actor_exactly_one_wins(stage: Stage) -> None:
    racers = register_many(stage, 200)
    processes = [start(stage, "race") for _ in range(3)]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    won = [names_until_done(process) for process in processes]
    for process in processes:
        process.communicate(timeout=60)
    assert [process.returncode for process in processes] == [0, 0, 0]
    assert sorted(chain(*won)) == sorted(address.actor_id for address in racers)
    for address in racers:
        (turn,) = stage.read(lambda db, who=address: turn_store.turns_of(db, who))
        assert (turn.number, turn.fence) == (1, 1)


def test_a_lease_far_in_the_future_holds_only_for_an_owner_that_provably_lives(
    stage: Stage, tmp_path: Path
) -> None:
    me, other = Owner(tmp_path / "owners"), Owner(tmp_path / "owners")
    stage.send(prompt(stage.main, "go"))
    assert stage.claim(owner=other.id, is_dead=other.is_dead) is not None
    far = now_ms() + 1_000 * LEASE_MS
    stage.connection.execute("UPDATE actor SET lease_until = ?", (far,))
    assert stage.claim(owner=me.id, is_dead=me.is_dead, reason="resume") is None
    stage.connection.execute("UPDATE actor SET owner = 'proc_elsewhere' WHERE actor_id = 'main'")
    assert me.is_dead("proc_elsewhere") is None
    claim = stage.claim(owner=me.id, is_dead=me.is_dead, reason="resume")
    assert claim is not None
    assert claim.actor.owner == me.id
    stage.settle(claim)
    other.close()
    me.close()


def test_a_lease_of_an_owner_that_nobody_knows_holds_for_as_long_as_a_lease_may(
    stage: Stage, tmp_path: Path
) -> None:
    me = Owner(tmp_path / "owners")
    stage.send(prompt(stage.main, "go"))
    assert stage.claim(owner="proc_elsewhere") is not None
    assert stage.claim(owner=me.id, is_dead=me.is_dead, reason="resume") is None
    stage.connection.execute("UPDATE actor SET lease_until = ?", (now_ms() - 1,))
    assert stage.claim(owner=me.id, is_dead=me.is_dead, reason="resume") is not None
    me.close()
