import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.core.errors import UsageError
from roost.workspace.edit import Edit, MatchError, apply_edits
from roost.workspace.lines import split_lines
from roost.workspace.rebuild import rewritten


def edited(text: str, old: str, new: str, *, every: bool = False) -> str:
    return apply_edits(text, [Edit(old, new, all=every)]).text


def step(text: str, old: str, new: str) -> str:
    return apply_edits(text, [Edit(old, new)]).steps[0]


@pytest.mark.parametrize(
    ("text", "old", "new", "result"),
    [
        ("a\r\nb\r\nc", "a\nb", "A\nb", "A\r\nb\r\nc"),
        ("a\nb\nc", "a\r\nb", "a\r\nB", "a\nB\nc"),
        ("a\r\nb\r\nc\r\n", "b", "b\nnew", "a\r\nb\r\nnew\r\nc\r\n"),
        ("a\r\nb", "b", "b\nnew", "a\r\nb\r\nnew"),
        ("a\rb\rc", "a\nb", "a\nx\nb", "a\rx\rb\rc"),
        ("mixed\r\nends\nhere\r\n", "ends\nhere", "ends\nhere!", "mixed\r\nends\nhere!\r\n"),
        (
            "mixed\r\nends\nhere\r\n",
            "mixed\nends",
            "mixed\nx\nends",
            "mixed\r\nx\r\nends\nhere\r\n",
        ),
        ("a\r\nb\r\n", "a\nb\n", "", ""),
        ("a\r\n\r\nb", "a\n\nb", "a\nb", "a\r\nb"),
        ("no final newline", "newline", "end\n", "no final end\n"),
    ],
)
def test_the_kind_of_line_end_never_matters_and_never_changes(
    text: str, old: str, new: str, result: str
) -> None:
    assert edited(text, old, new) == result


def test_two_line_ends_are_not_taken_for_one() -> None:
    with pytest.raises(MatchError):
        edited("a\r\nb", "a\n\nb", "x")


def test_an_ambiguous_quotation_is_refused_with_count_and_lines() -> None:
    with pytest.raises(MatchError, match="occurs 3 times, at lines 1, 3, 4"):
        edited("x = 1\ny\nx = 1\nx = 1\n", "x = 1", "x = 2")


def test_places_that_differ_only_in_line_ends_are_ambiguous() -> None:
    with pytest.raises(MatchError, match="2 times, at lines 1, 3"):
        edited("a\r\nb\r\na\nb\n", "a\nb", "x")


def test_overlapping_places_are_ambiguous_but_replace_all_takes_them_in_turn() -> None:
    with pytest.raises(MatchError, match="2 times"):
        edited("aaa", "aa", "b")
    assert edited("aaa", "aa", "b", every=True) == "ba"


def test_replace_all_keeps_each_line_end() -> None:
    assert edited("x\r\nx\nx", "x", "y", every=True) == "y\r\ny\ny"


def test_an_empty_quotation_and_an_edit_without_change_are_refused() -> None:
    with pytest.raises(UsageError, match="empty"):
        edited("hello", "", "X", every=True)
    with pytest.raises(UsageError, match="same"):
        edited("a\nb", "a\nb", "a\r\nb")


def test_missing_text_is_refused_with_the_most_similar_place() -> None:
    text = "import os\n\n\ndef run(path):\n    return os.stat(path)\n"
    with pytest.raises(MatchError) as caught:
        edited(text, "def run(path):\n    return os.lstat(path)", "x")
    assert "lines 4 to 5" in caught.value.hint
    assert "return os.stat(path)" in caught.value.hint
    with pytest.raises(MatchError) as caught:
        edited(text, "import oss", "x")
    assert "lines 1 to 1" in caught.value.hint


def test_quoted_line_numbers_are_recognised() -> None:
    with pytest.raises(MatchError) as caught:
        edited("a\nb\n", "1\ta\n2\tb", "x")
    assert "line numbers" in caught.value.hint


SLIPS = {
    "blanks in the file": (
        "trailing blanks",
        "a  \nb\t\nc\n",
        ("a\nb\n", "a\nB\n"),
        "a  \nB\t\nc\n",
    ),
    "blanks in the quotation": (
        "trailing blanks",
        "a\nb\n",
        ("a \nb  ", "a \nB  "),
        "a\nB\n",
    ),
    "quotes and dashes": (
        "typography",
        "say “hi” – now\n",
        ('say "hi" - now', 'say "ho" - now'),
        "say “ho” – now\n",
    ),
    "composed accents": (
        "typography",
        "cafe\u0301 x\n",
        ("caf\u00e9 x", "caf\u00e9 y"),
        "cafe\u0301 y\n",
    ),
    "a line between": (
        "typography",
        "a\u00a0b “q”\nkeep\u00a0me\n",
        ('a b "q"\nkeep me', 'a b "q"\nnew\nkeep me'),
        "a\u00a0b “q”\nnew\nkeep\u00a0me\n",
    ),
    "shifted": (
        "indentation",
        "    if a:\n        b()\n",
        ("  if a:\n      b()\n", "  if a:\n      c()\n      d()\n"),
        "    if a:\n        c()\n        d()\n",
    ),
    "tabs for spaces": (
        "indentation",
        "\tif a:\n\t\tb()\n",
        ("    if a:\n        b()\n", "    if a:\n        c()\n        if d:\n            e()\n"),
        "\tif a:\n\t\tc()\n\t\tif d:\n\t\t\te()\n",
    ),
    "tabs and shifted": (
        "indentation",
        "\tif a:\n\t\tb()\n",
        ("if a:\n    b()\n", "if a:\n    c()\n"),
        "\tif a:\n\t\tc()\n",
    ),
    "shifted back, with a blank line": (
        "indentation",
        "if a:\n  b()\n",
        ("    if a:\n      b()\n", "    if a:\n      c()\n\n"),
        "if a:\n  c()\n\n",
    ),
}


@pytest.mark.parametrize(("name", "text", "words", "result"), SLIPS.values(), ids=SLIPS)
def test_slips_of_the_model_locate_but_change_nothing_else(
    name: str, text: str, words: tuple[str, str], result: str
) -> None:
    assert edited(text, *words) == result
    assert step(text, *words) == name


def test_indentation_that_follows_no_rule_is_not_matched() -> None:
    with pytest.raises(MatchError):
        edited("    if a:\n        b()\n", "if a:\n  b()", "if a:\n  c()")


def test_a_loose_match_does_not_end_inside_a_word() -> None:
    with pytest.raises(MatchError):
        edited("foobar\n", "foo ", "baz ")


def test_a_loose_match_may_be_ambiguous_too() -> None:
    with pytest.raises(MatchError, match="2 times"):
        edited("a \nb\na  \nb\n", "a\nb", "x")


def test_an_exact_match_wins_over_loose_ones() -> None:
    assert edited("  a \nb\n  a\nb\n", "  a\nb", "c") == "  a \nb\nc\n"


def test_several_edits_build_on_each_other() -> None:
    edits = [Edit("one", "two"), Edit("two\nlast", "three\nlast")]
    assert apply_edits("one\r\nlast", edits).text == "three\r\nlast"


def test_a_failing_edit_is_named_and_nothing_is_done() -> None:
    with pytest.raises(MatchError, match="edit 2 of 2: ") as caught:
        apply_edits("a", [Edit("a", "b"), Edit("x", "y")])
    assert "Nothing was changed" in caught.value.hint


def test_a_rewritten_file_keeps_the_ends_of_the_lines_that_stay() -> None:
    assert rewritten("a\r\nb\r\n", "a\nnew\nb\n") == "a\r\nnew\r\nb\r\n"
    assert rewritten("a\nb\r\nc\n", "a\nb\nc") == "a\nb\r\nc"
    assert rewritten("", "a\r\nb") == "a\r\nb"
    assert rewritten("x", "a\r\nb") == "a\r\nb"
    assert rewritten("a\r\n", "") == ""


ends = st.sampled_from(["\n", "\r\n", "\r"])
words = st.text("ab “\t", max_size=4)
texts = st.lists(st.tuples(words, ends), max_size=12).map(lambda p: "".join(a + b for a, b in p))


@given(texts, st.data())
def test_an_exact_edit_touches_no_other_line(text: str, data: st.DataObject) -> None:
    lines = split_lines(text)
    if not lines:
        return
    first = data.draw(st.integers(0, len(lines) - 1))
    last = data.draw(st.integers(first, len(lines) - 1))
    marked = [line._replace(text=f"<{i}>{line.text}") for i, line in enumerate(lines)]
    whole = "".join(line.text + line.end for line in marked)
    quoted = "\n".join(line.text for line in marked[first : last + 1])
    result = split_lines(edited(whole, quoted, f"{quoted}!"))
    changed = marked[last]._replace(text=marked[last].text + "!")
    assert result == [*marked[:last], changed, *marked[last + 1 :]]


@given(texts, texts)
def test_a_rewrite_gives_the_lines_that_were_asked_for(before: str, content: str) -> None:
    result = split_lines(rewritten(before, content))
    assert [line.text for line in result] == [line.text for line in split_lines(content)]
