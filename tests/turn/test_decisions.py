"""What is kept of verdicts: all that did not go its usual way, with the budget that it used."""

from stage import Stage, prompt
from step_samples import after, facts, person, ran, step, words

from roost.actors import traces
from roost.actors.models import Budgets
from roost.actors.traces import KEPT, WORDS, Decided, HookAsked
from roost.turn.decisions import decided
from roost.turn.models import Facts
from roost.turn.policies import cancel, length
from roost.turn.verdict import verdict

CUT = step(words("half of it"), finish="length")


def kept(about: Facts) -> Decided | None:
    return decided(about, verdict(about))


def begun(stage: Stage) -> str:
    """A turn that runs."""
    stage.send(prompt(stage.main, "go"))
    claim = stage.claim()
    assert claim is not None
    return claim.turn.id


def test_nothing_is_kept_of_what_follows_by_itself() -> None:
    assert kept(facts()) is None
    assert kept(after(step(ran(), finish="tool-calls"))) is None
    assert kept(after(step(words("the answer")))) is None


def test_a_nudge_is_kept_with_its_words_and_what_is_left_of_its_budget() -> None:
    once = Budgets(used={length.BUDGET: 1.0})
    found = kept(after(CUT, budgets=once))
    assert found is not None
    assert (found.policy, found.action, found.budget) == ("length", "inject", length.BUDGET)
    assert (found.used, found.limit) == (2.0, length.LIMIT)
    assert found.words == length.WORDS
    assert found.message_id == CUT.info.id
    configured = Budgets(limits={length.BUDGET: 9.0})
    assert (kept(after(CUT, budgets=configured)) or found).limit == 9.0


def test_a_stop_is_kept_with_the_policy_and_the_reason() -> None:
    spent = Budgets(used={length.BUDGET: float(length.LIMIT)})
    found = kept(after(CUT, budgets=spent))
    assert found is not None
    assert (found.policy, found.action, found.outcome) == ("length", "stop", "failure")
    assert "still cut off" in found.words


def test_a_last_call_is_kept_before_it_is_made() -> None:
    found = kept(facts(person(), step(ran(), finish="tool-calls"), cancel="graceful", steps=1))
    assert found is not None
    assert (found.policy, found.action, found.budget) == ("cancel", "sample", cancel.BUDGET)
    assert found.words == cancel.WORDS


def test_facts_of_a_turn_are_bounded_in_number_and_length(stage: Stage) -> None:
    turn_id = begun(stage)
    many = tuple(
        HookAsked(on="actor.pre_stop", name=f"{number}", seconds=0.1, words="x" * 2 * WORDS)
        for number in range(KEPT + 20)
    )
    stage.do(lambda tx: traces.keep(tx, turn_id, many[:10]))
    stage.do(lambda tx: traces.keep(tx, turn_id, many[10:]))
    stage.do(lambda tx: traces.keep(tx, turn_id, many[:1]))
    stage.do(lambda tx: traces.keep(tx, "trn_gone", many[:1]))
    found = stage.read(lambda db: traces.of_turn(db, turn_id))
    assert [one.fact.name for one in found if isinstance(one.fact, HookAsked)] == [
        f"{number}" for number in range(KEPT)
    ]
    assert all(one.fact is not None and len(one.fact.words) == WORDS for one in found)
    assert stage.read(lambda db: traces.of_turn(db, "trn_gone")) == []


def test_what_cannot_be_read_hides_nothing_else(stage: Stage) -> None:
    turn_id = begun(stage)
    fact = Decided(policy="length", action="inject")
    stage.do(lambda tx: traces.keep(tx, turn_id, (fact, fact)))
    stage.do(lambda tx: tx.run("UPDATE turn_trace SET data = '{' WHERE seq = 1"))
    found = stage.read(lambda db: traces.of_turn(db, turn_id))
    assert [one.fact for one in found] == [None, fact]
