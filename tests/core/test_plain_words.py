"""Errors of Python and of the system, as people read them."""

import errno
from pathlib import Path

import pytest

from roost.core.errors import own_fault, plain_words


def opened(path: str) -> OSError:
    with pytest.raises(FileNotFoundError) as caught:
        Path(path).read_bytes()
    return caught.value


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (opened("/no/such/file"), "No such file or directory: /no/such/file"),
        (OSError(errno.ENOSPC, "No space left on device"), "No space left on device"),
        (OSError("[Errno 111] Connection refused"), "Connection refused"),
        (
            ValueError("all attempts failed: [Errno -2] Name not known"),
            "all attempts failed: Name not known",
        ),
        (TimeoutError(), "TimeoutError"),
    ],
)
def test_no_number_of_an_error_is_shown(error: BaseException, said: str) -> None:
    assert plain_words(error) == said


def test_a_fault_of_roost_names_its_type() -> None:
    assert own_fault(KeyError("x")) == "Roost itself failed (KeyError: 'x')"


class _MuteError(Exception):
    def __str__(self) -> str:
        raise ValueError("no words")


@pytest.mark.parametrize(
    "error",
    [_MuteError(), OSError(5, 5), OSError(_MuteError(), _MuteError())],
    ids=["mute", "a number", "both"],
)
def test_an_error_that_cannot_say_what_it_is_is_told_by_its_type(error: BaseException) -> None:
    assert plain_words(error) == type(error).__name__
    assert own_fault(error) == f"Roost itself failed ({type(error).__name__})"


def test_what_an_error_says_at_length_is_cut() -> None:
    assert len(own_fault(ValueError("x" * 10_000_000))) < 3_000
