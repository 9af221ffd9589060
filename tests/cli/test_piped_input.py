"""What is piped in, and when it is waited for."""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from roost.cli.run import prompt
from roost.cli.run.prompt import Attachment, PipedInput, full_prompt
from roost.core.errors import UsageError


@contextmanager
def pipe() -> Iterator[tuple[int, int]]:
    reading, writing = os.pipe()
    try:
        yield reading, writing
    finally:
        os.close(reading)
        try:
            os.close(writing)
        except OSError:
            return


def test_a_silent_pipe_that_stays_open_is_not_waited_for() -> None:
    with pipe() as (reading, _):
        began = time.monotonic()
        piped = PipedInput(beside_words=True, descriptor=reading)
        assert piped.text() == ""
        assert time.monotonic() - began < 1.0
        assert not piped.left_open


def test_data_that_is_there_is_taken_to_its_end() -> None:
    with pipe() as (reading, writing):
        os.write(writing, b"one ")
        piped = PipedInput(beside_words=True, descriptor=reading)
        time.sleep(0.2)
        os.write(writing, b"two")
        os.close(writing)
        assert piped.text() == "one two"
        assert not piped.left_open


def test_a_pipe_that_speaks_and_then_stays_open_gives_what_came(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(prompt, "PAUSE_SECONDS", 0.2)
    with pipe() as (reading, writing):
        os.write(writing, b"so far")
        piped = PipedInput(beside_words=True, descriptor=reading)
        assert piped.text() == "so far"
        assert piped.left_open


def test_without_words_the_pipe_is_read_to_its_end() -> None:
    with pipe() as (reading, writing):
        piped = PipedInput(beside_words=False, descriptor=reading)

        def speak_late() -> None:
            time.sleep(0.3)
            os.write(writing, b"late")
            os.close(writing)

        thread = threading.Thread(target=speak_late)
        thread.start()
        assert piped.text() == "late"
        thread.join()


@pytest.mark.parametrize("beside_words", [True, False])
def test_the_null_device_is_empty(beside_words: bool) -> None:
    with Path(os.devnull).open("rb") as nothing:
        piped = PipedInput(beside_words=beside_words, descriptor=nothing.fileno())
        assert piped.text() == ""


def test_a_terminal_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "isatty", lambda _: True)
    with pipe() as (reading, writing):
        os.write(writing, b"typed")
        assert PipedInput(beside_words=False, descriptor=reading).text() == ""


def test_more_than_fits_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prompt, "LARGEST", 10)
    with pipe() as (reading, writing):
        os.write(writing, b"x" * 11)
        os.close(writing)
        with pytest.raises(UsageError, match="piped in"):
            PipedInput(beside_words=True, descriptor=reading).text()


def test_bytes_that_are_no_text_become_text() -> None:
    with pipe() as (reading, writing):
        os.write(writing, b"caf\xe9 \x00 \xff")
        os.close(writing)
        assert "\x00" not in PipedInput(beside_words=False, descriptor=reading).text()


@pytest.mark.parametrize(
    ("words", "piped", "whole"),
    [
        (["fix", "the tests"], "", "fix the tests"),
        ([], "do it\n", "do it"),
        (["review"], "diff\n\n", "review\n\ndiff"),
        (["  keep "], "", "  keep "),
    ],
)
def test_words_and_pipe_make_one_prompt(words: list[str], piped: str, whole: str) -> None:
    assert full_prompt(words, piped) == whole


@pytest.mark.parametrize(("words", "piped"), [([], ""), ([" "], "\n\n"), ([""], "")])
def test_a_prompt_that_says_nothing_is_refused(words: list[str], piped: str) -> None:
    with pytest.raises(UsageError, match="no prompt"):
        full_prompt(words, piped)


def test_attachments_are_named_by_url_and_kind(tmp_path: Path) -> None:
    (tmp_path / "a b.png").write_bytes(b"x")
    (tmp_path / "code.ts").write_text("x")
    image, code = Attachment("a b.png", tmp_path), Attachment("code.ts", tmp_path)
    assert image.url.endswith("/a%20b.png")
    assert (image.mime, code.mime) == ("image/png", "text/plain")
    assert Attachment(str(tmp_path), Path("/")).mime == "application/x-directory"


def test_an_attachment_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="gone cannot be attached: No such file"):
        Attachment("gone", tmp_path)
