from typing import Any

import msgspec
import pytest
from step_samples import (
    AGENT,
    after,
    facts,
    failed,
    person,
    ran,
    runtime,
    step,
    thought,
    words,
)

from roost.actors.models import Budgets
from roost.sessions.models import Message, MessageError
from roost.turn.classes import StepClass, row_of, traits_of
from roost.turn.models import (
    Action,
    Blocked,
    Cancelled,
    Completed,
    Delivered,
    Failed,
    Inject,
    Repeat,
    Review,
    Sample,
    Stop,
)
from roost.turn.policies import cancel, invalid, length, limits, repetition, text_tool_call
from roost.turn.verdict import REFILLED_BY_A_PERSON, verdict

CALL_WORDS = text_tool_call.WORDS.format(form="<tool_call>")
TEXT_CALL = 'I will read it.\n<tool_call>{"name": "read"}</tool_call>'
STEPS: list[tuple[str, Message, StepClass, Any]] = [
    ("an answer", step(words("done")), "final", Stop("success")),
    ("an answer with thought", step(thought("hm"), words("done")), "final", Stop("success")),
    ("a promise of calls", step(words("done"), finish="tool-calls"), "invalid", invalid.NO_CALL),
    ("calls", step(words("let me"), ran(), finish="tool-calls"), "continue", Sample()),
    ("calls that stop", step(words("done"), ran(), finish="stop"), "continue", Sample()),
    ("calls at the limit", step(ran(), finish="length"), "continue", Sample()),
    ("calls and a filter", step(ran(), finish="content-filter"), "continue", Sample()),
    ("a failed call", step(failed(), finish="tool-calls"), "continue", Sample()),
    ("nothing", step(), "invalid", invalid.EMPTY),
    ("blank words", step(words(" \n")), "invalid", invalid.EMPTY),
    ("ignored words", step(words("x", ignored=True)), "invalid", invalid.EMPTY),
    ("only thought", step(thought("hm")), "think-only", invalid.THINK_ONLY),
    ("thought to the limit", step(thought("hm"), finish="length"), "think-only", invalid.TOO_LONG),
    ("a cut answer", step(words("half of"), finish="length"), "final", length.WORDS),
    ("a call in words", step(words(TEXT_CALL)), "text-tool-call", CALL_WORDS),
    ("talk of calls", step(words("Write `<tool_call>` for that.")), "final", Stop("success")),
    ("calls in code", step(words("So:\n```xml\n<invoke name=\n```")), "final", Stop("success")),
    ("a filtered answer", step(finish="content-filter"), "filtered", "ContentFilterError"),
]


def classify(message: Message) -> StepClass:
    return row_of(traits_of(message)).kind


@pytest.mark.parametrize(
    ("message", "kind", "follows"), [s[1:] for s in STEPS], ids=[s[0] for s in STEPS]
)
def test_every_kind_of_step_has_its_class_and_what_follows(
    message: Message, kind: StepClass, follows: Any
) -> None:
    assert classify(message) == kind
    action = verdict(after(message))
    match follows:
        case str() if follows.endswith("Error"):
            assert isinstance(action, Stop)
            assert action.outcome == "failure"
            assert action.error is not None
            assert action.error.name == follows
        case str():
            assert isinstance(action, Inject)
            assert action.words == follows
        case _:
            assert action == follows


def error(name: Any) -> MessageError:
    return MessageError(name, {"message": "it broke"})


def test_what_cannot_be_mended_ends_the_turn_with_its_own_error() -> None:
    broken = step(words("half"), finish="error", error="APIError")
    assert verdict(after(Failed(broken, error("APIError")))) == Stop("failure", error("APIError"))
    assert verdict(after(Blocked(step(failed(), finish="tool-calls")))) == Stop("cancelled")
    assert verdict(after(Cancelled(step(), "forced"))) == Stop("cancelled")


def test_a_turn_begins_with_a_call_of_the_model() -> None:
    assert verdict(facts()) == Sample()
    assert verdict(facts(runtime())) == Sample()
    assert verdict(facts(person(), step(ran()))) == Sample()


def test_a_turn_that_wakes_with_nothing_to_answer_ends() -> None:
    assert verdict(facts(person(), step(words("done")))) == Stop("success")
    died = step(words("half"), finish=None, error="MessageAbortedError")
    action = verdict(facts(person(), died))
    assert action == Stop("failure", error("MessageAbortedError"))


def test_a_call_that_was_interrupted_counts_as_no_result() -> None:
    broken = step(failed(interrupted=True), finish=None, error="MessageAbortedError")
    assert classify(broken) == "failed"
    assert classify(step(failed(interrupted=True), ran())) == "continue"


# Nudges and their budgets

CUT = step(words("x"), finish="length")
CALL_IN_WORDS = step(words(TEXT_CALL))
LOOP = Repeat(step(words("x")), "a loop")
NUDGES = [
    (invalid.BUDGET, invalid.LIMIT, step(), False, "InvalidOutputError"),
    (invalid.BUDGET, invalid.LIMIT, step(thought("hm")), False, "InvalidOutputError"),
    (length.BUDGET, length.LIMIT, CUT, False, "MessageOutputLengthError"),
    (text_tool_call.BUDGET, text_tool_call.LIMIT, CALL_IN_WORDS, True, "InvalidOutputError"),
    (repetition.BUDGET, repetition.LIMIT, LOOP, True, "RepetitionError"),
]


@pytest.mark.parametrize(("budget", "limit", "outcome", "hides", "name"), NUDGES)
def test_a_nudge_is_repeated_as_often_as_its_budget_says_and_then_the_turn_fails(
    budget: str, limit: int, outcome: Any, hides: bool, name: str
) -> None:
    budgets = Budgets()
    for _ in range(limit):
        action = verdict(after(outcome, budgets=budgets))
        assert isinstance(action, Inject)
        assert (action.policy, bool(action.hide)) == (budget, hides)
        budgets = budgets.spend(**{action.policy: 1})
    action = verdict(after(outcome, budgets=budgets))
    assert isinstance(action, Stop)
    assert action.outcome == "failure"
    assert action.error is not None
    assert action.error.name == name


@pytest.mark.parametrize(("budget", "limit", "outcome", "hides", "name"), NUDGES)
def test_a_person_who_speaks_refills_the_nudges(
    budget: str, limit: int, outcome: Any, hides: bool, name: str
) -> None:
    used = Budgets().spend(**{budget: limit, "tokens": 500})
    refilled = used.refill(REFILLED_BY_A_PERSON)
    assert refilled.used == {"tokens": 500}
    assert isinstance(verdict(after(outcome, budgets=refilled)), Inject)


@pytest.mark.parametrize("budget", sorted({nudge[0] for nudge in NUDGES}))
def test_a_configured_limit_outranks_the_default(budget: str) -> None:
    outcome = next(nudge[2] for nudge in NUDGES if nudge[0] == budget)
    none = Budgets({budget: 0})
    assert isinstance(verdict(after(outcome, budgets=none)), Stop)
    many = Budgets({budget: 50}, {budget: 49})
    assert isinstance(verdict(after(outcome, budgets=many)), Inject)


# Limits

LIMITS = [
    ("steps", {"limits": {"steps": 5}}, 5, 0.0),
    ("tokens", {"limits": {"tokens": 1_000}, "used": {"tokens": 1_200}}, 2, 0.0),
    ("cost", {"limits": {"cost": 0.5}, "used": {"cost": 0.5}}, 2, 0.0),
    ("seconds", {"limits": {"seconds": 60}}, 2, 61.0),
    ("invalid_calls", {"limits": {"invalid_calls": 3}, "used": {"invalid_calls": 3}}, 2, 0.0),
]


@pytest.mark.parametrize(("name", "given", "steps", "elapsed"), LIMITS)
def test_a_limit_allows_one_more_step_to_report_and_then_the_turn_fails(
    name: str, given: dict[str, Any], steps: int, elapsed: float
) -> None:
    start = facts(person(), step(ran()), budgets=Budgets(**given), steps=steps, elapsed=elapsed)
    closing = verdict(start)
    assert isinstance(closing, Sample)
    assert closing.closing
    assert closing.spend == limits.REPORT
    assert "limit of this turn" in closing.words
    for last in (step(words("This is done, that is not.")), step(ran()), step()):
        ended = verdict(start.after(Completed(last)))
        assert isinstance(ended, Stop)
        assert ended.outcome == "failure"
        assert ended.error is not None
        assert ended.error.name == "LimitError"
        assert (
            name.removeprefix("invalid_").removesuffix("s") in ended.error.message or name == "cost"
        )


@pytest.mark.parametrize(("name", "given", "steps", "elapsed"), LIMITS)
def test_a_turn_below_its_limits_goes_on_and_one_that_just_answered_has_succeeded(
    name: str, given: dict[str, Any], steps: int, elapsed: float
) -> None:
    below = facts(person(), step(ran()), budgets=Budgets(given["limits"]), steps=1, elapsed=1.0)
    assert verdict(below) == Sample()
    budgets = Budgets(given["limits"])
    answered = after(step(words("done")), budgets=budgets, steps=steps - 1, elapsed=1.0)
    assert verdict(answered) == Stop("success")


@pytest.mark.parametrize(("of_agent", "of_turn"), [(5, 9), (9, 5)])
def test_the_smaller_limit_of_steps_holds(of_agent: int, of_turn: int) -> None:
    agent = msgspec.structs.replace(AGENT, steps=of_agent)
    given = {"agent": agent, "budgets": Budgets({"steps": of_turn})}
    below, at = (facts(person(), step(ran()), steps=steps, **given) for steps in (4, 5))
    assert verdict(below) == Sample()
    closing = verdict(at)
    assert isinstance(closing, Sample)
    assert closing.closing


def test_the_first_step_of_a_turn_is_always_a_full_one() -> None:
    spent = Budgets({"steps": 0, "tokens": 10}, {"tokens": 10})
    assert verdict(facts(budgets=spent, elapsed=99)) == Sample()


def test_a_turn_does_not_begin_where_all_actors_together_have_used_up_what_they_may() -> None:
    agent = msgspec.structs.replace(AGENT, steps=0)
    spent = Budgets({"tree_tokens": 10, "tokens": 1}, {"tree_tokens": 10, "tokens": 1})
    ended = verdict(facts(budgets=spent, agent=agent))
    assert isinstance(ended, Stop)
    assert ended.error is not None
    assert ended.error.name == "LimitError"
    assert ended.error.message == (
        "Stopped by the limit: 10 tokens of all actors together. The next prompt counts from "
        "nothing; `limits.tree_tokens` allows more"
    )
    below = Budgets({"tree_tokens": 11, "tokens": 1}, {"tree_tokens": 10, "tokens": 1})
    assert verdict(facts(budgets=below, agent=agent)) == Sample()


def test_a_nudge_at_the_limit_leads_to_the_report_and_not_past_it() -> None:
    budgets = Budgets({"steps": 3})
    nudge = verdict(after(step(), budgets=budgets, steps=2))
    assert isinstance(nudge, Inject)
    closing = verdict(facts(person(), step(), runtime(), budgets=budgets, steps=3))
    assert isinstance(closing, Sample)
    assert closing.closing


# Hooks


def test_a_turn_that_hooks_refuse_does_not_begin() -> None:
    ended = verdict(facts(refusal="not today", cancel="graceful", gated=True))
    assert isinstance(ended, Stop)
    assert (ended.outcome, ended.gated) == ("failure", True)
    assert ended.error is not None
    assert ended.error.name == "HookError"
    assert ended.error.message == "A hook keeps the turn back: not today"


def test_a_turn_that_hooks_stop_takes_no_further_step() -> None:
    ended = verdict(msgspec.structs.replace(facts(refusal="enough"), steps=2))
    assert isinstance(ended, Stop)
    assert ended.error is not None
    assert ended.error.message == "A hook stops the turn: enough"


def test_what_is_due_at_the_end_of_a_turn_stands_in_its_stop() -> None:
    good = after(step(words("done")), gated=True, review=Review(finalize=True))
    assert verdict(good) == Stop("success", gated=True, finalize=True)
    cut = after(step(words("done")), cancel="forced", review=Review(finalize=True))
    assert verdict(cut) == Stop("cancelled")


@pytest.mark.parametrize(
    ("found", "follows"),
    [
        (Delivered("success"), Stop("success")),
        (Delivered("success", "One more thing."), Inject("post_stop", "One more thing.")),
        (Delivered("success", "One more thing.", prompted=True), Stop("success")),
    ],
    ids=["nobody objects", "a hook objects", "a person goes first"],
)
def test_once_the_result_is_delivered_only_a_hook_lets_a_turn_go_on(
    found: Delivered, follows: Action
) -> None:
    assert verdict(after(step(words("done")), delivered=found)) == follows


# Cancels


def test_a_forced_cancel_stops_at_once_wherever_it_is_seen() -> None:
    assert verdict(facts(cancel="forced")) == Stop("cancelled")
    assert verdict(facts(person(), step(ran()), steps=3, cancel="forced")) == Stop("cancelled")
    assert verdict(after(step(words("done")), cancel="forced")) == Stop("cancelled")


def test_a_graceful_cancel_gets_one_last_word() -> None:
    assert verdict(facts(cancel="graceful")) == Stop("cancelled")
    start = facts(person(), step(ran()), steps=2, cancel="graceful")
    last = verdict(start)
    assert last == Sample(closing=True, spend=cancel.BUDGET, words=cancel.WORDS)
    for ended in (step(words("I stopped here.")), step(ran()), step()):
        assert verdict(start.after(Completed(ended))) == Stop("cancelled")
    spent = Budgets().spend(**{cancel.BUDGET: 1})
    assert verdict(facts(person(), step(ran()), steps=2, cancel="graceful", budgets=spent)) == Stop(
        "cancelled"
    )
