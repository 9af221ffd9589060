"""Errors repeat what they were given, however much that is."""

import pytest

from roost.core.errors import NotFoundError, RoostError, UsageError
from roost.core.text import echo, without_middle


@pytest.mark.parametrize("kind", [RoostError, UsageError, NotFoundError])
def test_an_error_says_its_beginning_and_its_end(kind: type[RoostError]) -> None:
    error = kind(f"there is no {'x' * 100_000} here", hint=f"Use {'y' * 100_000} instead.")
    assert error.message.startswith("there is no xxx")
    assert error.message.endswith("xxx here")
    assert error.hint.endswith("yyy instead.")
    assert str(error) == error.message
    assert max(len(error.message), len(error.hint)) == RoostError.longest


def test_what_fits_is_left_as_it_is() -> None:
    assert RoostError("x" * RoostError.longest).message == "x" * RoostError.longest
    assert echo("general") == "general"


@pytest.mark.parametrize("limit", [10, 100, 121])
def test_the_middle_is_left_out_and_that_is_seen(limit: int) -> None:
    text = "".join(chr(ord("a") + number % 26) for number in range(1_000))
    cut = without_middle(text, limit)
    head, gap, end = cut.partition(" … ")
    assert len(cut) == limit
    assert gap
    assert text.startswith(head)
    assert text.endswith(end)


def test_what_is_repeated_can_be_stored_and_sent() -> None:
    assert echo("a\0\udc80" * 1_000).encode()
