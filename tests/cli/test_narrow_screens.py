"""Lists on terminals with few cells: nothing that matters is cut away."""

import pytest

from roost.cli.short_ids import shown_ids
from roost.cli.table import table

ROWS = [
    ["ID", "AGE", "KIND", "WHAT"],
    ["first-identifier", "2 min", "prompt", "something that takes a few words to say"],
]


@pytest.mark.parametrize(
    ("width", "head"),
    [
        (None, ["ID", "AGE", "KIND", "WHAT"]),
        (80, ["ID", "AGE", "KIND", "WHAT"]),
        (60, ["ID", "AGE", "WHAT"]),
        (50, ["ID", "WHAT"]),
        (30, ["ID", "WHAT"]),
    ],
)
def test_columns_that_can_be_spared_make_room_for_the_last(
    width: int | None, head: list[str]
) -> None:
    lines = table(ROWS, width, spare=("KIND", "AGE"))
    assert lines[0].split() == head
    assert all(len(line) <= (width or 200) for line in lines)


def test_a_last_column_that_is_short_takes_no_room_from_others() -> None:
    rows = [["ID", "AGE", "WHAT"], ["first-identifier", "2 min", "ok"]]
    assert table(rows, 30, spare=("AGE",))[0].split() == ["ID", "AGE", "WHAT"]


def test_ids_are_whole_where_there_is_room() -> None:
    ids = ["ses_dd2941a2bfffVHqxjNOFU8fVGo", "ses_dd294172cfffZAA3itNsqmRjYd"]
    for width in (None, 100, 200):
        assert shown_ids(ids, width) == {one: one for one in ids}


def test_of_ids_on_a_narrow_screen_as_much_is_shown_as_tells_them_apart() -> None:
    ids = ["ses_dd2941a2bfffVHqxjNOFU8fVGo", "ses_dd2941a2bfffZAA3itNsqmRjYd"]
    assert list(shown_ids(ids, 80).values()) == ["ses_dd2941a2bfffV", "ses_dd2941a2bfffZ"]
    assert list(shown_ids(ids[:1], 80).values()) == ["ses_dd2941a2"]
    assert shown_ids([], 80) == {}
