"""Whatever happens to two actors in whichever order, the laws of inbox and lease hold."""

from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from stage import HELPER, Stage, assert_laws, note, prompt

from roost.actors import turn_store
from roost.actors.cancel import request_cancel
from roost.actors.models import Claim
from roost.core.errors import ConflictError, StaleFenceError, UsageError
from roost.inbox import changes
from roost.inbox import store as inbox
from roost.inbox.models import RUNTIME_KINDS, Address

WHO = st.sampled_from(["main", HELPER])
OUTCOMES = st.sampled_from(["success", "success", "failure", "cancelled"])
PROCESSES = 2


class Household(RuleBasedStateMachine):
    """Two actors, and processes that run them, die and come back under new names."""

    def __init__(self) -> None:
        super().__init__()
        self.stage = Stage(None)
        self.stage.furnish()
        self.accepted: list[str] = []
        self.keys: dict[tuple[str, str], str] = {}
        self.processes = [f"proc_{n}" for n in range(PROCESSES)]
        self.dead: set[str] = set()
        self.held: dict[str, Claim] = {}
        """The claims that are good, by actor."""
        self.stale: list[Claim] = []

    def at(self, actor_id: str) -> Address:
        return Address(self.stage.session_id, actor_id)

    def is_dead(self, owner: str) -> bool:
        return owner in self.dead

    # Mail

    @rule(who=WHO, wake=st.booleans(), is_prompt=st.booleans())
    def send(self, who: str, wake: bool, is_prompt: bool) -> None:
        write = prompt if is_prompt else note
        before = self.stage.actor(self.at(who)).status
        receipt = self.stage.send(write(self.at(who), f"{len(self.accepted)}", wake=wake))
        assert receipt.new
        assert receipt.pending == (wake and before == "idle")
        self.accepted.append(receipt.id)

    @rule(who=WHO, key=st.sampled_from("abc"), text=st.sampled_from(["x", "y"]))
    def send_under_a_key(self, who: str, key: str, text: str) -> None:
        known = self.keys.get((who, key))
        letter = note(self.at(who), text, key=key)
        if known is None:
            self.accepted.append(self.stage.send(letter).id)
            self.keys[who, key] = text
            return
        try:
            assert not self.stage.send(letter).new
        except ConflictError:
            rows = [row for row in self.stage.rows() if row.key == key]
            states = [row.state for row in rows if row.receiver == letter.receiver]
            assert known != text or states == ["rejected"]

    @rule(data=st.data())
    def withdraw(self, data: st.DataObject) -> None:
        if not self.accepted:
            return
        row_id = data.draw(st.sampled_from(self.accepted))
        row = self.stage.read(lambda db: inbox.get(db, row_id))
        if row.kind in RUNTIME_KINDS:
            with pytest.raises(UsageError):
                self.stage.do(lambda tx: changes.withdraw(tx, row_id))
        elif row.state == "queued":
            self.stage.do(lambda tx: changes.withdraw(tx, row_id))
        else:
            with pytest.raises(ConflictError):
                self.stage.do(lambda tx: changes.withdraw(tx, row_id))

    # Turns

    @rule(who=WHO, process=st.integers(0, PROCESSES - 1), resume=st.booleans())
    def claim(self, who: str, process: int, resume: bool) -> None:
        owner, address = self.processes[process], self.at(who)
        if who in self.held and self.held[who].actor.owner == owner:
            return  # a process does not ask for what it is running
        got = self.stage.claim(
            address,
            owner=owner,
            is_dead=self.is_dead,
            reason="resume" if resume else "mail",
        )
        waited = self.stage.read(lambda db: inbox.has_mail(db, address))
        assert (got is not None) == (who not in self.held and (waited or resume))
        if got is not None:
            self.held[who] = got

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def drain(self, data: st.DataObject) -> None:
        claim = self.held[data.draw(st.sampled_from(sorted(self.held)))]
        self.stage.drain(claim)

    @precondition(lambda self: self.held)
    @rule(data=st.data(), outcome=OUTCOMES)
    def settle(self, data: st.DataObject, outcome: str) -> None:
        who = data.draw(st.sampled_from(sorted(self.held)))
        claim = self.held[who]
        waits = self.stage.read(lambda db: inbox.has_mail(db, claim.address))
        settled = self.stage.settle(claim, outcome)
        if outcome == "success":
            assert settled == ("more" if waits else "idle")
        else:
            assert settled == ("pending" if waits else "idle")
        if settled != "more":
            self.stale.append(self.held.pop(who))

    @rule(who=WHO, mode=st.sampled_from(["graceful", "forced"]))
    def cancel(self, who: str, mode: Any) -> None:
        self.stage.do(lambda tx: request_cancel(tx, self.at(who), mode))

    @precondition(lambda self: self.stale)
    @rule(data=st.data())
    def write_with_an_old_claim(self, data: st.DataObject) -> None:
        claim = data.draw(st.sampled_from(self.stale))
        for write in (self.stage.drain, self.stage.settle):
            with pytest.raises(StaleFenceError):
                write(claim)

    # Trouble

    @rule(process=st.integers(0, PROCESSES - 1))
    def crash(self, process: int) -> None:
        owner = self.processes[process]
        self.dead.add(owner)
        self.processes[process] = f"{owner}'"
        self.lose(owner)

    @rule(process=st.integers(0, PROCESSES - 1))
    def fall_silent_for_too_long(self, process: int) -> None:
        """The leases run out and another process takes over, though this one still lives."""
        owner = self.processes[process]
        self.stage.do(
            lambda tx: tx.run("UPDATE actor SET lease_until = 0 WHERE owner = ?", (owner,))
        )
        self.lose(owner)
        self.recover()

    def lose(self, owner: str) -> None:
        lost = [who for who, claim in self.held.items() if claim.actor.owner == owner]
        for who in lost:
            claim = self.held.pop(who)
            if owner not in self.dead:
                self.stale.append(claim)

    @rule()
    def recover(self) -> None:
        waiting = self.stage.recover(self.is_dead)
        free = [self.at(who) for who in ("main", HELPER) if who not in self.held]
        mail = [who for who in free if self.stage.read(lambda db, a=who: inbox.has_mail(db, a))]
        assert set(waiting) <= set(mail)
        assert all(self.stage.actor(who).status == "pending" for who in mail)

    @invariant()
    def the_laws_hold(self) -> None:
        known = set(self.accepted)
        said = [row for row in self.stage.rows() if row.id not in known]
        assert {row.kind for row in said} <= RUNTIME_KINDS
        self.accepted += [row.id for row in said]
        assert_laws(self.stage, self.accepted)
        self.each_ended_turn_has_one_notice()
        rows = self.stage.read(lambda db: db.all("SELECT id FROM message"))
        assert len({row["id"] for row in rows}) == len(rows)
        for who, claim in self.held.items():
            actor = self.stage.actor(self.at(who))
            assert (actor.owner, actor.fence) == (claim.actor.owner, claim.turn.fence)

    def each_ended_turn_has_one_notice(self) -> None:
        turns = self.stage.read(lambda db: turn_store.turns_of(db, self.at(HELPER)))
        told = [row.sender_turn for row in self.stage.rows() if row.kind == "notice"]
        assert sorted(map(str, told)) == sorted(t.id for t in turns if t.phase == "ended")

    def teardown(self) -> None:
        self.stage.close()


TestHousehold = Household.TestCase
TestHousehold.settings = settings(
    max_examples=40,
    stateful_step_count=30,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
