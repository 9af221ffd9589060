"""The help on screens of any width."""

import pytest
from terminal_user import User

from roost.cli.completion.words import Node, commands
from roost.cli.wrapping import wrapped

TEXT = """\
A paragraph that goes on for a while and has to be filled anew,
whatever its lines were.

codes:
  0    a short one
  100  one whose explanation is longer than a line of the screen has cells
  roost run "an example that is long and must stay in one piece, to be copied"
  roost run --with-options    what this does, which has no room beside it any more
And more."""


def test_paragraphs_are_filled_and_tables_and_examples_kept() -> None:
    assert wrapped(TEXT, 40).split("\n") == [
        "A paragraph that goes on for a while and",
        "has to be filled anew, whatever its",
        "lines were.",
        "",
        "codes:",
        "  0    a short one",
        "  100  one whose explanation is longer",
        "       than a line of the screen has",
        "       cells",
        '  roost run "an example that is long and must stay in one piece, to be copied"',
        "  roost run --with-options",
        "      what this does, which has no room",
        "      beside it any more",
        "And more.",
    ]


def names(known: tuple[Node, ...], before: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """The words of every command and action."""
    found: list[tuple[str, ...]] = []
    for node in known:
        words = (*before, node.names[0])
        found += [words, *names(node.actions, words)]
    return found


@pytest.mark.parametrize("width", [80, 200])
def test_no_help_is_wider_than_the_screen_or_than_one_reads_well(user: User, width: int) -> None:
    wide: list[str] = []
    for words in ((), *names(commands())):
        shown = user.call(*words, "--help", env={"COLUMNS": str(width)}).out
        assert shown.startswith("usage: roost")
        wide += [line for line in shown.splitlines() if len(line) > min(width, 100)]
    assert [line for line in wide if not line.startswith("  roost ")] == []


def test_help_of_an_action_by_its_words(user: User) -> None:
    asked = user.call("help", "requests", "allow")
    assert asked.code == 0
    assert asked.out == user.call("requests", "allow", "--help").out
