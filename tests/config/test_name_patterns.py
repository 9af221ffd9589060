import re
import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.config.pattern import LONGEST_NAME, LONGEST_PATTERN, NamePattern, PatternError

ATOMS = st.sampled_from(["a", "b", "-", ".", "[ab]", "[^a]", r"\d", r"\w", r"\.", "[]a]", "^", "$"])
TIMES = st.sampled_from(["*", "+", "?", "{2}", "{1,}", "{0,2}", "*?", "+?", "{1,3}?"])


def _grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    group = inner.flatmap(lambda text: st.sampled_from([f"({text})", f"(?:{text})"]))
    return st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map("|".join),
        group,
        st.tuples(group, TIMES).map("".join),
        st.tuples(ATOMS.filter(lambda one: one not in "^$"), TIMES).map("".join),
    )


@given(st.recursive(ATOMS, _grown, max_leaves=8), st.text("ab-.1]", max_size=7))
def test_a_pattern_finds_what_pythons_own_engine_finds(pattern: str, name: str) -> None:
    assert NamePattern(pattern).matches(name) == (re.fullmatch(pattern, name) is not None)


@given(st.text(max_size=40), st.text(max_size=10))
def test_any_text_is_a_pattern_or_is_refused(pattern: str, name: str) -> None:
    with suppress(PatternError):
        assert NamePattern(pattern).matches(name) in {True, False}


@pytest.mark.parametrize(
    "pattern",
    [
        "(a+)+b",
        "(a|a)*b",
        "(a*)*b",
        ".*" * 99 + "b",
        "a?" * 60 + "a" * 60 + "b",
        "((((((((a*)*)*)*)*)*)*)*)*b",
        "((ab?)*c?)*" * 16 + "d",
        "(((((a{99}){99}){99}){99}){99}){99}b",
    ],
)
def test_patterns_that_hang_other_engines_end_at_once(pattern: str) -> None:
    started = time.process_time()
    assert not NamePattern(pattern).matches("a" * LONGEST_NAME)
    assert time.process_time() - started < 2


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("(a", "never closed"),
        ("a)", "never opened"),
        ("[a", "not understood"),
        ("*a", "nothing to repeat"),
        ("^*", "nothing to repeat"),
        ("a**", "repeats twice"),
        ("a{3,2}", "cannot repeat"),
        ("a{9999}", "cannot repeat"),
        ("[z-a]", "bad character range"),
        ("(?=a)", "not understood from '(?=a)' on"),
        ("(?i)a", "not understood"),
        (r"(a)\1", "not understood"),
        ("a" * (LONGEST_PATTERN + 1), "longer than"),
        ("(" * 60 + "a" + ")" * 60, "too deeply"),
    ],
)
def test_what_is_not_understood_is_said(pattern: str, said: str) -> None:
    with pytest.raises(PatternError) as caught:
        NamePattern(pattern)
    assert said in str(caught.value)


def test_a_name_that_is_too_long_matches_nothing() -> None:
    assert NamePattern("a*").matches("a" * LONGEST_NAME)
    assert not NamePattern("a*").matches("a" * (LONGEST_NAME + 1))
