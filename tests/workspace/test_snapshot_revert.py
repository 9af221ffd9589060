import stat
import tempfile
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from snapshot_world import World

from roost.workspace.snapshots import Patch, RevertReport, SnapshotLimits

TEN = "".join(f"{number}\n" for number in range(10))


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def patched(world: World, since: str) -> Patch:
    found = world.snapshots.patch(since)
    assert found is not None
    return found


def told(report: RevertReport) -> dict[str, str]:
    return {one.path: one.action for one in report.files}


def test_every_file_becomes_what_it_was(world: World) -> None:
    world.write("changed", "old\n")
    world.write("deleted/deep", "old\n")
    world.write("run.sh", "#!/bin/sh\n", 0o755)
    world.write("key", "secret\n", 0o600)
    world.write("to link", "file\n")
    (world.root / "link").symlink_to("changed")
    world.write("untouched", "u\n")
    start = world.state()
    before = world.track()
    world.write("changed", "new\n")
    (world.root / "deleted/deep").unlink()
    (world.root / "deleted").rmdir()
    (world.root / "run.sh").chmod(0o644)
    (world.root / "key").unlink()
    (world.root / "to link").unlink()
    (world.root / "to link").symlink_to("changed")
    (world.root / "link").unlink()
    world.write("link", "file now\n", 0o755)
    world.write("made/by/agent", "new\n")
    patch = patched(world, before)
    changed = world.state()
    preview = world.snapshots.preview([patch])
    assert world.state() == changed
    report = world.snapshots.revert([patch])
    assert preview.files == report.files
    assert report.complete
    assert told(report) == {
        "changed": "restored",
        "deleted/deep": "created",
        "key": "created",
        "link": "restored",
        "made/by/agent": "deleted",
        "run.sh": "restored",
        "to link": "restored",
    }
    assert world.state() == start
    assert not (world.root / "made").exists()
    again = world.snapshots.unrevert(report)
    assert again.complete
    assert {p: (m & 0o111, d) for p, (m, d) in world.state().items()} == {
        p: (m & 0o111, d) for p, (m, d) in changed.items()
    }


def test_what_the_user_changed_elsewhere_in_the_file_stays(world: World) -> None:
    world.write("a", TEN)
    before = world.track()
    world.write("a", TEN.replace("2\n", "agent\n"))
    patch = patched(world, before)
    world.write("a", world.read("a") + "user\n")
    report = world.snapshots.revert([patch])
    assert told(report) == {"a": "merged"}
    assert world.read("a") == TEN + "user\n"
    world.snapshots.unrevert(report)
    assert world.read("a") == TEN.replace("2\n", "agent\n") + "user\n"


def test_what_the_user_changed_in_the_same_place_is_a_conflict_and_stays(world: World) -> None:
    world.write("a", TEN)
    world.write("b", b"\0old")
    world.write("gone", "x\n")
    before = world.track()
    world.write("a", TEN.replace("2\n", "agent\n"))
    world.write("b", b"\0agent")
    world.write("made", "agent\n")
    (world.root / "gone").unlink()
    world.write("other", "agent\n")
    patch = patched(world, before)
    world.write("a", TEN.replace("2\n", "user\n"))
    world.write("b", b"\0user")
    world.write("made", "user\n")
    world.write("gone", "user\n")
    state = world.state()
    report = world.snapshots.revert([patch])
    expected = {"a": "conflict", "b": "conflict", "gone": "conflict", "made": "conflict"}
    assert told(report) == expected | {"other": "deleted"}
    del state["other"]
    assert world.state() == state
    assert {one.path: one.reason for one in report.files}["made"] == (
        "it was made, and somebody changed it since"
    )


def test_what_the_user_did_between_two_steps_stays(world: World) -> None:
    world.write("a", TEN)
    first = world.track()
    world.write("a", TEN.replace("1\n", "agent 1\n"))
    one = patched(world, first)
    world.write("a", world.read("a").replace("5\n", "user\n"))
    world.write("b", "user")
    second = world.track()
    world.write("a", world.read("a").replace("9\n", "agent 2\n"))
    two = patched(world, second)
    assert world.snapshots.revert([one, two]).complete
    assert world.read("a") == TEN.replace("5\n", "user\n")
    assert world.read("b") == "user"


def test_only_files_of_the_patches_are_touched(world: World) -> None:
    world.write("a", "1\n")
    world.write("b", "1\n")
    before = world.track()
    world.write("a", "2\n")
    world.write("b", "2\n")
    patch = patched(world, before)
    chosen = Patch(patch.before, patch.after, ("b",))
    assert told(world.snapshots.revert([chosen])) == {"b": "restored"}
    assert (world.read("a"), world.read("b")) == ("2\n", "1\n")


def test_a_folder_in_the_place_of_a_file_and_the_reverse(world: World) -> None:
    world.write("f", "file\n")
    world.write("d/one", "1\n")
    world.write("d/two", "2\n")
    start = world.state()
    before = world.track()
    (world.root / "f").unlink()
    world.write("f/inner", "x\n")
    (world.root / "d/one").unlink()
    (world.root / "d/two").unlink()
    (world.root / "d").rmdir()
    world.write("d", "file\n")
    changed = world.state()
    patch = patched(world, before)
    report = world.snapshots.revert([patch])
    assert report.complete, report
    assert world.state() == start
    assert world.snapshots.unrevert(report).complete
    assert world.state() == changed
    world.write("f/users", "u\n")
    assert told(world.snapshots.preview([patch]))["f"] == "conflict"
    assert told(world.snapshots.revert([patch]))["f"] == "conflict"
    assert world.read("f/users") == "u\n"


def test_empty_folders_in_the_place_of_a_file_make_room_for_it(world: World) -> None:
    world.write("a", "1\n")
    before = world.track()
    (world.root / "a").unlink()
    (world.root / "a/b/c").mkdir(parents=True)
    assert world.snapshots.revert([patched(world, before)]).complete
    assert world.read("a") == "1\n"


def test_an_empty_folder_that_was_there_before_stays(world: World) -> None:
    (world.root / "logs").mkdir()
    before = world.track()
    world.write("logs/new/file", "x")
    world.snapshots.revert([patched(world, before)])
    assert list((world.root / "logs").iterdir()) == []


def test_nothing_is_written_through_a_link_that_took_a_folders_place(
    world: World, tmp_path: Path
) -> None:
    world.write("d/a", "old\n")
    before = world.track()
    world.write("d/a", "new\n")
    patch = patched(world, before)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/a").write_text("new\n")
    (world.root / "d/a").unlink()
    (world.root / "d").rmdir()
    (world.root / "d").symlink_to(tmp_path / "outside")
    assert told(world.snapshots.revert([patch])) == {"d/a": "conflict"}
    assert (tmp_path / "outside/a").read_text() == "new\n"


def test_a_mode_that_the_user_set_since_stays(world: World) -> None:
    world.write("a", "1\n", 0o644)
    before = world.track()
    world.write("a", "2\n")
    patch = patched(world, before)
    (world.root / "a").chmod(0o600)
    assert told(world.snapshots.revert([patch])) == {"a": "merged"}
    assert world.read("a") == "1\n"
    assert stat.S_IMODE((world.root / "a").stat().st_mode) == 0o600


def test_a_file_that_changes_after_the_preview_is_left_alone(world: World) -> None:
    world.write("a", "1\n")
    world.write("b", "1\n")
    before = world.track()
    world.write("a", "2\n")
    world.write("b", "2\n")
    plan = world.snapshots.plan([patched(world, before)])
    world.write("a", "user\n")
    report = world.snapshots.apply(plan)
    assert told(report) == {"a": "conflict", "b": "restored"}
    assert report.undo.files == ("b",)
    assert world.read("a") == "user\n"
    world.snapshots.unrevert(report)
    assert (world.read("a"), world.read("b")) == ("user\n", "2\n")


def test_doing_it_twice_changes_nothing(world: World) -> None:
    world.write("a", "1\n")
    before = world.track()
    world.write("a", "2\n")
    patch = patched(world, before)
    world.snapshots.revert([patch])
    assert told(world.snapshots.revert([patch])) == {"a": "unchanged"}


def test_it_works_after_a_restart_from_what_was_written_down(world: World) -> None:
    world.write("a", "1\n")
    before = world.track()
    world.write("a", "2\n")
    kept = msgspec.json.encode(patched(world, before))
    report = world.opened().revert([msgspec.json.decode(kept, type=Patch)])
    kept = msgspec.json.encode(report)
    world.opened().unrevert(msgspec.json.decode(kept, type=RevertReport))
    assert world.read("a") == "2\n"


def test_the_next_snapshot_sees_what_was_reverted_without_being_told(world: World) -> None:
    world.write("a", "1\n")
    before = world.track()
    world.write("a", "2\n")
    world.snapshots.revert([patched(world, before)])
    assert world.snapshots.track(()) == before


def test_what_was_ignored_before_may_be_older_and_is_not_deleted(world: World) -> None:
    world.write(".gitignore", "*.key\n")
    world.write("my.key", "precious")
    before = world.track()
    (world.root / ".gitignore").unlink()
    world.write("new.txt", "x")
    patch = patched(world, before)
    assert world.snapshots.revert([patch]).complete
    assert world.read("my.key") == "precious"
    assert not (world.root / "new.txt").exists()


def test_what_was_too_large_before_is_not_deleted(tmp_path: Path) -> None:
    world = World(tmp_path, limits=SnapshotLimits(file_bytes=10))
    world.write("a", "t" * 11)
    before = world.track()
    world.write("a", "t")
    assert told(world.snapshots.revert([patched(world, before)])) == {"a": "left"}
    assert world.read("a") == "t"


PATHS = ("a", "b", "d/a", "d/e/f", "a/x")
LINES = st.lists(st.sampled_from("abcdefgh"), max_size=6).map(
    lambda x: "".join(f"{c}\n" for c in x)
)
CONTENT = st.one_of(LINES, st.none(), st.just("\0binary"), st.just("-> a"))
DEED = st.tuples(st.sampled_from(PATHS), CONTENT)


def do(world: World, path: str, content: str | None) -> bool:
    """Write, link or delete; False where something else is in the way."""
    real = world.root / path
    try:
        if content is None:
            real.unlink()
        elif content.startswith("-> "):
            real.unlink(missing_ok=True)
            real.parent.mkdir(parents=True, exist_ok=True)
            real.symlink_to(content.removeprefix("-> "))
        else:
            if real.is_symlink():
                real.unlink()
            world.write(path, content)
    except OSError:
        return False
    return True


def only_files(world: World) -> dict[str, bytes]:
    return {path: data for path, (_, data) in world.state().items()}


@settings(max_examples=40, deadline=None)
@given(st.lists(DEED, max_size=5), st.lists(st.lists(DEED, max_size=4), min_size=1, max_size=3))
def test_with_nobody_else_a_revert_is_exact_and_so_is_its_undoing(
    start: list[tuple[str, str | None]], steps: list[list[tuple[str, str | None]]]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder))
        for path, content in start:
            do(world, path, content)
        began = only_files(world)
        patches: list[Patch] = []
        for deeds in steps:
            before = world.track()
            named = [path for path, content in deeds if do(world, path, content)]
            patch = world.snapshots.patch(before, named)
            assert patch is not None
            assert patch == world.opened().patch(before)
            patches.append(patch)
        ended = only_files(world)
        report = world.snapshots.revert(patches)
        assert report.complete, report
        assert only_files(world) == began
        assert world.snapshots.unrevert(report).complete
        assert only_files(world) == ended


@settings(max_examples=50, deadline=None)
@given(
    st.lists(DEED, max_size=5),
    st.lists(DEED, min_size=1, max_size=4),
    st.lists(st.tuples(st.sampled_from(PATHS), st.integers(0, 6)), max_size=4),
)
def test_no_byte_of_the_user_is_ever_lost(
    start: list[tuple[str, str | None]],
    agent: list[tuple[str, str | None]],
    user: list[tuple[str, int]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder))
        for path, content in start:
            do(world, path, content)
        before = world.track()
        for path, content in agent:
            do(world, path, content)
        patch = patched(world, before)
        mine: set[tuple[str, str]] = set()
        for number, (path, at) in enumerate(user):
            real = world.root / path
            lines = [] if real.is_symlink() or not real.is_file() else world.read(path).splitlines()
            lines.insert(at, f"user {number}")
            if do(world, path, "".join(f"{line}\n" for line in lines)):
                mine = {one for one in mine if one[0] != path or (real.is_file())}
                mine.add((path, f"user {number}"))
        mine = {one for one in mine if one[1] in only_files(world).get(one[0], b"").decode()}
        held = only_files(world)
        report = world.snapshots.revert([patch])
        now = only_files(world)
        for path, line in mine:
            assert line in now[path].decode()
        for path, data in held.items():
            if path not in (patch.files or ()):
                assert now[path] == data
        assert not any(one.action == "failed" for one in report.files)
        world.snapshots.unrevert(report)
        assert only_files(world) == held
