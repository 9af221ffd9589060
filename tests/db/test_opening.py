import os
import sqlite3
import stat
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from migrating import NEWER, add_colour, damage_a_table
from stage import Stage, run_python, was_killed

from roost.core.errors import StorageError
from roost.db.connect import DamagedError, explain
from roost.db.migrations import MIGRATIONS, version_of
from roost.db.opening import mark_suspect, open_file

MIGRATING = Path(__file__).with_name("migrating.py")


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def session_ids(path: Path) -> list[str]:
    connection = sqlite3.connect(path)
    rows = connection.execute("SELECT id FROM session").fetchall()
    connection.close()
    return [row[0] for row in rows]


@pytest.fixture
def old_file(tmp_path: Path) -> Path:
    """A database of the first schema with a session in it."""
    stage = Stage(tmp_path / "roost.db")
    stage.furnish()
    stage.close()
    return stage.path


def test_a_fresh_database_is_for_its_owner_only(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        stage = Stage(tmp_path / "home" / "roost.db")
        stage.furnish()
    finally:
        os.umask(before)
    assert mode_of(stage.path.parent) == 0o700
    files = sorted(stage.path.parent.iterdir())
    assert {path.suffix for path in files} >= {".db", ".db-wal", ".db-shm"}
    assert {mode_of(path) for path in files} == {0o600}
    stage.close()


def copy_of(file: Path) -> Path:
    """Where the copy lies that the first upgrade to `NEWER` makes."""
    return file.with_name(f"{file.name}.before-{len(MIGRATIONS) + 1}")


def test_opening_twice_changes_nothing(old_file: Path) -> None:
    opened = open_file(old_file)
    assert opened.notes == ()
    assert version_of(opened.connection) == len(MIGRATIONS)
    assert opened.connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
    opened.connection.close()
    assert session_ids(old_file) != []


def test_a_newer_database_is_refused_politely_and_left_alone(old_file: Path) -> None:
    open_file(old_file, NEWER).connection.close()
    before = old_file.read_bytes()
    with pytest.raises(StorageError, match="newer roost") as caught:
        open_file(old_file)
    assert str(old_file) in caught.value.message
    assert "ROOST_HOME" in caught.value.hint
    assert old_file.read_bytes() == before


def test_an_upgrade_makes_a_whole_private_copy_first(old_file: Path) -> None:
    known = session_ids(old_file)
    open_file(old_file, NEWER).connection.close()
    copy = copy_of(old_file)
    assert mode_of(copy) == 0o600
    assert session_ids(copy) == known == session_ids(old_file)
    again = open_file(copy)
    assert version_of(again.connection) == len(MIGRATIONS)
    again.connection.close()
    assert list(old_file.parent.glob("*.part")) == []


def test_a_migration_that_fails_leaves_the_file_as_it_was(old_file: Path) -> None:
    def breaks(connection: sqlite3.Connection) -> None:
        connection.execute("DELETE FROM session")
        connection.execute("ALTER TABLE nowhere ADD COLUMN x TEXT")

    known = session_ids(old_file)
    with pytest.raises(StorageError, match="nowhere"):
        open_file(old_file, (*MIGRATIONS, add_colour, breaks))
    opened = open_file(old_file)
    assert version_of(opened.connection) == len(MIGRATIONS)
    assert "colour" not in str(opened.connection.execute("PRAGMA table_info(session)").fetchall())
    opened.connection.close()
    assert session_ids(old_file) == known


def test_the_copy_is_of_what_was_there_last(old_file: Path) -> None:
    def breaks(_connection: sqlite3.Connection) -> None:
        raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        open_file(old_file, (*MIGRATIONS, breaks))
    stage = Stage(old_file)
    stage.furnish()
    stage.close()
    open_file(old_file, NEWER).connection.close()
    assert len(session_ids(copy_of(old_file))) == 2


@pytest.mark.parametrize("point", ["copied", "begin", "step", "step:2", "commit", "end"])
def test_a_migration_that_is_killed_is_whole_or_has_not_happened(
    old_file: Path, point: str
) -> None:
    known = session_ids(old_file)
    process = run_python(MIGRATING, str(old_file), "upgrade", failpoint=f"migrate.{point}=kill")
    assert was_killed(process)
    connection = sqlite3.connect(old_file)
    assert version_of(connection) == len(NEWER if point == "end" else MIGRATIONS)
    connection.close()
    opened = open_file(old_file, NEWER)
    assert opened.notes == ()
    opened.connection.execute("SELECT colour FROM session")
    opened.connection.execute("SELECT id FROM sound")
    assert opened.connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    opened.connection.close()
    assert session_ids(old_file) == known == session_ids(copy_of(old_file))


def cut_in_half(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def fill_with_garbage(path: Path) -> None:
    path.write_bytes(b"this was a database once " * 1_000)


@pytest.mark.parametrize("damage", [cut_in_half, fill_with_garbage])
def test_a_damaged_database_is_set_aside_and_named_and_never_deleted(
    old_file: Path, damage: Callable[[Path], None]
) -> None:
    damage(old_file)
    broken = old_file.read_bytes()
    opened = open_file(old_file)
    (note_,) = opened.notes
    aside, *_ = sorted(old_file.parent.glob("roost.db.damaged-*"))
    assert f" {aside};" in note_
    assert str(old_file) in note_
    assert aside.read_bytes() == broken
    assert opened.connection.execute("SELECT count(*) FROM session").fetchone()[0] == 0
    opened.connection.close()
    assert mode_of(old_file) == 0o600


def test_two_damaged_files_of_the_same_second_are_both_kept(tmp_path: Path) -> None:
    path = tmp_path / "roost.db"
    for number in range(3):
        path.write_bytes(b"garbage %d " % number * 500)
        open_file(path).connection.close()
    kept = {aside.read_bytes()[:9] for aside in tmp_path.glob("roost.db.damaged-*")}
    assert kept == {b"garbage 0", b"garbage 1", b"garbage 2"}


def test_damage_that_is_met_later_is_set_aside_at_the_next_opening(old_file: Path) -> None:
    damage_a_table(old_file, "inbox")
    opened = open_file(old_file)
    assert opened.notes == ()
    with pytest.raises(sqlite3.DatabaseError) as met:
        opened.connection.execute("SELECT * FROM inbox").fetchall()
    error = explain(met.value, old_file)
    assert isinstance(error, DamagedError)
    opened.connection.close()
    mark_suspect(old_file)
    again = open_file(old_file)
    assert "set aside" in again.notes[0]
    assert again.connection.execute("SELECT count(*) FROM inbox").fetchone()[0] == 0
    again.connection.close()
    third = open_file(old_file)
    assert third.notes == ()
    third.connection.close()


def test_damage_in_what_is_read_at_the_start_is_set_aside_at_once(old_file: Path) -> None:
    damage_a_table(old_file, "meta")
    opened = open_file(old_file)
    assert "set aside" in opened.notes[0]
    opened.connection.close()


def test_a_suspicion_that_proves_wrong_is_dropped(old_file: Path) -> None:
    known = session_ids(old_file)
    mark_suspect(old_file)
    opened = open_file(old_file)
    assert opened.notes == ()
    opened.connection.close()
    assert session_ids(old_file) == known
    assert not old_file.with_name("roost.db.suspect").exists()


@contextmanager
def as_nobody() -> Generator[None]:
    """Root may write anywhere, so become somebody else for a while."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def public_folder() -> Generator[Path]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder
        folder.chmod(0o755)


def test_a_folder_that_cannot_be_written_is_named(public_folder: Path) -> None:
    public_folder.chmod(0o555)
    path = public_folder / "roost.db"
    with as_nobody(), pytest.raises(StorageError, match="Permission denied") as caught:
        open_file(path)
    assert str(path) in caught.value.message
    assert "ROOST_HOME" in caught.value.hint


def test_a_file_that_cannot_be_written_is_named_and_left_alone(public_folder: Path) -> None:
    stage = Stage(public_folder / "roost.db")
    stage.furnish()
    stage.close()
    before = stage.path.read_bytes()
    stage.path.chmod(0o444)
    public_folder.chmod(0o555)
    with as_nobody(), pytest.raises(StorageError) as caught:
        open_file(stage.path)
    assert str(stage.path) in caught.value.message
    public_folder.chmod(0o755)
    assert stage.path.read_bytes() == before
    assert list(public_folder.glob("*damaged*")) == []


def test_a_folder_in_the_place_of_the_file_is_an_error_and_not_damage(tmp_path: Path) -> None:
    (tmp_path / "roost.db").mkdir()
    with pytest.raises(StorageError, match=r"roost\.db"):
        open_file(tmp_path / "roost.db")


def test_the_very_first_database_is_brought_up_to_date(tmp_path: Path) -> None:
    file = tmp_path / "roost.db"
    open_file(file, MIGRATIONS[:1]).connection.close()
    opened = open_file(file)
    assert version_of(opened.connection) == len(MIGRATIONS)
    opened.connection.execute("SELECT held, stalled FROM actor")
    opened.connection.close()
