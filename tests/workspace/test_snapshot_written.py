"""Changes of tools that name their files: kept beforehand, taken back exactly, whatever happens."""

import os
import stat
import threading
from pathlib import Path

import pytest
from snapshot_world import World, git

from roost.core.errors import ConflictError
from roost.workspace.changes import FileChange, commit, plan_change, present_content, present_text
from roost.workspace.ledger import ReadLedger
from roost.workspace.snapshot_changes import COUNTED, Changes, patch_text
from roost.workspace.snapshot_models import LookEndedError
from roost.workspace.snapshot_revert import TimedChange, in_order, undoing
from roost.workspace.snapshot_states import Content
from roost.workspace.snapshot_written import Written, WrittenFiles
from roost.workspace.snapshots import DiffLimits, Patch, RevertReport, SnapshotLimits, Snapshots


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def planned(world: World, path: str, after: str | None) -> FileChange:
    real = world.root / path
    return plan_change(real, present_content(real), after)


def foreseen(world: World, *changes: FileChange) -> Written:
    return WrittenFiles(world.root, world.store).foresee(changes)


def wrote(world: World, *changes: FileChange) -> Patch:
    """What an edit does: it is foreseen, made, and looked at again."""
    files = WrittenFiles(world.root, world.store)
    written = files.foresee(changes)
    commit(changes, ReadLedger())
    patch = files.settled(written).patch
    assert patch is not None
    return patch


def told(report: RevertReport) -> dict[str, str]:
    return {one.path: one.action for one in report.files}


def test_what_was_written_is_taken_back_without_a_look_at_any_other_file(world: World) -> None:
    world.write("a", "1\n", 0o755)
    world.write("gone", "x\n")
    start = world.state()
    patch = wrote(
        world,
        planned(world, "a", "2\n"),
        planned(world, "gone", None),
        planned(world, "new/deep", "n\n"),
    )
    assert patch.files == ("a", "gone", "new/deep")
    assert set(world.held(patch.after)) == {"a", "new/deep"}, "no other file was looked at"
    assert patch.base == ""
    report = world.snapshots.revert([patch])
    assert told(report) == {"a": "restored", "gone": "created", "new/deep": "deleted"}
    assert world.state() == start
    assert not (world.root / "new").exists()
    assert world.snapshots.unrevert(report).complete
    assert (world.read("a"), world.read("new/deep")) == ("2\n", "n\n")


def test_what_was_foreseen_but_never_written_leaves_nothing_to_take_back(world: World) -> None:
    world.write("a", "1\n")
    written = foreseen(world, planned(world, "a", "2\n"), planned(world, "b", "2\n"))
    assert written.patch is not None
    assert told(world.snapshots.revert([written.patch])) == {"a": "unchanged", "b": "unchanged"}
    assert world.read("a") == "1\n"


def test_what_the_user_changed_before_it_is_not_taken_for_the_agents(world: World) -> None:
    world.write("a", "1\n2\n3\n4\n5\n")
    world.track()
    world.write("a", "user\n2\n3\n4\n5\n")
    patch = wrote(world, planned(world, "a", "user\n2\n3\n4\nagent\n"))
    assert world.snapshots.revert([patch]).complete
    assert world.read("a") == "user\n2\n3\n4\n5\n"


def test_ignored_files_and_those_of_other_repositories_belong_to_it(world: World) -> None:
    git(world.root, "init", "-q")
    world.write(".gitignore", "*.secret\n")
    world.write("my.secret", "1\n")
    world.write("vendor/lib/a", "1\n")
    git(world.root / "vendor/lib", "init", "-q")
    patch = wrote(world, planned(world, "my.secret", "2\n"), planned(world, "vendor/lib/a", "2\n"))
    assert world.snapshots.revert([patch]).complete
    assert (world.read("my.secret"), world.read("vendor/lib/a")) == ("1\n", "1\n")


def test_what_lies_elsewhere_or_in_the_repository_itself_is_named_and_not_kept(
    world: World, tmp_path: Path
) -> None:
    git(world.root, "init", "-q")
    (tmp_path / "elsewhere").write_text("1\n")
    change = plan_change(tmp_path / "elsewhere", present_text(tmp_path / "elsewhere"), "2\n")
    hook = planned(world, ".git/hooks/pre-commit", "exit 1\n")
    written = foreseen(world, change, hook)
    assert written.patch is None
    assert written.outside == (
        str(tmp_path / "elsewhere"),
        str(world.root / ".git/hooks/pre-commit"),
    )


def test_a_file_too_large_to_be_kept_is_left_alone(tmp_path: Path) -> None:
    world = World(tmp_path, limits=SnapshotLimits(file_bytes=10))
    world.write("a", "1" * 11)
    world.write("b", "1")
    files = WrittenFiles(world.root, world.store, SnapshotLimits(file_bytes=10))
    changes = [planned(world, "a", "small"), planned(world, "b", "2" * 11)]
    written = files.foresee(changes)
    commit(changes, ReadLedger())
    assert written.patch is not None
    report = world.snapshots.revert([written.patch])
    assert told(report) == {"a": "left", "b": "left"}
    assert (world.read("a"), world.read("b")) == ("small", "2" * 11)


def test_binary_content_comes_back_to_the_byte(world: World) -> None:
    data = bytes(range(256)) * 10
    world.write("image", data)
    patch = wrote(world, planned(world, "image", None))
    assert not (world.root / "image").exists()
    world.snapshots.revert([patch])
    assert (world.root / "image").read_bytes() == data


def test_a_new_file_that_nobody_else_may_read_is_taken_back_too(world: World) -> None:
    before = os.umask(0o077)
    try:
        patch = wrote(world, planned(world, "key", "s\n"))
    finally:
        os.umask(before)
    assert stat.S_IMODE((world.root / "key").stat().st_mode) == 0o600
    assert told(world.snapshots.revert([patch])) == {"key": "deleted"}


def test_a_folder_whose_new_files_get_a_mode_of_its_own_is_no_hindrance(world: World) -> None:
    files = WrittenFiles(world.root, world.store)
    change = planned(world, "tool", "#!/bin/sh\n")
    written = files.foresee([change])
    commit([change], ReadLedger())
    (world.root / "tool").chmod(0o755)  # as an access list of the folder would have it
    settled = files.settled(written)
    assert settled.patch is not None
    assert world.held(settled.patch.after) == {"tool": "100755"}
    assert told(world.snapshots.revert([settled.patch])) == {"tool": "deleted"}


def test_a_file_that_changed_meanwhile_is_neither_written_nor_taken_back(world: World) -> None:
    world.write("a", "1\n")
    change = planned(world, "a", "2\n")
    world.write("a", "user\n")
    written = foreseen(world, change)
    with pytest.raises(ConflictError):
        commit([change], ReadLedger())
    assert written.patch is not None
    assert told(world.snapshots.revert([written.patch])) == {"a": "unchanged"}
    assert world.read("a") == "user\n"


A, B, C, D = (Content(0o100644, letter) for letter in (b"a", b"b", b"c", b"d"))


def test_changes_that_went_on_side_by_side_are_taken_back_as_one() -> None:
    # Two commands: the first saw a → c, the second b → d, and what is now is d.
    crossed = [TimedChange(A, C, 0, 10), TimedChange(B, D, 5, 15)]
    assert in_order(crossed) == [(A, D)]
    assert undoing(in_order(crossed), D).target == A
    inside = [TimedChange(A, C, 0, 10), TimedChange(A, B, 2, 2), TimedChange(B, C, 3, 4)]
    assert in_order(inside) == [(A, C)]
    apart = [TimedChange(A, B, 0, 5), TimedChange(B, C, 5, 9), TimedChange(C, D)]
    assert in_order(apart) == [(A, B), (B, C), (C, D)]


def test_files_are_told_as_they_were_before_the_first_change_and_after_the_last(
    world: World,
) -> None:
    world.write("a", "1\n2\n")
    world.write("same", "s\n")
    world.write("gone", "g\n")
    patches = [
        wrote(world, planned(world, "a", "1\n3\n"), planned(world, "same", "other\n")),
        wrote(world, planned(world, "a", "0\n1\n3\n"), planned(world, "same", "s\n")),
        wrote(world, planned(world, "gone", None), planned(world, "new", "n\n")),
    ]
    changes = Changes(world.store)
    files = changes.files(patches)
    assert sorted(files) == ["a", "gone", "new"]
    counted = changes.diff(files, COUNTED)
    assert [(o.path, o.status, o.additions, o.deletions) for o in counted] == [
        ("a", "modified", 2, 1),
        ("gone", "deleted", 0, 1),
        ("new", "added", 1, 0),
    ]
    assert all(patch_text(one) == "" for one in counted)
    shown = [patch_text(one) for one in changes.diff(files, DiffLimits())]
    assert shown[0].startswith("--- a/a\n+++ b/a\n@@ -1,2 +1,3 @@\n+0\n 1\n-2\n+3\n")
    assert shown[1].startswith("--- a/gone\n+++ /dev/null\n")
    assert shown[2].startswith("--- /dev/null\n+++ b/new\n")


def test_of_a_snapshot_that_is_gone_nothing_is_told(world: World) -> None:
    world.write("a", "1\n")
    patch = wrote(world, planned(world, "a", "2\n"))
    lost = Patch("1" * 40, "2" * 40, ("b",))
    assert list(Changes(world.store).files([lost, patch])) == ["a"]


def test_a_look_that_nobody_needs_ends_when_the_program_does(world: World) -> None:
    for folder in range(20):
        for number in range(20):
            world.write(f"d{folder}/f{number}", f"{folder} {number}")
    seen: list[BaseException] = []
    snapshots = world.opened()
    snapshots.close()

    def look() -> None:
        try:
            snapshots.track()
        except LookEndedError as error:
            seen.append(error)

    thread = threading.Thread(target=look)
    thread.start()
    thread.join(20)
    assert len(seen) == 1
    assert not list((world.store / "objects/pack").glob("*.pack"))


def test_the_snapshot_after_an_edit_is_told_once_all_files_were_looked_at(world: World) -> None:
    world.write("a", "1\n")
    world.write("b", "1\n")
    snapshots: Snapshots = world.opened()
    assert (snapshots.last, snapshots.follow(["a"])) == (None, None)
    first = snapshots.track()
    assert snapshots.last == first
    world.write("a", "2\n")
    second = snapshots.follow(["a"])
    assert second == world.opened().track() == snapshots.last != first


def test_a_revert_that_came_to_some_files_only_is_gone_on_with_or_taken_back(
    world: World,
) -> None:
    for name in ("a", "b", "c"):
        world.write(name, "1\n")
    start = world.state()
    patch = wrote(world, *(planned(world, name, "2\n") for name in ("a", "b", "c")))
    end = world.state()
    undo = world.snapshots.plan([patch]).report.undo
    for done in (("a",), ("a", "b"), (), ("c",)):
        for name in ("a", "b", "c"):
            world.write(name, "1\n" if name in done else "2\n")
        back = world.snapshots.plan([], [undo])
        assert [one.action for one in back.files].count("restored") == len(done)
        world.snapshots.apply(world.snapshots.plan([patch], [undo]))
        assert world.state() == start
        for name in done:
            world.write(name, "2\n")
        assert told(world.snapshots.apply(world.snapshots.plan([], [undo]))) == {
            name: "unchanged" if name in done else "restored" for name in ("a", "b", "c")
        }
        assert world.state() == end


def test_only_the_folder_around_what_is_written_is_kept(world: World) -> None:
    world.write("deep/er/a", "1\n")
    (world.root / "deep/empty").mkdir()
    start = world.state()
    patch = wrote(world, planned(world, "deep/er/a", "2\n"), planned(world, "deep/er/n/b", "n"))
    assert (patch.base, patch.files) == ("deep/er/", ("deep/er/a", "deep/er/n/b"))
    assert set(world.held(patch.after)) == {"a", "n/b"}
    other = wrote(world, planned(world, "deep/empty/c", "n"), planned(world, "fresh/d", "n"))
    assert other.base == ""
    assert sorted(Changes(world.store).files([patch, other])) == [
        "deep/empty/c",
        "deep/er/a",
        "deep/er/n/b",
        "fresh/d",
    ]
    report = world.snapshots.revert([patch, other])
    assert report.complete
    assert world.state() == start
    assert (world.root / "deep/empty").is_dir(), "it was there before"
    assert not (world.root / "deep/er/n").exists()
    assert not (world.root / "fresh").exists()
    world.snapshots.unrevert(report)
    assert (world.read("deep/er/a"), world.read("fresh/d")) == ("2\n", "n")


def test_a_snapshot_is_foretold_of_files_that_are_kept_and_seen_to_if_they_come_otherwise(
    world: World,
) -> None:
    world.write("d/a", "1\n")
    world.write("d/b", "1\n")
    snapshots = world.opened()
    written = foreseen(world, planned(world, "d/a", "2\n"))
    assert snapshots.foretell(written.after) is None, "nothing was looked at yet"
    first = snapshots.track()
    told = snapshots.foretell(written.after)
    assert told not in {None, first}
    assert snapshots.last == told
    assert snapshots.track(()) == first, "it was not written after all"
    told = snapshots.foretell(written.after)
    world.write("d/a", "2\n")
    assert snapshots.track(()) == told == world.opened().track()
    new = foreseen(world, planned(world, "d/c", "n"))
    gone = foreseen(world, planned(world, "d/b", None))
    for other in (new, gone):
        assert snapshots.foretell(other.after) is None
    assert snapshots.last == told
