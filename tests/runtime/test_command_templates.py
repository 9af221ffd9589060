"""The templates of commands: what is filled in where, and as what."""

import subprocess

import pytest

from roost.runtime.mentions import mentioned_names
from roost.runtime.templates import ShellPiece, filled, placeholders


def words(template: str, arguments: str) -> str:
    return "".join(str(piece) for piece in filled(template, arguments)).strip()


def command(template: str, arguments: str) -> str:
    (only,) = [piece for piece in filled(template, arguments) if isinstance(piece, ShellPiece)]
    return only.command


@pytest.mark.parametrize(
    ("template", "arguments", "expected"),
    [
        ("Fix $1 in $2", "bug main.py", "Fix bug in main.py"),
        ("Fix $1 in $2", 'bug "a b" c', "Fix bug in a b c"),
        ("Fix $1 in $2", "bug", "Fix bug in"),
        ("All: $ARGUMENTS.", "one two", "All: one two."),
        ("No place", "one two", "No place\n\none two"),
        ("No place", "", "No place"),
        ("$1", "$ARGUMENTS $2", "$ARGUMENTS $2"),
        ("$1 and $1", "it 's", "it 's and it 's"),
        ("Costs $0 or $$", "", "Costs $0 or $$"),
        ("$2 $1", "a b c", "b c a"),
        ("$1", '""', ""),
        ("$1", "!`id`", "!`id`"),
    ],
)
def test_a_template_is_filled(template: str, arguments: str, expected: str) -> None:
    assert words(template, arguments) == expected


def test_placeholders_are_what_the_user_may_give() -> None:
    assert placeholders("$2 then $1, $ARGUMENTS, $1") == ["$1", "$2", "$ARGUMENTS"]
    assert placeholders("none") == []


def test_command_lines_are_pieces_of_their_own() -> None:
    assert filled("A !`ls` b !`pwd`", "") == ("A ", ShellPiece("ls"), " b ", ShellPiece("pwd"))
    assert filled("Say !`x", "") == ("Say !`x",)


@pytest.mark.parametrize("place", ["$1", '"$1"', "'$1'", '"a $1 b"', "a'$1'b"])
@pytest.mark.parametrize(
    "given", ["plain", "a; touch x", "$(id)", "`id`", "it's", 'a"b', "back\\slash", "*", "!x"]
)
def test_what_is_given_stays_words_of_a_command_line(place: str, given: str) -> None:
    quoted = given if '"' in given else f'"{given}"'
    line = command(f"!`printf %s {place}`", quoted)
    shown = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True)
    around = place.replace("$1", "{}").replace('"', "").replace("'", "")
    assert shown.stdout == around.format(given)


def test_several_words_stay_several_in_a_command_line() -> None:
    assert command("!`ls $ARGUMENTS`", "a 'b c'") == "ls a 'b c'"
    assert command("!`ls $1 $2`", "a b c") == "ls a b c"
    assert command("!`ls $1`", "") == "ls "


def test_files_are_named_with_an_at_sign() -> None:
    text = "See @src/main.py and @README.md, @./x.txt? Not me@example.com or `@code`."
    assert mentioned_names(text) == ["src/main.py", "README.md", "./x.txt"]
