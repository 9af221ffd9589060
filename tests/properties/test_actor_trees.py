"""Whatever happens to a tree of actors in whichever order, nothing is lost, doubled or left
hanging: spawning, mail, ends of every kind, stops, deaths, takeovers and recoveries.
"""

import os
from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec
import pytest
from family_stage import SMALL, FamilyStage, assert_family_laws, assert_lease, refused
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from stage import note, prompt

from roost.actors import claim as claims
from roost.actors import liveness
from roost.actors.aged import expire_unread
from roost.actors.cancel import cancel_foreground, cancel_tree, request_cancel, stop
from roost.actors.ending import notice_key
from roost.actors.limits import RESUMES
from roost.actors.models import Actor, Claim
from roost.actors.store import set_waiting
from roost.core.clock import now_ms
from roost.core.errors import ConflictError, StaleFenceError, UsageError
from roost.inbox import changes
from roost.inbox.models import RUNTIME_KINDS, Address
from roost.sessions import repair

MODES = st.sampled_from(["graceful", "forced"])
OUTCOMES = st.sampled_from(["success", "success", "failure", "cancelled", "interrupted"])
PROCESSES = 2
T = TypeVar("T")
LONG = os.environ.get("ROOST_LONG_PROPERTIES", "")


def picked(data: st.DataObject, among: Sequence[T]) -> T:
    """One of them, drawn by its place, since ids differ from run to run."""
    return among[data.draw(st.integers(0, 1_000)) % len(among)]


class Family(RuleBasedStateMachine):
    """One tree, and processes that run it, fall silent, die, and come back under new names."""

    def __init__(self) -> None:
        super().__init__()
        self.stage = FamilyStage()
        self.accepted: list[str] = []
        self.processes = [f"proc_{n}" for n in range(PROCESSES)]
        self.dead: set[str] = set()
        self.held: dict[Address, Claim] = {}
        """The claims that are good."""
        self.finalizing: set[Address] = set()
        self.silent: set[Address] = set()
        """Those of `held` whose lease has run out."""
        self.stale: list[Claim] = []
        self.seen: dict[Address, int] = {}
        """Every actor that ever was, with the highest fence it had."""
        self.marked: set[Address] = set()
        """Those that were claimed although they were to stop, past the limit on running ones."""

    @initialize()
    def begin(self) -> None:
        self.stage.send(prompt(self.stage.main, "go"))
        self.try_to_claim(self.stage.main, self.processes[0])

    # Who

    def limits(self, *, resume: bool = True) -> Any:
        return msgspec.structs.replace(SMALL, recovery="resume" if resume else "fail")

    def is_dead(self, owner: str) -> bool:
        return owner in self.dead

    def anybody(self, data: st.DataObject) -> Actor:
        return picked(data, self.stage.actors())

    def holder(self, data: st.DataObject) -> Claim:
        return picked(data, list(self.held.values()))

    # Mail

    @rule(data=st.data(), wake=st.booleans(), is_prompt=st.booleans())
    def send(self, data: st.DataObject, wake: bool, is_prompt: bool) -> None:
        receiver = self.anybody(data)
        letter = (prompt if is_prompt else note)(receiver.address, "words", wake=wake)
        receipt = self.stage.send(letter)
        wakes = wake and (is_prompt or not receiver.held)
        assert receipt.pending == (wakes and receiver.status == "idle")

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def send_from_a_turn(self, data: st.DataObject) -> None:
        sender, receiver = self.holder(data), self.anybody(data)
        if sender.address != receiver.address:
            letter = note(receiver.address, "words", sender=sender.address)
            self.stage.send(msgspec.structs.replace(letter, sender_turn=sender.turn.id))

    @rule(data=st.data())
    def withdraw(self, data: st.DataObject) -> None:
        rows = self.stage.rows()
        if not rows:
            return
        row = picked(data, rows)
        try:
            self.stage.do(lambda tx: changes.withdraw(tx, row.id))
        except UsageError:
            assert row.kind in RUNTIME_KINDS
        except ConflictError:
            assert row.state != "queued"
        else:
            assert row.state == "queued"

    # Turns

    @rule(data=st.data(), process=st.integers(0, PROCESSES - 1))
    def claim(self, data: st.DataObject, process: int) -> None:
        self.try_to_claim(self.anybody(data).address, self.processes[process])

    def try_to_claim(self, address: Address, owner: str) -> None:
        before = self.held.get(address)
        if before is not None and before.actor.owner == owner:
            return  # a process does not ask for what it is running
        actor = self.stage.actor(address)
        got = self.stage.claim(address, owner=owner, is_dead=self.is_dead, limits=self.limits())
        if before is not None and address not in self.silent:
            assert got is None
            return
        self.forget(address)
        if got is None:
            crowded = actor.mode == "subagent" and self.subagents_at_work() > SMALL.running
            assert crowded or not self.stage.has_mail(address)
            return
        self.held[address] = got
        if got.actor.cancel is not None:
            self.marked.add(address)

    def running_subagents(self) -> int:
        session = self.stage.session_id
        return sum(
            one.status == "running" and one.mode == "subagent" and one.session_id == session
            for one in self.stage.actors()
        )

    def subagents_at_work(self) -> int:
        """Those that run, and those that are to run and may have waited longer than another."""
        here = [one for one in self.stage.actors() if one.session_id == self.stage.session_id]
        return sum(one.status != "idle" and one.mode == "subagent" for one in here)

    def forget(self, address: Address) -> None:
        """The claim of `address` is good no more."""
        claim = self.held.pop(address, None)
        self.finalizing.discard(address)
        self.silent.discard(address)
        self.marked.discard(address)
        if claim is not None and claim.actor.owner not in self.dead:
            self.stale.append(claim)

    @precondition(lambda self: self.held)
    @rule(data=st.data(), peer=st.booleans(), background=st.booleans())
    def spawn(self, data: st.DataObject, peer: bool, background: bool) -> None:
        parent = self.holder(data)
        is_refused = self.stage.why_not(parent)
        known = set(self.seen)

        def make() -> None:
            child = self.stage.spawn(parent, peer=peer, background=background)
            assert child.address not in known
            assert child.status == "pending"
            assert child.depth == self.stage.actor(parent.address).depth + 1

        assert refused(make) == is_refused

    @precondition(lambda self: self.held)
    @rule(data=st.data(), runs_tool=st.booleans())
    def step(self, data: st.DataObject, runs_tool: bool) -> None:
        claim = self.holder(data)
        self.stage.take(claim, own_only=claim.address in self.finalizing)
        turn = (claim.turn.id,)
        opened = "SELECT 1 FROM message WHERE is_open = 1 AND turn_id = ?"
        if runs_tool and not self.stage.read(lambda db: db.all(opened, turn)):
            self.stage.say(claim, "", is_running=True)

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def wait_for_mail(self, data: st.DataObject) -> None:
        claim = self.holder(data)
        self.stage.do(lambda tx: set_waiting(tx, claim, now_ms() + 60_000))

    @precondition(lambda self: self.held)
    @rule(data=st.data(), outcome=OUTCOMES, finalize=st.booleans())
    def settle(self, data: st.DataObject, outcome: str, finalize: bool) -> None:
        claim = self.holder(data)
        address = claim.address
        finalize = finalize and outcome == "success"
        is_over = self.stage.outcome(claim) is not None
        waits = self.stage.has_mail(address)
        self.close_slice(claim)
        settled = self.stage.end(claim, outcome, finalize=finalize)
        if outcome == "success" and waits and not is_over:
            assert settled == "more"
        elif finalize:
            assert settled == "finalizing"
            self.finalizing.add(address)
        else:
            assert settled == ("pending" if self.stage.has_mail(address) else "idle")
            self.forget(address)

    def close_slice(self, claim: Claim) -> None:
        """A turn that ends leaves no call open."""
        self.stage.do(
            lambda tx: repair.repair(tx, claim.address.session_id, claim.address.actor_id)
        )

    @precondition(lambda self: self.finalizing)
    @rule(data=st.data())
    def go_on_after_the_end(self, data: st.DataObject) -> None:
        """A hook has something to say once the result is delivered; others wait."""
        address = picked(data, [at for at in self.held if at in self.finalizing])
        claim = self.held[address]
        words = note(address, "journal", kind="system", sender=address)
        self.stage.send(msgspec.structs.replace(words, sender_turn=claim.turn.id))
        heard = self.stage.take(claim, own_only=True)
        assert len(heard) == 1

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def hear_of_a_child_in_the_answer_of_a_tool(self, data: st.DataObject) -> None:
        parent = self.holder(data)
        notices = [
            row
            for row in self.stage.rows()
            if row.receiver == parent.address and (row.key or "").startswith("turn:")
        ]
        if not notices:
            return
        row = picked(data, notices)
        assert row.key == notice_key(row.sender_turn or "")
        told = self.stage.consume(parent, row.sender_turn or "")
        assert told == (row.state == "queued")

    # Stops

    @rule(data=st.data(), mode=MODES)
    def cancel_one(self, data: st.DataObject, mode: Any) -> None:
        self.stage.do(lambda tx: request_cancel(tx, self.anybody(data).address, mode))

    @rule(data=st.data(), mode=MODES)
    def cancel_all_below(self, data: st.DataObject, mode: Any) -> None:
        top = self.anybody(data).address
        self.stage.do(lambda tx: cancel_tree(tx, top, mode))
        for actor in [self.stage.actor(top), *self.stage.below(top)]:
            assert actor.status == "idle" or actor.cancel is not None

    @rule(data=st.data(), mode=MODES)
    def cancel_who_is_waited_for(self, data: st.DataObject, mode: Any) -> None:
        top = self.anybody(data).address
        self.stage.do(lambda tx: cancel_foreground(tx, top, mode))

    @rule(data=st.data(), mode=MODES, tree=st.booleans(), due=st.booleans())
    def stop_by_a_person(self, data: st.DataObject, mode: Any, tree: bool, due: bool) -> None:
        actor = self.anybody(data)
        self.stage.do(lambda tx: stop(tx, actor.address, mode, tree=tree, due=due))

    # Trouble

    @precondition(lambda self: self.stale)
    @rule(data=st.data())
    def write_with_an_old_claim(self, data: st.DataObject) -> None:
        claim = picked(data, self.stale)
        for write in (
            lambda: self.stage.take(claim),
            lambda: self.stage.end(claim, "success"),
            lambda: self.stage.spawn(claim, peer=False, background=True),
            lambda: self.stage.say(claim, "late"),
        ):
            with pytest.raises(StaleFenceError):
                write()

    @rule(process=st.integers(0, PROCESSES - 1))
    def crash(self, process: int) -> None:
        owner = self.processes[process]
        self.dead.add(owner)
        self.processes[process] = f"{owner}'"
        for address, claim in list(self.held.items()):
            if claim.actor.owner == owner:
                self.forget(address)

    @rule(process=st.integers(0, PROCESSES - 1))
    def fall_silent_for_too_long(self, process: int) -> None:
        """The leases run out, though the process lives and may go on to write."""
        owner = self.processes[process]
        self.stage.do(
            lambda tx: tx.run("UPDATE actor SET lease_until = 0 WHERE owner = ?", (owner,))
        )
        self.silent |= {at for at, one in self.held.items() if one.actor.owner == owner}

    @rule(process=st.integers(0, PROCESSES - 1))
    def renew(self, process: int) -> None:
        owner = self.processes[process]
        held = self.stage.do(lambda tx: claims.renew(tx, owner))
        mine = {at for at, one in self.held.items() if one.actor.owner == owner}
        assert {actor.address for actor in held} == mine
        self.silent -= mine

    @rule(resume=st.booleans())
    def recover(self, resume: bool) -> None:
        lost = {a.address for a in self.stage.actors() if self.is_lost(a)}
        resumed = {address: self.stage.actor(address).resumed for address in lost}
        self.stage.recover(self.is_dead, self.limits(resume=resume))
        for address in lost:
            self.forget(address)
            actor = self.stage.actor(address)
            assert actor.status == ("pending" if self.stage.has_mail(address) else "idle")
            assert resumed[address] <= actor.resumed <= RESUMES

    def is_lost(self, actor: Actor) -> bool:
        return actor.owner is not None and (
            actor.owner in self.dead or actor.address in self.silent
        )

    @rule(data=st.data())
    def look_for_the_silent(self, data: st.DataObject) -> None:
        actor = self.anybody(data)
        old = msgspec.structs.replace(actor, last_activity=now_ms() - 400_000)
        self.stage.do(
            lambda tx: tx.run(
                "UPDATE actor SET last_activity = ? WHERE session_id = ? AND actor_id = ?",
                (old.last_activity, actor.session_id, actor.actor_id),
            )
        )
        if liveness.is_stalled(old, now_ms(), SMALL.stall_seconds):
            self.stage.do(lambda tx: liveness.tell_of_stalls(tx, [old]))
            assert self.stage.actor(actor.address).stalled is not None

    @rule()
    def let_the_oldest_expire(self) -> None:
        """Nobody has read it for too long; whoever sent it is told, and nobody else is hurt."""
        queued = [row for row in self.stage.rows() if row.state == "queued"]
        if not queued:
            return
        later, there = now_ms() + 1_000, queued[0].receiver.session_id
        assert self.stage.do(lambda tx: expire_unread(tx, there, later, 1)) == 1
        oldest = next(row for row in self.stage.rows() if row.id == queued[0].id)
        assert oldest.state == "expired"

    # What must hold

    @invariant()
    def the_laws_hold(self) -> None:
        rows = self.stage.rows()
        old, new = rows[: len(self.accepted)], rows[len(self.accepted) :]
        assert [row.id for row in old] == self.accepted, "nothing goes, and order is kept"
        self.accepted += [row.id for row in new]
        if not self.dead_hold_nothing():
            return
        assert_family_laws(self.stage, self.accepted)

    def dead_hold_nothing(self) -> bool:
        """Whether every actor is held by who may hold it: else recovery is still to come."""
        return not any(one.owner in self.dead for one in self.stage.actors())

    @invariant()
    def who_holds_an_actor_holds_it_alone(self) -> None:
        for address, claim in self.held.items():
            if address not in self.silent:
                assert_lease(self.stage, claim)
        running = {one.address for one in self.stage.actors() if one.status == "running"}
        lost = {one.address for one in self.stage.actors() if one.owner in self.dead}
        assert running == set(self.held) | lost
        beyond = sum(a in self.marked for a in running)
        assert self.running_subagents() - beyond <= SMALL.running

    @invariant()
    def ids_are_new_and_fences_only_grow(self) -> None:
        actors = {one.address: one.fence for one in self.stage.actors()}
        for address, fence in self.seen.items():
            assert actors[address] >= fence
        self.seen = actors

    def teardown(self) -> None:
        """Everything comes to rest in the end, and everybody hears what they were told."""
        self.dead |= set(self.processes)
        for address in list(self.held):
            self.forget(address)
        self.stage.recover(self.is_dead, self.limits())
        for _ in range(200):
            pending = [one for one in self.stage.actors() if one.status == "pending"]
            if not pending:
                break
            for actor in pending:
                claim = self.stage.claim(actor.address, owner="last", limits=self.limits())
                if claim is not None:
                    self.stage.take(claim)
                    self.stage.end(claim, "cancelled" if claim.actor.cancel else "success")
        assert {one.status for one in self.stage.actors()} == {"idle"}
        assert_family_laws(self.stage, [row.id for row in self.stage.rows()])
        self.stage.close()


TestFamily = Family.TestCase
TestFamily.settings = settings(
    max_examples=1_000 if LONG else 60,
    stateful_step_count=80 if LONG else 40,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
