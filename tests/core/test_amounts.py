"""Numbers for people."""

import pytest

from roost.core.amounts import counted, dollars


@pytest.mark.parametrize(
    ("number", "words"),
    [(0, "0 steps"), (1, "1 step"), (1234, "1,234 steps"), (1.0, "1 step"), (0.5, "0.5 steps")],
)
def test_a_noun_has_its_number(number: float, words: str) -> None:
    assert counted(number, "step") == words
    assert counted(number, "entry", "entries").endswith("entry" if number == 1 else "entries")


@pytest.mark.parametrize(
    ("amount", "words"),
    [
        (0.0, "0.00"),
        (2, "2.00"),
        (1234.5, "1,234.50"),
        (0.5, "0.50"),
        (0.05, "0.05"),
        (0.015, "0.015"),
        (0.0123456, "0.012"),
        (0.0001, "0.0001"),
        (0.00000012, "0.00000012"),
        (0.999, "1.00"),
    ],
)
def test_a_sum_has_two_places_and_more_where_they_would_show_nothing(
    amount: float, words: str
) -> None:
    assert dollars(amount) == words


def test_costs_have_as_many_places_as_wished_and_more_where_they_are_small() -> None:
    assert [dollars(one, 4) for one in (1.5, 0.0311, 0.1, 0.00003)] == [
        "1.5000",
        "0.0311",
        "0.1000",
        "0.00003",
    ]
