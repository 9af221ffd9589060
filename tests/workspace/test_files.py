from pathlib import Path

import pytest

from roost.core.errors import LimitError
from roost.workspace import files
from roost.workspace.files import WindowLimits, file_digest, read_bytes, read_text, read_window
from roost.workspace.lines import split_lines
from roost.workspace.textfile import NotTextError


def test_lines_end_where_editors_end_them_and_nowhere_else() -> None:
    text = "a\nb\r\nc\rd\x0be\x0cf\u2028g\x85h\n\n"
    lines = split_lines(text)
    assert [line.end for line in lines] == ["\n", "\r\n", "\r", "\n", "\n"]
    assert "".join(line.text + line.end for line in lines) == text


def test_a_window_shows_some_lines_and_says_what_follows(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_text("".join(f"line {i}\n" for i in range(1, 101)))
    window = read_window(path, 10, WindowLimits(lines=3))
    assert window.lines == ("line 10", "line 11", "line 12")
    assert (window.first, window.total, window.more) == (10, 100, True)
    assert not read_window(path, 99).more
    assert read_window(path, 200).lines == ()


def test_a_window_is_bounded_by_characters_but_never_empty(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_text("x" * 5000 + "\nshort\n")
    window = read_window(path, 1, WindowLimits(line_chars=2000, chars=100))
    assert [len(line) for line in window.lines] == [2000]
    assert window.more


def test_a_huge_file_is_streamed_and_only_as_far_as_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "f"
    text = "".join(f"zeile {i} ü\r\n" for i in range(1, 3001)) + "long" * 5000 + "\nlast"
    path.write_bytes(text.encode())
    whole = read_window(path, 1, WindowLimits(lines=5000, chars=10**6))
    monkeypatch.setattr(files, "MAX_BYTES", 100)
    monkeypatch.setattr(files, "_CHUNK", 97)
    streamed = read_window(path, 1, WindowLimits(lines=5000, chars=10**6))
    assert streamed.lines == whole.lines
    assert streamed.total is None
    assert not streamed.more
    part = read_window(path, 500, WindowLimits(lines=2))
    assert part.lines == ("zeile 500 ü", "zeile 501 ü")
    assert part.more


def test_a_file_over_the_limit_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"x" * 100)
    with pytest.raises(LimitError, match="100 bytes"):
        read_bytes(path, limit=99)
    assert read_bytes(path, limit=100) == b"x" * 100


def test_files_of_the_system_that_claim_to_be_empty_are_read() -> None:
    assert b"Linux" in read_bytes(Path("/proc/version"))


def test_nul_is_shown_and_a_binary_file_refused(tmp_path: Path) -> None:
    late = tmp_path / "late"
    late.write_bytes(b"x" * 10_000 + b"\n\x00\n")
    assert read_window(late, 2).lines == ("\u2400",)
    (tmp_path / "b").write_bytes(b"\x00\x01")
    with pytest.raises(NotTextError):
        read_text(tmp_path / "b")


def test_the_digest_is_that_of_the_bytes(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"\xef\xbb\xbfx")
    assert file_digest(path) == read_text(path).digest
    assert file_digest(tmp_path / "none") is None
