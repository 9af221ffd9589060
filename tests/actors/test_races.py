"""Two threads, each with a connection of its own as two processes have, meet at a barrier and do
what must not get into each other's way; again and again, in whichever order it happens.

Transactions are whole, so what can differ is which of the two comes first: 500 tries each.
"""

import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import pytest
from family_stage import SMALL, FamilyStage, assert_family_laws
from stage import everybody_is_dead, everybody_lives, furnish, note, prompt

from roost.actors import claim as claims
from roost.actors import liveness, store, turn_store
from roost.actors.aged import expire_unread
from roost.actors.cancel import cancel_tree
from roost.actors.ending import notice_key
from roost.actors.models import Actor, Claim
from roost.core.clock import now_ms
from roost.core.errors import ConflictError, StaleFenceError, UsageError
from roost.db.transaction import Transaction
from roost.inbox import changes
from roost.inbox import store as inbox
from roost.inbox.models import Address
from roost.sessions import store as sessions

RUNS = int(os.environ.get("ROOST_RACES", "500"))
JITTER = 0.0006
Deed = Callable[[FamilyStage], Any]


class Arena:
    """A database and two threads that race on it; what they raise is what they give."""

    def __init__(self, path: Path) -> None:
        self.here = FamilyStage(path)
        self._barrier = threading.Barrier(2)
        self._threads = [ThreadPoolExecutor(1), ThreadPoolExecutor(1)]
        self._stages = [one.submit(FamilyStage, path).result() for one in self._threads]
        self.seen: set[str] = set()
        """Which ways it went: a race that always goes one way shows nothing."""

    def fresh(self) -> FamilyStage:
        """A new session, alone in the database."""
        old = self.here.session_id
        self.here.do(lambda tx: sessions.delete(tx, old))
        self.here.session_id = self.here.do(furnish)
        return self.here

    def race(self, *deeds: Deed) -> list[Any]:
        """What came of both, an error included."""
        pairs = zip(self._threads, self._stages, deeds, strict=True)
        both = [thread.submit(self._do, stage, deed) for thread, stage, deed in pairs]
        return [one.result(timeout=30) for one in both]

    def _do(self, stage: FamilyStage, deed: Deed) -> Any:
        self._barrier.wait(10)
        time.sleep(random.random() * JITTER)
        try:
            return deed(stage)
        except (StaleFenceError, UsageError, ConflictError) as error:
            return error

    def close(self) -> None:
        for thread, stage in zip(self._threads, self._stages, strict=True):
            thread.submit(stage.close).result()
            thread.shutdown()
        self.here.close()


@pytest.fixture
def arena(tmp_path: Path) -> Iterator[Arena]:
    made = Arena(tmp_path / "roost.db")
    made.here.connection.execute("PRAGMA synchronous = OFF")
    yield made
    made.close()


def running(stage: FamilyStage, address: Address, owner: str = "proc_a") -> Claim:
    """A turn of an actor that has heard one prompt."""
    stage.send(prompt(address, "go"))
    claim = stage.claim(address, owner=owner, limits=SMALL)
    assert claim is not None
    stage.take(claim)
    return claim


def live_on(stage: FamilyStage) -> None:
    """Turns of whoever mail waits for, until all are at rest; then the laws hold."""
    for actor in stage.actors():
        if actor.status == "running":
            stage.do(lambda tx, who=actor: _let_go(tx, who))
    for _ in range(20):
        pending = [one for one in stage.actors() if one.status == "pending"]
        for actor in pending:
            claim = stage.claim(actor.address, owner="last", limits=SMALL)
            if claim is not None:
                stage.take(claim)
                stage.end(claim, "cancelled" if claim.actor.cancel else "success")
    assert {one.status for one in stage.actors()} == {"idle"}
    assert_family_laws(stage, [row.id for row in stage.rows()])
    assert not [row for row in stage.rows() if row.state == "queued" and row.wake]


def _let_go(tx: Transaction, actor: Actor) -> None:
    claims.recover_actor(tx, actor.address, everybody_is_dead, SMALL)


def test_mail_that_comes_while_its_receiver_settles_is_heard(arena: Arena) -> None:
    for _ in range(RUNS):
        stage = arena.fresh()
        claim = running(stage, stage.main)
        settled, receipt = arena.race(
            lambda one, c=claim: one.end(c, "success"),
            lambda one, to=stage.main: one.send(note(to, "just in time")),
        )
        arena.seen.add(settled)
        assert settled == ("idle" if receipt.pending else "more")
        assert stage.actor().status == ("pending" if receipt.pending else "running")
        if settled == "more":
            stage.take(claim)
            assert stage.end(claim, "success") == "idle"
        live_on(stage)
        assert {row.state for row in stage.rows()} == {"delivered"}
    assert arena.seen == {"idle", "more"}


def test_of_two_senders_one_wakes_the_receiver_and_both_are_heard(arena: Arena) -> None:
    for _ in range(RUNS):
        stage = arena.fresh()
        deeds = [lambda one, to=stage.main, n=n: one.send(note(to, f"{n}")) for n in range(2)]
        first, second = arena.race(*deeds)
        assert first.pending != second.pending
        assert first.pending == (first.seq < second.seq)
        arena.seen.add("first" if first.pending else "second")
        live_on(stage)
    assert len(arena.seen) == 2


def test_of_two_processes_one_gets_an_actor(arena: Arena) -> None:
    for _ in range(RUNS):
        stage = arena.fresh()
        stage.send(prompt(stage.main, "go"))
        got = arena.race(
            *(lambda one, to=stage.main, o=o: one.claim(to, owner=o) for o in ("proc_a", "proc_b"))
        )
        (won,) = [claim for claim in got if claim is not None]
        assert stage.actor().owner == won.actor.owner
        assert stage.actor().turns == 1
        arena.seen.add(won.actor.owner)
        live_on(stage)
    assert len(arena.seen) == 2


def test_a_child_that_is_spawned_while_its_parent_is_stopped_is_stopped_too(arena: Arena) -> None:
    for _ in range(RUNS):
        stage = arena.fresh()
        claim = running(stage, stage.main)
        made, _ = arena.race(
            lambda one, c=claim: one.spawn(c, peer=random.random() < 0.5, background=True),
            lambda one, top=stage.main: one.do(lambda tx: cancel_tree(tx, top, "forced")),
        )
        arena.seen.add(type(made).__name__)
        below = [one for one in stage.below(stage.main) if one.status != "idle"]
        assert len(below) == (0 if isinstance(made, UsageError) else 1)
        assert all(one.cancel == "forced" for one in below)
        live_on(stage)
        told = [row for row in stage.rows() if row.kind == "notice"]
        assert len(told) == len(below)
    assert arena.seen == {"Actor", "UsageError"}


def test_a_turn_that_ends_while_it_is_stopped_ends_once(arena: Arena) -> None:
    for _ in range(RUNS):
        stage = arena.fresh()
        claim = running(stage, stage.helper)
        settled, marked = arena.race(
            lambda one, c=claim: one.end(c, "success"),
            lambda one, top=stage.helper: one.do(lambda tx: cancel_tree(tx, top, "forced")),
        )
        arena.seen.add(str(len(marked)))
        assert settled == "idle"
        assert stage.actor(stage.helper).cancel is None, "a late mark does not hit the next turn"
        live_on(stage)
        (turn,) = stage.read(lambda db, who=stage.helper: turn_store.turns_of(db, who))
        assert turn.outcome == "success"
    assert arena.seen == {"0", "1"}


def test_mail_that_comes_while_its_receiver_is_claimed_is_heard(arena: Arena) -> None:
    for _ in range(RUNS):
        stage = arena.fresh()
        stage.send(note(stage.main, "one"))
        claim, receipt = arena.race(
            lambda one, to=stage.main: one.claim(to, owner="proc_a"),
            lambda one, to=stage.main: one.send(note(to, "two")),
        )
        assert claim is not None
        assert not receipt.pending
        stage.take(claim)
        assert stage.end(claim, "success") == "idle"
        live_on(stage)
        assert {row.state for row in stage.rows()} == {"delivered"}


@pytest.mark.parametrize("write", ["settle", "take", "spawn"])
def test_of_a_slow_owner_and_who_takes_over_one_writes(arena: Arena, write: str) -> None:
    deeds: dict[str, Callable[[FamilyStage, Claim], Any]] = {
        "settle": lambda one, claim: one.end(claim, "failure"),
        "take": lambda one, claim: one.take(claim),
        "spawn": lambda one, claim: one.spawn(claim, peer=False, background=True),
    }
    for _ in range(RUNS // 3):
        stage = arena.fresh()
        old = running(stage, stage.main)
        stage.send(note(stage.main, "more"))
        stage.do(lambda tx: tx.run("UPDATE actor SET lease_until = 0"))
        wrote, new = arena.race(
            lambda one, c=old: deeds[write](one, c),
            lambda one, to=stage.main: one.claim(to, owner="proc_b", is_dead=everybody_lives),
        )
        arena.seen.add(type(wrote).__name__)
        if new is not None:
            assert new.turn.fence > old.turn.fence
            with pytest.raises(StaleFenceError):
                stage.take(old)
        live_on(stage)
        turns = stage.read(lambda db, who=stage.main: turn_store.turns_of(db, who))
        assert (turns[0].outcome == "failure") == (wrote == "pending")
    assert len(arena.seen) == 2


def test_a_notice_that_comes_while_the_parent_settles_is_heard_once(arena: Arena) -> None:
    for _ in range(RUNS):
        stage = arena.fresh()
        parent, child = running(stage, stage.main), running(stage, stage.helper)
        settled, _ = arena.race(
            lambda one, c=parent: one.end(c, "success"),
            lambda one, c=child: one.end(c, "success"),
        )
        arena.seen.add(settled)
        assert stage.actor().status == ("running" if settled == "more" else "pending")
        live_on(stage)
        (told,) = [row for row in stage.rows() if row.kind == "notice"]
        assert told.state == "delivered"
    assert arena.seen == {"idle", "more"}


def test_a_run_that_gives_up_while_its_child_ends_tells_the_result_once(arena: Arena) -> None:
    def give_up(one: FamilyStage, parent: Claim, child: Claim) -> bool:
        """What `run` does at its time limit: the result if there is one, else it lets go."""
        if one.outcome(child) is not None:
            return one.consume(parent, child.turn.id)
        one.do(lambda tx: store.set_background(tx, child.address))
        return False

    for _ in range(RUNS):
        stage = arena.fresh()
        parent = running(stage, stage.main)
        made = stage.spawn(parent, peer=False, background=False)
        child = stage.claim(made.address, owner="proc_a", limits=SMALL)
        assert child is not None
        stage.take(child)
        inline, _ = arena.race(
            lambda one, p=parent, c=child: give_up(one, p, c),
            lambda one, c=child: one.end(c, "success"),
        )
        arena.seen.add(str(inline))
        key = notice_key(child.turn.id)
        row = stage.read(lambda db, to=stage.main, k=key: inbox.by_key(db, to, k))
        assert row is not None
        assert row.state == ("delivered" if inline else "queued")
        live_on(stage)
    assert arena.seen == {"True", "False"}


def test_two_processes_that_recover_tell_and_resume_once(arena: Arena) -> None:
    def recover(one: FamilyStage) -> list[Address]:
        return one.recover(everybody_is_dead, SMALL)

    for _ in range(RUNS):
        stage = arena.fresh()
        running(stage, stage.main)
        running(stage, stage.helper)
        arena.race(recover, recover)
        own = [row for row in stage.rows() if row.kind != "prompt"]
        assert sorted(row.kind for row in own) == ["notice", "system"]
        assert stage.actor(stage.helper).resumed == 1
        live_on(stage)
        turns = stage.read(lambda db, who=stage.helper: turn_store.turns_of(db, who))
        assert [turn.outcome for turn in turns] == ["interrupted", "success"]


def test_a_sign_of_life_and_the_watchdog_agree_on_whether_it_was_silent(arena: Arena) -> None:
    for _ in range(RUNS):
        stage = arena.fresh()
        claim = running(stage, stage.helper)
        stage.do(lambda tx: tx.run("UPDATE actor SET last_activity = 1"))
        seen = stage.actor(stage.helper)
        assert liveness.is_stalled(seen, now_ms(), SMALL.stall_seconds)
        arena.race(
            lambda one, s=seen: one.do(lambda tx: liveness.tell_of_stalls(tx, [s])),
            lambda one, c=claim: one.do(lambda tx: store.note_activity(tx, c)),
        )
        told = [row for row in stage.rows() if row.kind == "notice"]
        assert len(told) <= 1
        assert stage.actor(stage.helper).stalled is None, "it has stirred, whichever came first"
        arena.seen.add(str(len(told)))
        live_on(stage)
    assert arena.seen == {"0", "1"}


def test_a_result_is_told_by_the_tool_or_heard_by_who_takes_over(arena: Arena) -> None:
    def by_tool(one: FamilyStage, parent: Claim, turn_id: str) -> bool:
        return one.consume(parent, turn_id)

    for _ in range(RUNS):
        stage = arena.fresh()
        parent, child = running(stage, stage.main), running(stage, stage.helper)
        stage.end(child, "success")
        stage.do(lambda tx: tx.run("UPDATE actor SET lease_until = 0"))

        def take_over(one: FamilyStage, to: Address = stage.main) -> int:
            claim = one.claim(to, owner="proc_b", is_dead=everybody_lives)
            return len(one.take(claim)) if claim is not None else 0

        inline, heard = arena.race(
            lambda one, p=parent, t=child.turn.id: by_tool(one, p, t), take_over
        )
        told = inline is True
        arena.seen.add(str(told))
        assert told + heard == 1
        live_on(stage)
    assert arena.seen == {"True", "False"}


@pytest.mark.parametrize("how", ["expire", "withdraw"])
def test_a_message_is_heard_or_gone_but_never_both(arena: Arena, how: str) -> None:
    for _ in range(RUNS // 2):
        stage = arena.fresh()
        claim = running(stage, stage.main)
        sent = stage.send(note(stage.main, "words"))

        def undo(one: FamilyStage, row_id: str = sent.id) -> Any:
            if how == "withdraw":
                return one.do(lambda tx: changes.withdraw(tx, row_id))
            later = now_ms() + 1_000
            where = one.actors()[0].session_id
            return one.do(lambda tx: expire_unread(tx, where, later, 100))

        heard, _ = arena.race(lambda one, c=claim: one.take(c), undo)
        row = stage.read(lambda db, i=sent.id: inbox.get(db, i))
        gone = {"expire": "expired", "withdraw": "rejected"}[how]
        assert row.state == ("delivered" if heard else gone)
        arena.seen.add(row.state)
        live_on(stage)
    assert len(arena.seen) == 2


def test_subagents_beyond_the_limit_on_running_ones_wait(arena: Arena) -> None:
    one_only = msgspec.structs.replace(SMALL, running=1)
    for _ in range(RUNS):
        stage = arena.fresh()
        parent = running(stage, stage.main)
        children = [stage.spawn(parent, peer=False, background=True) for _ in range(2)]
        got = arena.race(
            *(
                lambda one, to=child.address: one.claim(to, owner="proc_a", limits=one_only)
                for child in children
            )
        )
        (won,) = [claim for claim in got if claim is not None]
        assert won.address == children[0].address, "who has waited longest"
        assert stage.actor(children[1].address).status == "pending"
        live_on(stage)
