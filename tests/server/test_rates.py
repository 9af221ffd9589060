"""How many prompts a source may leave in a time."""

from roost.server.rates import Rate


def test_a_rate_is_kept_for_each_source() -> None:
    rate = Rate(2, 60.0)
    assert [rate.wait("a", t) for t in (0.0, 1.0, 2.0)] == [0, 0, 58]
    assert rate.wait("b", 2.0) == 0
    assert rate.wait("a", 59.5) == 1
    assert rate.wait("a", 60.0) == 0
    assert rate.wait("a", 60.5) == 1
    assert [Rate(0, 60.0).wait("a", 0.0) for _ in range(100)] == [0] * 100


def test_a_rate_forgets_sources_that_are_gone() -> None:
    rate = Rate(1, 1.0)
    for number in range(5_000):
        rate.wait(f"source {number}", float(number))
    assert len(rate._seen) < 1_100
