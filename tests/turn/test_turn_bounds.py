"""Whatever a model does, a turn ends, and no budget is overdrawn."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from step_samples import facts, failed, mark, person, ran, runtime, step, thought, words

from roost.actors.models import Budgets
from roost.sessions.models import Message, MessageError
from roost.turn.models import (
    Blocked,
    Cancelled,
    Completed,
    Failed,
    Inject,
    Overflow,
    Repeat,
    Sample,
    Shorten,
    StepOutcome,
    Stop,
)
from roost.turn.verdict import verdict

STEPS = 12
NUDGES = {"length": 3, "invalid": 2, "text_tool_call": 2, "repetition": 2}
ERROR = MessageError("APIError", {"message": "it broke"})
TOO_LONG = MessageError("ContextOverflowError", {"message": "it is too long"})


class Played:
    """A turn driven to its end as the driver and `apply` do it."""

    def __init__(self, outcomes: list[StepOutcome], **changes: Any) -> None:
        self.messages: list[Message] = [person()]
        self.budgets = Budgets({"steps": STEPS})
        self.steps = 0
        self.closing = 0
        self.settled = 0
        self.end: Stop | None = None
        self._changes = changes
        for outcome in outcomes:
            if self.end is None:
                self._round(outcome)

    def _round(self, outcome: StepOutcome) -> None:
        start = facts(
            *self.messages,
            budgets=self.budgets,
            steps=self.steps,
            settled=self.settled,
            **self._changes,
        )
        action = verdict(start)
        if isinstance(action, Sample):
            self.closing += action.closing
            action = verdict(start.after(outcome))
            self.messages.append(outcome.message)
            self.steps += 1
        match action:
            case Stop():
                self.end = action
            case Inject(policy=policy):
                self.budgets = self.budgets.spend(**{policy: 1})
                self.messages.append(runtime())
            case Sample(spend=spend):
                if spend:
                    self.budgets = self.budgets.spend(**{spend: 1})
            case Shorten(attempt=attempt):
                self.messages = [mark(attempt), person()]
                self.settled = 2


numbers = st.integers(0, 3)
messages = st.one_of(
    numbers.map(lambda n: step(ran(f"command {n}"), finish="tool-calls")),
    st.builds(lambda n, f: step(words(f"part {n}"), finish=f), numbers, st.just("length")),
    st.just(step()),
    st.just(step(thought("hm"), finish="length")),
    st.just(step(words('<tool_call>{"name": "bash"}'))),
    st.just(step(failed(), ran("x"), finish="stop")),
)
outcomes = st.one_of(
    messages.map(Completed),
    messages.map(lambda message: Repeat(message, "a loop")),
    st.just(Overflow(step(hidden=True, finish="other"), TOO_LONG)),
)
ends = st.one_of(
    messages.map(Blocked),
    messages.map(lambda message: Failed(message, ERROR)),
    messages.map(lambda message: Cancelled(message, "forced")),
)


@settings(max_examples=100, deadline=None, database=None)
@given(st.lists(outcomes, min_size=60, max_size=60))
def test_a_turn_ends_within_its_budgets_whatever_the_model_does(played: list[StepOutcome]) -> None:
    turn = Played(played)
    assert turn.end is not None
    assert turn.steps <= STEPS + 1
    assert turn.closing <= 1
    for name, limit in NUDGES.items():
        assert turn.budgets.used.get(name, 0) <= limit
    if turn.end.outcome == "failure":
        assert turn.end.error is not None
        assert turn.end.error.message


@settings(max_examples=50, deadline=None, database=None)
@given(st.lists(outcomes, max_size=5), ends)
def test_what_ends_a_turn_ends_it_at_once(before: list[StepOutcome], last: StepOutcome) -> None:
    turn = Played([*before, last])
    whole = Played([*before, last, *[last] * 5])
    assert whole.end is not None
    assert (turn.end, turn.steps) == (whole.end, whole.steps)


@settings(max_examples=50, deadline=None, database=None)
@given(st.lists(outcomes, min_size=30, max_size=30))
def test_a_graceful_cancel_ends_a_turn_within_one_step(played: list[StepOutcome]) -> None:
    turn = Played(played, cancel="graceful")
    assert turn.end == Stop("cancelled")
    assert turn.steps <= 1


def test_a_model_that_only_calls_tools_reports_once_and_stops() -> None:
    turn = Played([Completed(step(ran(f"command {n}"))) for n in range(100)])
    assert (turn.steps, turn.closing) == (STEPS + 1, 1)
    assert turn.end is not None
    assert turn.end.error is not None
    assert turn.end.error.name == "LimitError"
