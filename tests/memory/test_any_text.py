from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from roost.memory import history_store as store
from roost.memory.history_store import Filters, Heard, Passage, Place
from roost.memory.index import Index
from roost.memory.rank import OPEN_MARK, query_of, snippet
from roost.memory.tokens import query_tokens

ODD = st.text(
    alphabet=st.sampled_from("aZ9_.-/:#@+\"'*()^~!%{}<>, \n\té½ﬁ数据が한ßſKº²١\u0301\x00İ😀")
)
numbers = count(1)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    return Index(Path(tmp_path_factory.mktemp("any")) / "search.db")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(text=st.text(max_size=80) | ODD)
def test_whatever_is_indexed_is_found_by_its_own_words(index: Index, text: str) -> None:
    row = next(numbers)
    passage = Passage(Place(0, 0, 0), "a tool!", text)
    heard = Heard(row, f"msg_{row}", f"ses_{row}", "p", 1, (passage,))
    index.write(lambda tx: store.add(tx, [heard], row - 1))
    words = query_tokens(text)
    mine = Filters(session_id=f"ses_{row}", tool="a tool!")
    found = index.read(lambda db: store.search(db, words, mine, 10))
    assert [one.row for one in found] == ([row] if words else [])


def test_a_snippet_shows_the_place_where_the_words_stand_closest_together() -> None:
    text = (
        f"a port of staging, {'and of many other things ' * 3}billing takes staging port 48213 then"
    )
    made = snippet(text, query_of("billing port staging").words, 120)
    assert made.marked().endswith("«billing» takes «staging» «port» 48213 then")


@given(text=ODD, asked=ODD, size=st.integers(20, 60))
def test_a_snippet_is_bounded_and_marks_only_what_is_there(
    text: str, asked: str, size: int
) -> None:
    made = snippet(text, query_of(asked).words, size)
    assert len(made.text) <= size + 2
    assert all(0 <= a < b <= len(made.text) for a, b in made.spans)
    assert made.marked("", "") == made.text
    assert made.marked().count(OPEN_MARK) == len(made.spans)
