"""The table of classes, over every step that there can be."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from step_samples import facts, failed, person, ran, step, thought, words

from roost.actors.models import Budgets
from roost.sessions.models import Message
from roost.sessions.parts import ToolPart
from roost.turn.classes import TABLE, StepClass, Traits, row_of, traits_of
from roost.turn.models import Completed, Inject, Sample, Stop
from roost.turn.verdict import verdict

FINISHES = ("stop", "length", "tool-calls", "content-filter", "error", "other", "unknown", None)
TEXT_CALL = '<tool_call>{"name": "x", "arguments": {}}</tool_call>'
EVERY = [
    Traits(observed=o, error=e, finish=f, text_call=(c and "JSON") or "", text=t, reasoning=r)
    for o, e, f, c, t, r in product(
        (True, False), (True, False), FINISHES, (True, False), (True, False), (True, False)
    )
    if t or not c  # a call as text is text
]


def expected(traits: Traits) -> StepClass:
    """The same as the table says, told as a story."""
    if traits.observed:
        return "continue"
    if traits.error or traits.finish == "error":
        return "failed"
    if traits.finish == "content-filter":
        return "final" if traits.text else "filtered"
    if traits.text_call:
        return "text-tool-call"
    if traits.text:
        return "invalid" if traits.finish == "tool-calls" else "final"
    return "think-only" if traits.reasoning else "invalid"


@pytest.mark.parametrize("traits", EVERY, ids=str)
def test_every_step_has_the_class_that_the_story_tells(traits: Traits) -> None:
    assert row_of(traits).kind == expected(traits)


def test_the_first_promise_stands_above_all() -> None:
    assert {row_of(traits).kind for traits in EVERY if traits.observed} == {"continue"}
    assert {row_of(traits).kind for traits in EVERY if not traits.observed} == {
        "final", "text-tool-call", "filtered", "think-only", "invalid", "failed",
    }  # fmt: skip


def test_no_row_is_dead_and_the_last_one_fits_whatever_is_left() -> None:
    assert {TABLE.index(row_of(traits)) for traits in EVERY} == set(range(len(TABLE)))


def test_an_answer_is_degraded_where_its_end_is_abnormal_and_nowhere_else() -> None:
    for traits in EVERY:
        row = row_of(traits)
        usual = traits.finish in {"stop", "length"}
        assert bool(row.degraded) == (row.kind == "final" and not usual)


parts = st.lists(
    st.sampled_from(
        [
            ran("ls"),
            failed(),
            failed(interrupted=True),
            words("An answer."),
            words(" \n"),
            words("never sent", ignored=True),
            words("of the runtime", synthetic=True),
            words(TEXT_CALL),
            thought("Hm."),
            thought(" "),
        ]
    ),
    max_size=4,
)
steps = st.builds(
    lambda made, finish, error: step(*made, finish=finish, error=error),
    parts,
    st.sampled_from(FINISHES),
    st.sampled_from([None, None, "APIError", "MessageAbortedError"]),
)


@settings(max_examples=300, deadline=None, database=None)
@given(steps)
def test_a_tool_that_ran_always_goes_back_to_the_model(message: Message) -> None:
    interrupted = failed(interrupted=True).state
    tools = [part for part in message.parts if isinstance(part, ToolPart)]
    observed = any(part.state != interrupted for part in tools)
    assert traits_of(message).observed == observed
    action = verdict(facts().after(Completed(message)))
    assert (action == Sample()) == observed


@settings(max_examples=300, deadline=None, database=None)
@given(steps, st.integers(0, 3))
def test_a_step_that_is_found_is_judged_like_one_that_was_just_taken(
    message: Message, used: int
) -> None:
    spent = Budgets(used={"invalid": used, "length": used, "text_tool_call": used})
    taken = verdict(facts(person(), budgets=spent).after(Completed(message)))
    found = verdict(facts(person(), message, budgets=spent, steps=1))
    assert taken == found
    assert isinstance(taken, Sample | Inject | Stop)
    if isinstance(taken, Stop) and taken.outcome == "failure":
        assert taken.error is not None
