import os
import stat
from pathlib import Path

from roost.tools.output import MAX_BYTES, USUAL, Keep, cap, spill_path, sweep

CALL = "call_0123456789abcdef"


def test_what_fits_is_shown_as_it_is(tmp_path: Path) -> None:
    text = "x\n" * 2000
    assert cap(text, tmp_path / "out", CALL) == (text, None)
    assert cap("lone \ud800\x00", tmp_path / "out", CALL) == ("lone \ufffd\u2400", None)
    assert not (tmp_path / "out").exists()


def test_the_rest_goes_to_a_private_file_that_is_named(tmp_path: Path) -> None:
    text = "".join(f"line {n}\n" for n in range(1, 5001))
    shown, path = cap(text, tmp_path / "out", CALL)
    assert path == tmp_path / "out" / f"tool_{CALL}"
    assert path.read_text() == text
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    head, note = shown.split("\n\n")
    assert head == text[: len(head)]
    assert head.endswith("line 2000")
    left_out = len(text) - len(head)
    assert note.startswith(f"[… {left_out:,} bytes are left out here.")
    assert str(path) in note
    assert "offset=2001" in note


def test_an_end_that_tells_of_an_error_is_shown_too(tmp_path: Path) -> None:
    text = "".join(f"line {n}\n" for n in range(1, 5001)) + "Error: no such thing\n"
    shown, _ = cap(text, tmp_path, CALL)
    head, note, end = shown.split("\n\n")
    assert head.startswith("line 1\n")
    assert end.endswith("line 5000\nError: no such thing\n")
    left_out = int(note.split()[1].replace(",", ""))
    assert len(head) + left_out + len(end) == len(text)


def test_the_caps_hold_for_one_long_line_and_for_any_script(tmp_path: Path) -> None:
    for text in ("a" * 300_000, "语" * 300_000, "语言\n" * 100_000, "a\n" * 300_000):
        for tail in (0.0, 0.3, 0.6):
            shown, path = cap(text, tmp_path, "call_0", tail=tail)
            assert path is not None
            assert path.read_text() == text
            assert len(shown.encode()) <= MAX_BYTES
            assert shown.count("\n") <= 2000 + 4
            assert "\ufffd" not in shown


def test_an_id_that_was_used_or_cannot_name_a_file_gets_another_name(tmp_path: Path) -> None:
    for call in ("../../etc/passwd", "call_0", "a" * 200, f"{CALL}/x"):
        path = spill_path(tmp_path, call)
        assert path.parent == tmp_path
        assert path.name.startswith("tool_")
    first = spill_path(tmp_path, CALL)
    first.write_text("taken")
    assert spill_path(tmp_path, CALL) != first
    first.unlink()
    first.symlink_to("nowhere")
    assert spill_path(tmp_path, CALL) != first


def test_a_file_that_cannot_be_written_costs_only_the_rest(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    shown, path = cap("x\n" * 9000, tmp_path / "file" / "out", CALL)
    assert path is None
    assert "could not be saved" in shown
    assert shown.startswith("x\nx\n")


def _file(folder: Path, name: str, size: int, age: float, now: float) -> Path:
    path = folder / name
    path.write_bytes(b"x" * size)
    os.utime(path, (now - age, now - age))
    return path


def test_the_sweep_removes_what_is_old_and_the_oldest_of_too_much(tmp_path: Path) -> None:
    now = 1_000_000.0
    old = _file(tmp_path, "tool_old", 1, 100, now)
    oldest = _file(tmp_path, "tool_a", 60, 30, now)
    middle = _file(tmp_path, "tool_b", 60, 20, now)
    newest = _file(tmp_path, "tool_c", 30, 10, now)
    foreign = _file(tmp_path, "roost.db", 60, 1000, now)
    (tmp_path / "tool_link").symlink_to(foreign)
    assert sweep(tmp_path, Keep(seconds=50, bytes=100, files=10), now=now) == 2
    assert not old.exists()
    assert not oldest.exists()
    assert middle.exists()
    assert newest.exists()
    assert foreign.exists()
    assert sweep(tmp_path, Keep(seconds=50, bytes=1, files=10), now=now) == 1
    assert newest.exists()
    assert sweep(tmp_path / "nothing") == 0


def test_a_spill_sweeps_what_is_too_much_and_leaves_age_to_who_knows_the_configuration(
    tmp_path: Path,
) -> None:
    files = [_file(tmp_path, f"tool_{n}", 0, 0, 1_000.0 + n) for n in range(USUAL.files)]
    cap("x\n" * 9000, tmp_path, CALL)
    assert not files[0].exists()
    assert files[1].exists()
