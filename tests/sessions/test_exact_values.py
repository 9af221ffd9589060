"""Which lines of an output are kept for the exact values in them."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.sessions.exact import ALIKE, EXACT, LINE, PIECE, PIECES, stretches, telling


@pytest.mark.parametrize(
    "line",
    [
        "the database is postgres://app:pw@db.internal:5432/app",
        "REGION=eu-west-2 was set",
        "open https://status.example.org/today",
        "You will find it behind port 48213.",
        "端口是48213。",
        "released as v4.0.2-rc.1",
        "it is tracked as OPS-3307",
        "the key is K7Q2-99TD-XX41",
        "the key is KQAB-HAKH-GXUK",
        "at commit 9f3c21ab",
        "say `make deploy`",
        "10.0.3.7 does not answer",
    ],
)
def test_a_line_with_an_exact_value_is_told_from_prose(line: str) -> None:
    assert EXACT.search(line)
    assert telling(f"nothing here\n{line}\nnor here") == [line]


@pytest.mark.parametrize(
    "line", ["all is well", "three of 12 done", "a well-known co-worker", "UTF-EIGHT and so on"]
)
def test_prose_is_not_kept(line: str) -> None:
    assert not EXACT.search(line)
    assert telling(line) == []


@pytest.mark.parametrize("line", ["wrote /srv/app/dump.tar", "retries=3", "listening port: 80"])
def test_of_outputs_paths_and_settings_are_kept_too(line: str) -> None:
    assert telling(line) == [line]


def test_lines_that_differ_in_numbers_alone_are_not_all_kept() -> None:
    log = [f"12:00:{at:02} request {at + 10_000} took {at} ms" for at in range(60)]
    log.insert(30, "connected to db.internal:5432")
    kept = "\n".join(telling("\n".join(log))).splitlines()
    assert kept == [*log[:ALIKE], "connected to db.internal:5432"]


def test_pieces_are_short_and_few_and_from_both_ends() -> None:
    words = ["".join(chr(97 + int(digit)) for digit in f"{at:05}") for at in range(3_000)]
    pieces = telling("\n".join(f"{word} listens on localhost:8080" for word in words))
    assert len(pieces) == PIECES
    assert max(map(len, pieces)) <= PIECE
    assert pieces[0].startswith(words[0])
    assert pieces[-1].splitlines()[-1].startswith(words[-1])


def test_of_a_long_line_the_stretch_with_the_value_is_kept() -> None:
    line = f"{'word ' * 200}localhost:4711{' word' * 200}"
    (kept,) = telling(line)
    assert len(kept) <= LINE
    assert "localhost:4711" in kept


@given(st.text("ab. 。,\n"))
def test_lines_are_short_and_lose_nothing_but_space(text: str) -> None:
    made = list(stretches(text * 20))
    assert all(0 < len(one) <= LINE for one in made)
    assert "".join("".join(made).split()) == "".join((text * 20).split())


@pytest.mark.parametrize("part", ["a.", "A-", "./", "a1=", "a: ", "1.", "ab-"])
def test_lines_without_end_are_looked_through_in_no_time(part: str) -> None:
    began = time.process_time()
    telling(part * 200_000)
    assert time.process_time() - began < 2
