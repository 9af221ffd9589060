import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.core.errors import ConflictError, NotFoundError, UsageError
from roost.memory.sections import entry_line, find, sections, with_entry, with_section

TEXT = """\
Before.

# One

first

```sh
# no heading
```

## Two ##
second
## Three
"""


def test_a_file_is_its_sections_and_code_holds_no_headings() -> None:
    found = sections(TEXT)
    assert [(one.heading, one.level, one.line) for one in found] == [
        ("", 0, 1),
        ("One", 1, 3),
        ("Two", 2, 11),
        ("Three", 2, 13),
    ]
    assert "# no heading" in found[1].text


@given(st.lists(st.sampled_from(["# a", "## b", "text", "```", "~~~", "", "  # c", "#d"])))
def test_the_sections_of_any_text_are_all_of_it(lines: list[str]) -> None:
    text = "\n".join(lines)
    parts = "".join(one.text for one in sections(text))
    assert parts == text or not text.strip() or text.endswith(parts)


def test_an_entry_goes_to_the_end_of_its_section() -> None:
    new = with_entry(TEXT, "- more", "two")
    assert "second\n- more\n\n## Three" in new
    assert new.replace("- more\n\n", "") == TEXT


def test_a_section_that_is_not_there_is_made_at_the_end() -> None:
    assert with_entry("# T\n", "- a", "New") == "# T\n\n## New\n\n- a\n"
    assert with_entry("", "- a", "## New") == "## New\n\n- a\n"
    assert with_entry("x", "- a") == "x\n- a\n"


def test_a_section_is_replaced_if_it_reads_as_it_was_seen() -> None:
    two = find(TEXT, "TWO")
    assert two is not None
    new = with_section(TEXT, "two", f"#{two.hash}", "changed")
    assert "## Two ##\n\nchanged\n\n## Three" in new
    assert new.startswith(TEXT.partition("## Two")[0])
    with pytest.raises(ConflictError) as caught:
        with_section(new, "two", two.hash, "lost")
    assert "changed" in caught.value.hint
    now = find(new, "two")
    assert now is not None
    assert f"#{now.hash}" in caught.value.hint


def test_a_new_text_may_repeat_the_heading_and_none_removes_the_section() -> None:
    two = find(TEXT, "Two")
    assert two is not None
    assert with_section(TEXT, "Two", two.hash, "## Two\nnew").count("Two") == 1
    gone = with_section(TEXT, "Two", two.hash, " \n")
    assert [one.heading for one in sections(gone)] == ["", "One", "Three"]


def test_a_section_that_is_missing_is_an_error_that_names_the_others() -> None:
    with pytest.raises(NotFoundError) as caught:
        with_section(TEXT, "Four", "0", "x")
    assert "One; Two; Three" in caught.value.hint


def test_an_entry_says_when_and_where_it_came_from() -> None:
    line = entry_line("- use 8080\nnot 80", "2026-01-31", "ses_1")
    assert line == "- use 8080 (2026-01-31, ses_1)\n  not 80"
    with pytest.raises(UsageError):
        entry_line(" ", "2026-01-31", "")
