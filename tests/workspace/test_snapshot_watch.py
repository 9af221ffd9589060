"""Snapshots that go by what the kernel tells are those that a look at all files would make."""

import mmap
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from snapshot_world import World, git

from roost.workspace import snapshot_watch
from roost.workspace.snapshot_scan import Scanner
from roost.workspace.snapshot_watch import Watch, can_be_watched
from roost.workspace.snapshots import Snapshots

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells of changes so")


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.snapshots.close()


def trusted(world: World) -> Snapshots:
    """Snapshots that have looked often enough to go by what they are told."""
    for _ in range(4):
        world.track()
    return world.snapshots


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A note for each look at all files."""
    seen: list[str] = []
    everything = Scanner.everything

    def noted(self: Scanner, top: object) -> None:
        seen.append("look")
        everything(self, top)  # type: ignore[arg-type]

    monkeypatch.setattr(Scanner, "everything", noted)
    return seen


def fresh(world: World) -> str | None:
    """What a look at all files by another process finds."""
    return world.opened().track()


def test_after_three_looks_no_more_are_needed(world: World, looks: list[str]) -> None:
    for number in range(30):
        world.write(f"d{number % 5}/f{number}", str(number))
    trusted(world)
    assert len(looks) == 3
    world.write("d1/f1", "changed")
    world.write("new/deep/er", "n")
    (world.root / "d2/f2").unlink()
    found = world.track()
    assert len(looks) == 3
    assert found == fresh(world)
    world.write("new/deep/er", "changed in a folder that was made since")
    assert world.track() == fresh(world)
    before = world.snapshots.last
    assert world.track() == before
    assert len(looks) == 5, "two of them by the other process"


def test_what_another_process_does_is_told_before_its_end_is(world: World) -> None:
    world.write("a", "1\n")
    trusted(world)
    script = "mkdir -p x/y; echo 2 > a; echo 3 > x/y/z; mv x w; ln -s a l; chmod +x a"
    subprocess.run(["sh", "-c", script], cwd=world.root, check=True)
    assert world.track() == fresh(world)
    assert world.read("w/y/z") == "3\n"
    subprocess.run(["sh", "-c", "echo 4 > w/y/z; rm -r w/y; mkdir w/y"], cwd=world.root, check=True)
    assert world.track() == fresh(world)


def test_what_is_written_by_way_of_memory_is_told_too(world: World) -> None:
    world.write("a", "x" * 100)
    trusted(world)
    with (world.root / "a").open("r+b") as file:
        mapped = mmap.mmap(file.fileno(), 100)
    mapped[0:4] = b"made"
    mapped.close()
    assert world.track() == fresh(world)
    assert world.content(world.snapshots.last or "", "a").startswith("made")


def test_a_folder_that_was_moved_and_made_anew_is_not_taken_for_the_other(world: World) -> None:
    world.write("a/b/c", "1")
    trusted(world)
    (world.root / "a").rename(world.root / "moved")
    world.write("a/b/c", "2")
    assert world.track() == fresh(world)
    world.write("moved/b/c", "3")
    world.write("a/b/d", "4")
    assert world.track() == fresh(world)
    shutil.rmtree(world.root / "a")
    world.write("moved/b/e", "5")
    assert world.track() == fresh(world)


def test_ignore_files_have_their_say(world: World) -> None:
    git(world.root, "init", "-q")
    world.write("build/out", "o")
    world.write("kept", "k")
    trusted(world)
    world.write(".gitignore", "build/\n")
    assert world.track() == fresh(world)
    world.write("build/more", "m")
    world.write(".gitignore", "")
    assert world.track() == fresh(world)
    world.write("build/out", "seen again")
    assert world.track() == fresh(world)
    world.write(".gitignore", "*.log\n")
    world.write("forced.log", "f")
    world.track()
    git(world.root, "add", "-f", "forced.log")
    assert world.track() == fresh(world)


def test_a_repository_that_appears_is_not_entered(world: World) -> None:
    world.write("sub/a", "1")
    trusted(world)
    git(world.root / "sub", "init", "-q")
    assert world.track() == fresh(world)
    shutil.rmtree(world.root / "sub/.git")
    world.track()


def test_too_many_changes_are_found_by_a_look(
    world: World, looks: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot_watch, "MOST", 10)
    trusted(world)
    for number in range(20):
        world.write(f"f{number}", str(number))
    assert world.track() == fresh(world)
    assert len(looks) == 5
    world.track()
    world.write("f1", "again")
    assert world.track() == fresh(world)


def test_news_that_were_lost_are_made_good_by_a_look(world: World) -> None:
    world.write("d/a", "1")
    snapshots = trusted(world)
    limit = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    handles = [os.open(world.root / "d/a", os.O_WRONLY) for _ in range(2)]
    for number in range(limit // 2 + 10):
        os.pwrite(handles[number % 2], b"2", number % 7)  # equal news in a row count once
        os.utime(world.root / "d", ns=(number, number))
    for handle in handles:
        os.close(handle)
    assert snapshots.track() == fresh(world)
    for _ in range(3):
        world.track()
    world.write("d/a", "3")
    assert world.track() == fresh(world)


def test_a_look_now_and_then_finds_out_whether_all_is_told(
    world: World, looks: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    world.write("a", "1")
    trusted(world)
    monkeypatch.setattr(snapshot_watch, "CHECKED_EVERY", -1.0)
    world.track()
    assert len(looks) == 4
    monkeypatch.setattr(Watch, "changed", lambda _: set[str]())
    world.write("a", "2")
    assert world.track() == fresh(world)
    monkeypatch.undo()
    world.write("a", "3")
    assert world.track() == fresh(world), "it looks for itself again"


def test_a_root_that_was_moved_away_is_missed(world: World) -> None:
    world.write("a", "1")
    trusted(world)
    world.root.rename(world.root.with_name("elsewhere"))
    world.write("b", "2")
    assert world.track() == fresh(world)


def test_only_file_systems_of_this_machine_are_relied_on(tmp_path: Path) -> None:
    assert can_be_watched(tmp_path)
    assert not can_be_watched(Path("/proc/self"))
    assert not can_be_watched(Path("/"))


def test_where_nothing_is_told_all_files_are_looked_at(
    world: World, looks: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot_watch, "can_be_watched", lambda _: False)
    trusted(world)
    world.write("a", "1")
    assert world.track() == fresh(world)
    assert len(looks) == 6


NAMES = st.sampled_from(("a", "b", "d", "d/a", "d/b", "d/e", "d/e/f", "g", "g/h"))
DEED = st.one_of(
    st.tuples(st.just("write"), NAMES, st.sampled_from(("1", "22", "333"))),
    st.tuples(st.just("remove"), NAMES, st.just("")),
    st.tuples(st.just("folder"), NAMES, st.just("")),
    st.tuples(st.just("move"), NAMES, NAMES),
    st.tuples(st.just("link"), NAMES, NAMES),
    st.tuples(st.just("mode"), NAMES, st.just("")),
    st.tuples(st.just("ignore"), st.sampled_from(("", "d", "g")), NAMES),
    st.tuples(st.just("track"), st.just(""), st.just("")),
)


def do(world: World, verb: str, name: str, other: str) -> None:
    real = world.root / name
    try:
        match verb:
            case "write":
                world.write(name, other)
            case "remove":
                shutil.rmtree(real) if real.is_dir() and not real.is_symlink() else real.unlink()
            case "folder":
                real.mkdir(parents=True)
            case "move":
                real.rename(world.root / other)
            case "link":
                real.symlink_to(other)
            case "mode":
                real.chmod(real.stat().st_mode ^ 0o100)
            case "ignore":
                world.write(f"{name}/.gitignore".lstrip("/"), Path(other).name)
            case _:
                world.track()
    except OSError:
        return


@settings(max_examples=60, deadline=None)
@given(st.lists(DEED, max_size=4), st.lists(st.lists(DEED, max_size=6), min_size=1, max_size=4))
def test_whatever_happens_to_files_is_told(
    start: list[tuple[str, str, str]], rounds: list[list[tuple[str, str, str]]]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder))
        for deed in start:
            do(world, *deed)
        trusted(world)
        for deeds in rounds:
            for deed in deeds:
                do(world, *deed)
            assert world.track() == fresh(world)
        world.snapshots.close()
