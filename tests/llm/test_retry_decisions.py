from typing import get_args

import pytest

from roost.llm.models import ErrorKind, ModelError
from roost.llm.retry import Budget, GiveUp, Retry, RetryPolicy, decide, spoken

POLICY = RetryPolicy()
MIDDLE = 0.5
"""Jitter that changes nothing."""


def failed(kind: ErrorKind, retry_after: float | None = None) -> ModelError:
    return ModelError(kind, "no", retry_after=retry_after)


def waits(kind: ErrorKind, count: int) -> list[float]:
    found: list[float] = []
    for attempt in range(1, count + 1):
        decision = decide(failed(kind), attempt, 0.0, POLICY, MIDDLE)
        assert isinstance(decision, Retry)
        found.append(decision.delay)
    return found


@pytest.mark.parametrize(
    ("kind", "delays"),
    [
        ("rate_limit", [2, 4, 8, 16, 32, 64, 128, 256, 300, 300]),
        ("server", [2, 4, 8, 16, 30, 30]),
        ("network", [0.5, 5, 10, 20, 40, 60, 60]),
        ("invalid_stream", [1, 2, 4, 8, 16, 32, 60, 60]),
    ],
)
def test_waits_grow_to_a_longest(kind: ErrorKind, delays: list[float]) -> None:
    assert waits(kind, len(delays)) == pytest.approx(delays)


FINAL: list[ErrorKind] = [
    "auth",
    "quota",
    "bad_request",
    "content_filter",
    "overflow",
    "media",
    "reasoning",
]


@pytest.mark.parametrize("kind", FINAL)
def test_what_waiting_cannot_mend_is_given_up_at_once(kind: ErrorKind) -> None:
    assert isinstance(decide(failed(kind, 1.0), 1, 0.0, POLICY, MIDDLE), GiveUp)


@pytest.mark.parametrize("kind", get_args(ErrorKind))
def test_nothing_is_tried_for_ever(kind: ErrorKind) -> None:
    assert isinstance(decide(failed(kind), 10_000, 0.0, POLICY, MIDDLE), GiveUp)
    assert isinstance(decide(failed(kind), 1, 1e9, POLICY, MIDDLE), GiveUp)


def test_retry_after_is_a_lower_bound() -> None:
    assert decide(failed("rate_limit", 45.0), 1, 0.0, POLICY, MIDDLE) == Retry(45.0)
    assert decide(failed("rate_limit", 1.0), 3, 0.0, POLICY, MIDDLE) == Retry(8.0)
    assert decide(failed("server", 45.0), 1, 0.0, POLICY, 0.0) == Retry(45.0)


def test_a_long_retry_after_is_told_at_once() -> None:
    decision = decide(failed("rate_limit", 7_200.0), 1, 0.0, POLICY, MIDDLE)
    assert decision == GiveUp("the provider asks to wait 2.0 h")


def test_jitter_stays_within_a_tenth() -> None:
    for jitter, delay in ((0.0, 1.8), (0.999999, 2.2)):
        decision = decide(failed("server"), 1, 0.0, POLICY, jitter)
        assert isinstance(decision, Retry)
        assert decision.delay == pytest.approx(delay, abs=1e-4)


def test_no_retry_starts_after_the_total_time() -> None:
    policy = RetryPolicy(server=Budget(base=2.0, longest=30.0, tries=99, total=10.0))
    assert isinstance(decide(failed("server"), 1, 7.9, policy, MIDDLE), Retry)
    assert decide(failed("server"), 1, 8.1, policy, MIDDLE) == GiveUp("gave up after 8 s")


def test_tries_are_counted() -> None:
    policy = RetryPolicy(network=Budget(base=1.0, longest=1.0, tries=2, total=99.0))
    kinds = [type(decide(failed("network"), n, 0.0, policy, MIDDLE)) for n in (1, 2, 3)]
    assert kinds == [Retry, Retry, GiveUp]


def test_an_endpoint_that_never_answered_is_given_up_well_within_a_minute() -> None:
    never = ModelError("network", "no", never_answered=True)
    elapsed, attempt = 0.0, 1
    while isinstance(decision := decide(never, attempt, elapsed, POLICY, 0.999), Retry):
        elapsed, attempt = elapsed + decision.delay, attempt + 1
    assert decision == GiveUp(f"gave up after {POLICY.unreached.tries + 1} tries")
    assert 10 < elapsed < 20
    assert isinstance(decide(never, 2, 40.0, POLICY, MIDDLE), GiveUp)


@pytest.mark.parametrize(
    ("seconds", "words"), [(4.4, "4 s"), (119, "119 s"), (600, "10 min"), (9_000, "2.5 h")]
)
def test_times_for_people(seconds: float, words: str) -> None:
    assert spoken(seconds) == words
