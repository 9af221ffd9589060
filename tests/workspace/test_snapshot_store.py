import os
import resource
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from snapshot_world import World, git

from roost.core.errors import StorageError
from roost.workspace import snapshot_objects
from roost.workspace.snapshot_models import NO_FILES
from roost.workspace.snapshot_objects import ObjectStore
from roost.workspace.snapshot_roots import Roots
from roost.workspace.snapshots import Patch, SnapshotLostError, Snapshots

PROGRAM = """
import sys
from pathlib import Path
from roost.workspace.snapshots import Patch, Snapshots
root, store, verb, *rest = sys.argv[1:]
snapshots = Snapshots(Path(root), Path(store), warn=print)
if verb == "track":
    print(snapshots.track())
    snapshots.close()
elif verb == "revert":
    print(snapshots.revert([Patch(rest[0], rest[1], tuple(rest[2:]))]).files)
elif verb == "write":
    for number in range(40):
        (Path(root) / rest[0]).write_text(f"{number}\\n")
        assert snapshots.track([rest[0]])
    print(snapshots.track())
"""


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def start(world: World, *arguments: str, failpoint: str = "") -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, world.root, world.store, *arguments],
        env={**os.environ, "ROOST_FAILPOINT": failpoint},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(process: "subprocess.Popen[str]") -> tuple[int, str]:
    out, error = process.communicate(timeout=60)
    return process.returncode, out if process.returncode == 0 else error


def unfinished(world: World) -> list[Path]:
    return [one for one in world.store.rglob("*") if one.name.startswith(("tmp_", "."))]


def sound(world: World, tree: str) -> None:
    git(world.store, "--git-dir=.", "fsck", "--full", "--strict", tree)


@pytest.mark.parametrize("nth", [1, 2, 5, 9])
def test_a_kill_while_objects_are_written_harms_nothing(world: World, nth: int) -> None:
    for number in range(10):
        world.write(f"d{number}/f", f"{number}")
    code, _ = ended(start(world, "track", failpoint=f"snapshot.object:{nth}=kill"))
    assert code == -9
    tree = world.track()
    assert world.warnings == []
    sound(world, tree)
    world.snapshots.prune([tree], 0)
    assert unfinished(world) == []
    sound(world, tree)


def test_a_kill_before_a_pack_has_its_name_leaves_nothing_for_long(world: World) -> None:
    for number in range(200):
        world.write(f"{number}", f"{number}")
    code, _ = ended(start(world, "track", failpoint="snapshot.pack=kill"))
    assert code == -9
    assert len(unfinished(world)) == 1
    tree = world.track()
    sound(world, tree)
    world.snapshots.prune([tree], 0)
    assert unfinished(world) == []


@pytest.mark.parametrize("place", ["file.staged", "snapshot.put:1", "snapshot.put:2"])
def test_a_revert_that_was_killed_can_be_done_again(world: World, place: str) -> None:
    for name in "abc":
        world.write(name, "old\n")
    world.write("d", "old\n")
    start_state = world.state()
    before = world.track()
    for name in "abc":
        world.write(name, "new\n")
    (world.root / "d").unlink()
    world.write("made", "new\n")
    patch = world.snapshots.patch(before)
    assert patch is not None
    arguments = ("revert", patch.before, patch.after, *(patch.files or ()))
    code, _ = ended(start(world, *arguments, failpoint=f"{place}=kill"))
    assert code == -9
    assert {data for _, data in world.state().values()} <= {b"old\n", b"new\n"}
    assert world.snapshots.revert([patch]).complete
    assert world.state() == start_state


def test_two_processes_at_once_disturb_each_other_in_nothing(world: World) -> None:
    for number in range(100):
        world.write(f"d{number % 5}/{number}", f"{number}")
    running = [start(world, "write", name) for name in ("one", "two")]
    for process in running:
        code, out = ended(process)
        assert code == 0, out
    tree = world.track()
    sound(world, tree)
    assert world.content(tree, "one") == world.content(tree, "two") == "39\n"


def test_a_full_disk_is_a_clear_error_and_leaves_no_half_of_a_file(world: World) -> None:
    world.write("a", "1\n")
    before = world.track()
    noise = b"".join(os.urandom(30).hex().encode() + b"\n" for _ in range(4000))
    world.write("a", noise)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
    try:
        for named in (None, ["a"]):
            with pytest.raises(StorageError, match="disk is full"):
                world.snapshots.track(named)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert unfinished(world) == []
    patch = world.snapshots.patch(before)
    assert patch is not None
    sound(world, patch.after)
    assert world.content(patch.after, "a").encode() == noise


@pytest.mark.parametrize("room", [30_000, 600_000, 606_000])
def test_a_full_disk_under_a_pack_leaves_nothing_behind(world: World, room: int) -> None:
    for number in range(200):
        world.write(f"{number}", os.urandom(3000))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
    try:
        with pytest.raises(StorageError, match="disk is full"):
            world.snapshots.track()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert unfinished(world) == []
    sound(world, world.track())


def test_a_full_disk_in_a_revert_leaves_the_file_as_it_is(world: World) -> None:
    noise = b"".join(os.urandom(30).hex().encode() + b"\n" for _ in range(4000))
    world.write("a", noise)
    world.write("b", "1\n")
    before = world.track()
    world.write("a", "2\n")
    world.write("b", "2\n")
    patch = world.snapshots.patch(before)
    assert patch is not None
    plan = world.snapshots.plan([patch])
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
    try:
        report = world.snapshots.apply(plan)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert [(one.path, one.action) for one in report.files] == [("a", "failed"), ("b", "restored")]
    assert world.read("a") == "2\n"
    assert sorted(one.name for one in world.root.iterdir()) == ["a", "b"]


def test_a_store_that_was_deleted_is_made_anew_with_a_warning(world: World) -> None:
    world.write("a/b", "1\n")
    world.write("c", "1\n")
    before = world.track()
    shutil.rmtree(world.store)
    assert world.snapshots.track(["c"]) == before
    assert "begin anew" in world.warnings[0]
    sound(world, before)
    shutil.rmtree(world.store)
    assert world.snapshots.track(()) == before
    sound(world, before)
    assert len(world.warnings) == 2


def test_a_store_whose_objects_were_deleted_is_made_anew_as_soon_as_that_shows(
    world: World,
) -> None:
    world.write("a/b", "1\n")
    world.write("c", "1\n")
    world.track()
    shutil.rmtree(world.store / "objects")
    world.write("c", "2\n")
    found = world.snapshots.track(["c"])
    assert "begin anew" in world.warnings[0]
    sound(world, found or "")


def test_a_store_that_another_process_made_anew_is_filled_again(world: World) -> None:
    world.write("a/b", "1\n")
    world.write("c", "1\n")
    world.track()
    time.sleep(0.002)  # moments are told apart by milliseconds
    shutil.rmtree(world.store)
    (world.root.parent / "other").mkdir()
    Snapshots(world.root.parent / "other", world.store, warn=print).track()
    world.write("c", "2\n")
    sound(world, world.snapshots.track(["c"]) or "")


def test_a_step_need_not_look_at_everything_because_others_pruned(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.write("a", "1\n")
    world.track()
    world.write("a", "2\n")
    time.sleep(0.01)
    between = time.time() - 0.005
    kept = world.track()
    monkeypatch.setattr(ObjectStore, "all_ids", lambda _: pytest.fail("looked at everything"))
    assert world.opened().prune([kept], time.time() - between).removed > 0
    world.write("a", "3\n")
    sound(world, world.snapshots.track(["a"]) or "")


def test_what_was_damaged_is_told_and_written_again(world: World) -> None:
    world.write("a", "1\n")
    world.write("b", "one\n")
    before = world.track()
    world.write("a", "2\n")
    world.write("b", "two\n")
    patch = world.snapshots.patch(before)
    assert patch is not None
    blob = git(world.store, "--git-dir=.", "rev-parse", f"{before}:a").strip()
    broken = world.store / "objects" / blob[:2] / blob[2:]
    broken.chmod(0o600)
    broken.write_bytes(b"")
    report = world.snapshots.revert([patch])
    assert [(one.path, one.action) for one in report.files] == [("a", "left"), ("b", "restored")]
    assert "gone or damaged" in report.files[0].reason
    world.write("a", "1\n")
    assert world.track() == before
    sound(world, before)


@pytest.mark.parametrize("file", ["HEAD", "known", "roost.lock", "roost.roots", "objects/pack"])
def test_any_piece_of_the_store_may_be_lost(world: World, file: str) -> None:
    for number in range(200):
        world.write(f"{number}", f"{number}")
    before = world.track()
    other = world.opened()
    assert other.track() == before
    other.close()
    lost = world.store / file
    shutil.rmtree(lost) if lost.is_dir() else lost.unlink()
    assert world.snapshots.track(["1"]) is not None
    assert world.opened().track() == before
    sound(world, before)
    world.snapshots.prune([before], 0)
    sound(world, before)


def test_an_index_that_is_nonsense_is_passed_over(world: World) -> None:
    world.write("a", "1\n")
    before = world.track()
    world.snapshots.close()
    (index,) = (world.store / "known").iterdir()
    for nonsense in (b"", b"\x93\x01", os.urandom(2000), b"\x92\x01" * 3000):
        index.write_bytes(nonsense)
        assert world.opened().track() == before


def test_an_index_saves_the_next_start_from_reading_all_files(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(20):
        world.write(f"d/{number}", f"{number}")
    before = world.track()
    time.sleep(0.03)  # files this young are read again, since they might change unseen
    assert world.track() == before
    world.snapshots.close()
    read: list[str] = []
    write = ObjectStore.write

    def counted(self: ObjectStore, kind: str, data: bytes) -> bytes:
        read.append(kind)
        return write(self, kind, data)

    monkeypatch.setattr(snapshot_objects.ObjectStore, "write", counted)
    assert world.opened().track() == before
    assert "blob" not in read


def test_what_nobody_needs_is_removed_and_nothing_else(world: World) -> None:
    for number in range(200):
        world.write(f"d{number % 3}/{number}", f"first {number}\n")
    first = world.track()
    for number in range(200):
        world.write(f"d{number % 3}/{number}", f"second {number}\n")
    second = world.track()
    for number in range(0, 200, 20):
        world.write(f"d{number % 3}/{number}", f"third {number}\n")
    third = world.track()
    assert world.snapshots.prune([], 3600).removed == 0
    done = world.snapshots.prune([third], -1)
    assert done.complete
    assert done.removed > 200
    sound(world, third)
    with pytest.raises(SnapshotLostError):
        world.snapshots.diff(first, third)
    sound(world, second)  # it shares a pack that is mostly needed
    assert len(list(world.store.glob("objects/pack/*.pack"))) == 1
    done = world.snapshots.prune([world.track(), second], -1)
    assert done.removed == 0


def test_another_process_writes_anew_what_was_removed_behind_its_back(world: World) -> None:
    world.write("d/a", "1\n")
    world.write("d/b", "1\n")
    other = world.opened()
    tree = other.track()
    assert world.snapshots.prune([], -1).removed > 0
    assert other.track(()) == tree
    sound(world, tree or "")
    world.snapshots.prune([], -1)
    world.write("d/b", "2\n")
    sound(world, other.track(["d/b"]) or "")


def test_pruning_gives_way_to_a_step(world: World) -> None:
    world.write("a", "1\n")
    world.track()
    began = threading.Event()
    done = threading.Event()

    def step() -> None:
        with Roots(ObjectStore(world.store)).shared():
            began.set()
            done.wait(20)

    thread = threading.Thread(target=step)
    thread.start()
    began.wait(20)
    found = world.snapshots.prune([], 0, seconds=0.1)
    done.set()
    thread.join()
    assert not found.complete
    assert found.removed == 0


def test_snapshots_made_while_others_are_removed_are_whole(world: World) -> None:
    for number in range(100):
        world.write(f"d{number % 4}/{number}", f"{number}")
    other = world.opened()
    kept: list[str] = []
    stop = threading.Event()

    def prune() -> None:
        while not stop.is_set():
            other.prune([], 0.3)

    thread = threading.Thread(target=prune)
    thread.start()
    try:
        for number in range(120):
            world.write("d1/1", f"{number % 7}")
            found = world.snapshots.track(["d1/1"] if number % 5 else None)
            assert found is not None
            assert other.diff(found, found) == []
            assert world.opened().compare(NO_FILES, found)
            kept.append(found)
    finally:
        stop.set()
        thread.join()
    sound(world, world.track())


def test_the_trees_of_a_revert_are_kept_like_snapshots(world: World) -> None:
    world.write("a", "1\n")
    before = world.track()
    world.write("a", "2\n")
    patch = world.snapshots.patch(before)
    assert patch is not None
    report = world.snapshots.revert([patch])
    other = Snapshots(world.root, world.store, warn=print)
    other.prune([], 3600)
    assert other.unrevert(report).complete
    assert world.read("a") == "2\n"
    assert isinstance(report.undo, Patch)
