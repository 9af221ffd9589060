"""The templates of commands, and rates."""

from pathlib import Path

import pytest

from roost.config.models import CommandConfig
from roost.core.errors import UsageError
from roost.runtime.models import FileInput, TextInput
from roost.server.commands import CommandBody, command_prompt, expand, mentioned_files, placeholders
from roost.server.rates import Rate


@pytest.mark.parametrize(
    ("template", "arguments", "filled"),
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
    ],
)
def test_a_template_is_filled(template: str, arguments: str, filled: str) -> None:
    assert expand(template, arguments) == filled


def test_placeholders_are_what_the_user_may_give() -> None:
    assert placeholders("$2 then $1, $ARGUMENTS, $1") == ["$1", "$2", "$ARGUMENTS"]
    assert placeholders("none") == []


def test_files_are_named_with_an_at_sign() -> None:
    text = "See @src/main.py and @README.md, @./x.txt. Not me@example.com or `@code`."
    assert mentioned_files(text) == ["src/main.py", "README.md", "./x.txt"]


def test_a_command_becomes_a_prompt(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("words")
    command = CommandConfig(
        template="Read @notes.md and @missing.md: $1", agent="plan", model="a/b"
    )
    prompt = command_prompt(command, CommandBody("x", "now"), "msg_1", tmp_path)
    words, file = prompt.parts
    assert isinstance(words, TextInput)
    assert words.text == "Read @notes.md and @missing.md: now"
    assert isinstance(file, FileInput)
    assert file.url == (tmp_path / "notes.md").as_uri()
    assert (prompt.agent, prompt.message_id) == ("plan", "msg_1")
    assert prompt.model is not None
    assert prompt.model.ref == "a/b"
    other = command_prompt(command, CommandBody("x", "", model="c/d/e"), "msg_1", tmp_path)
    assert other.model is not None
    assert (other.model.provider_id, other.model.model_id) == ("c", "d/e")


def test_a_command_that_would_run_something_is_refused(tmp_path: Path) -> None:
    command = CommandConfig(template="Look: !`git log`")
    with pytest.raises(UsageError, match="shell"):
        command_prompt(command, CommandBody("x"), "msg_1", tmp_path)


def test_a_rate_is_kept_for_each_source() -> None:
    rate = Rate(2, 60.0)
    assert [rate.wait("a", t) for t in (0.0, 1.0, 2.0)] == [0, 0, 58]
    assert rate.wait("b", 2.0) == 0
    assert rate.wait("a", 59.5) == 1
    assert rate.wait("a", 60.0) == 0
    assert rate.wait("a", 60.5) == 1
    assert [Rate(0, 60.0).wait("a", 0.0) for _ in range(100)] == [0] * 100


def test_a_rate_forgets_sources_that_are_gone() -> None:
    rate = Rate(1, 1.0)
    for number in range(5_000):
        rate.wait(f"source {number}", float(number))
    assert len(rate._seen) < 1_100
