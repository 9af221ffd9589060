import os
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from roost.core.errors import ConflictError, RoostError, UsageError
from roost.workspace import atomic, changes
from roost.workspace.atomic import StagedFile
from roost.workspace.changes import commit, plan_change, plan_edits, plan_write, present_text
from roost.workspace.edit import Edit
from roost.workspace.ledger import ReadLedger, StaleError
from roost.workspace.textfile import EncodingError, NotTextError, digest_of

LEDGER = ReadLedger()


def write(path: Path, content: str, ledger: ReadLedger = LEDGER) -> None:
    commit([plan_write(path, content, ledger)], ledger)


def edit(path: Path, old: str, new: str, ledger: ReadLedger = LEDGER) -> None:
    commit([plan_edits(path, [Edit(old, new)], ledger)], ledger)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


@pytest.fixture
def umask() -> int:
    old = os.umask(0o027)
    os.umask(old)
    return old


def test_a_new_file_is_made_with_its_folders_and_follows_the_umask(
    tmp_path: Path, umask: int
) -> None:
    write(tmp_path / "a/b/c.txt", "hi\n")
    assert (tmp_path / "a/b/c.txt").read_text() == "hi\n"
    assert mode_of(tmp_path / "a/b/c.txt") == 0o666 & ~umask


@pytest.mark.parametrize("mode", [0o755, 0o600, 0o444])
def test_the_mode_is_kept(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "f"
    path.write_text("old")
    path.chmod(mode)
    write(path, "new")
    assert path.read_text() == "new"
    assert mode_of(path) == mode


def test_a_link_stays_and_its_target_is_replaced(tmp_path: Path) -> None:
    target, link = tmp_path / "real.txt", tmp_path / "link"
    target.write_text("old")
    link.symlink_to("real.txt")
    write(Path(os.path.realpath(link)), "new")
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_a_second_hard_link_still_names_the_same_file(tmp_path: Path) -> None:
    path, other = tmp_path / "f", tmp_path / "g"
    path.write_text("a longer old text")
    other.hardlink_to(path)
    write(path, "new")
    assert other.read_text() == "new"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_the_owner_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_text("old")
    os.chown(path, 12345, 54321)
    write(path, "new")
    assert (path.stat().st_uid, path.stat().st_gid) == (12345, 54321)


def test_a_place_that_cannot_hold_a_new_file_is_overwritten_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "f"
    path.write_text("a longer old text")
    inode = path.stat().st_ino

    def refuse(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(atomic, "_anonymous", refuse)
    write(path, "new")
    assert path.read_text() == "new"
    assert path.stat().st_ino == inode


@pytest.mark.parametrize("anonymous", [True, False])
def test_nothing_else_appears_in_the_folder(
    tmp_path: Path, anonymous: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not anonymous:
        monkeypatch.setattr(atomic, "_anonymous", lambda *_: None)
    path = tmp_path / "f"
    write(path, "one")
    write(path, "two")
    with StagedFile(path, b"never put"):
        pass
    assert path.read_text() == "two"
    assert list(tmp_path.iterdir()) == [path]


def test_a_system_without_links_still_replaces_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    path = tmp_path / "f"
    write(path, "one")
    path.chmod(0o640)
    write(path, "two")
    assert path.read_text() == "two"
    assert mode_of(path) == 0o640
    assert list(tmp_path.iterdir()) == [path]


def test_a_change_that_changes_nothing_touches_nothing(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_text("same")
    before = path.stat()
    write(path, "same")
    assert path.stat() == before


def test_a_kill_in_the_middle_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_text("old")
    script = f"""
from pathlib import Path
from roost.workspace.changes import commit, plan_write
from roost.workspace.ledger import ReadLedger
commit([plan_write(Path({str(path)!r}), "new" * 1_000_000, ReadLedger())], ReadLedger())
"""
    environment = os.environ | {"ROOST_FAILPOINT": "file.staged=kill"}
    done = subprocess.run([sys.executable, "-c", script], env=environment)
    assert done.returncode == -signal.SIGKILL
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_what_is_no_text_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"\x00\x01\x02")
    with pytest.raises(NotTextError):
        write(path, "x")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="named pipe"):
        write(tmp_path / "pipe", "x")


def test_bom_encoding_and_line_ends_survive_an_edit_and_a_write(tmp_path: Path) -> None:
    path = tmp_path / "f"
    data = "\ufeffeins\r\nzwei\r\ndrei".encode("utf-16-le")
    path.write_bytes(data)
    edit(path, "zwei\n", "ZWEI\nneu\n")
    expected = "\ufeffeins\r\nZWEI\r\nneu\r\ndrei"
    assert path.read_bytes().decode("utf-16-le") == expected
    write(path, "\ufeffeins\nneu\ndrei")
    assert path.read_bytes().decode("utf-16-le") == "\ufeffeins\r\nneu\r\ndrei"


def test_text_that_the_encoding_lacks_leaves_the_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "f"
    data = ("# Привет, мир. Это тестовый файл для проверки.\n" * 3 + "конец").encode("koi8_r")
    path.write_bytes(data)
    with pytest.raises(EncodingError):
        edit(path, "конец", "你")
    assert path.read_bytes() == data


def test_a_file_that_changed_since_it_was_read_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_text("one\ntwo\n")
    ledger = ReadLedger()
    known = present_text(path)
    assert known is not None
    ledger.note(path, known.digest, known.text)
    path.write_text("one\nTWO\n")
    with pytest.raises(StaleError, match="changed since you read it") as caught:
        write(path, "mine", ledger)
    assert "-two\n+TWO" in caught.value.hint
    assert path.read_text() == "one\nTWO\n"
    write(path, "mine", ledger)  # it has seen the difference now
    assert path.read_text() == "mine"


def test_an_actors_own_consecutive_writes_are_no_conflict(tmp_path: Path) -> None:
    ledger = ReadLedger()
    path = tmp_path / "f"
    write(path, "a", ledger)
    edit(path, "a", "b", ledger)
    write(path, "c", ledger)
    assert ledger.knows_all(path)


def test_two_actors_cannot_overwrite_each_other_unseen(tmp_path: Path) -> None:
    path = tmp_path / "f"
    first, second = ReadLedger(), ReadLedger()
    write(path, "start", first)
    second.note(path, digest_of(b"start"), "start")
    edit(path, "start", "from second", second)
    with pytest.raises(StaleError):
        write(path, "from first", first)


def test_a_partial_view_is_not_knowing_the_file(tmp_path: Path) -> None:
    ledger = ReadLedger()
    path = tmp_path / "f"
    path.write_text("a\nb\n")
    ledger.note(path, digest_of(b"a\nb\n"), complete=False)
    edit(path, "a", "c", ledger)
    assert ledger.knows(path)
    assert not ledger.knows_all(path)


def test_a_plan_is_void_when_the_file_changed_meanwhile(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_text("old")
    plan = plan_write(path, "new", LEDGER)
    path.write_text("theirs")
    with pytest.raises(ConflictError, match="changed while"):
        commit([plan], LEDGER)
    new = plan_write(tmp_path / "g", "x", LEDGER)
    (tmp_path / "g").write_text("theirs")
    with pytest.raises(ConflictError, match="appeared while"):
        commit([new], LEDGER)
    assert path.read_text() == "theirs"


def test_a_change_can_be_undone_by_nobody_half(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, gone = tmp_path / "kept", tmp_path / "gone"
    kept.write_text("kept")
    kept.chmod(0o750)
    gone.write_text("gone")
    gone.chmod(0o640)
    plans = [
        plan_write(kept, "changed", LEDGER),
        plan_change(gone, present_text(gone), None),
        plan_write(tmp_path / "deep/new", "new", LEDGER),
    ]

    def fail(name: str) -> None:
        if name == "file.put" and not gone.exists():
            raise RoostError("broken")

    monkeypatch.setattr(changes, "failpoint", fail)
    with pytest.raises(RoostError, match="broken"):
        commit(plans, LEDGER)
    assert (kept.read_text(), mode_of(kept)) == ("kept", 0o750)
    assert (gone.read_text(), mode_of(gone)) == ("gone", 0o640)
    assert not (tmp_path / "deep").exists()


def test_all_or_nothing_when_one_of_several_cannot_be_staged(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("old")
    (tmp_path / "dir").mkdir()
    plans = [
        plan_write(tmp_path / "f", "new", LEDGER),
        plan_write(tmp_path / "x/y/z", "new", LEDGER),
        plan_change(tmp_path / "dir", None, "new"),
    ]
    with pytest.raises(RoostError):
        commit(plans, LEDGER)
    assert (tmp_path / "f").read_text() == "old"
    assert not (tmp_path / "x").exists()


def test_concurrent_edits_of_one_file_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_text("".join(f"{i}\n" for i in range(8)))

    def one(number: int) -> None:
        while True:
            try:
                edit(path, f"{number}\n", f"done {number}\n", ReadLedger())
            except ConflictError:
                time.sleep(0.001)
            else:
                return

    threads = [threading.Thread(target=one, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_text() == "".join(f"done {i}\n" for i in range(8))
