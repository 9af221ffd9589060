import os
import socket
import stat
from pathlib import Path

import pytest
from snapshot_world import World, git

from roost.core.errors import NotFoundError, UsageError
from roost.workspace.snapshots import (
    DiffLimits,
    SnapshotLimits,
    SnapshotLostError,
    Snapshots,
    store_of,
)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_a_snapshot_is_the_tree_that_git_would_write(world: World) -> None:
    git(world.root, "init", "-q")
    world.write("a.txt", "a\n")
    world.write("a/b/c.py", "print()\n")
    world.write("a-b", "between a and a/ in order")
    world.write("run.sh", "#!/bin/sh\n", 0o755)
    world.write("ü ß.txt", "ü")
    (world.root / "link").symlink_to("./a//b/../b")
    (world.root / "to folder").symlink_to("a")
    tree = world.track()
    git(world.root, "add", "-A")
    assert git(world.root, "write-tree").strip() == tree
    git(world.store, "--git-dir=.", "fsck", "--strict", tree)


def test_many_files_are_stored_in_one_pack_that_git_can_read(world: World) -> None:
    for number in range(300):
        world.write(f"folder{number % 7}/{number}.txt", f"{number}\n" * number)
    tree = world.track()
    assert len(list(world.store.glob("objects/pack/*.pack"))) == 1
    git(world.store, "--git-dir=.", "fsck", "--full", "--strict", tree)
    assert world.content(tree, "folder4/200.txt") == "200\n" * 200
    assert world.opened().diff(tree, tree) == []


def test_it_works_without_a_repository_and_without_git(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    world.write("a.txt", "one\n")
    before = world.track()
    world.write("a.txt", "two\n")
    world.write("node_modules/x/y.js", "installed")
    patch = world.snapshots.patch(before)
    assert patch is not None
    assert patch.files == ("a.txt", "node_modules")
    assert world.snapshots.revert([patch]).files[0].action == "restored"
    assert world.read("a.txt") == "one\n"
    assert world.read("node_modules/x/y.js") == "installed"


def test_nothing_of_the_users_repository_or_configuration_has_a_say(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trap = tmp_path / "trap.sh"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/PWN\ncat\n")
    trap.chmod(0o755)
    git(world.root, "init", "-q")
    world.write("a.txt", "one\r\n")
    world.write("kept.log", "in the repository though ignored\n")
    world.write(".gitignore", "*.log\n")
    git(world.root, "add", "-f", "kept.log", ".gitignore")
    git(world.root, "commit", "-qm", "one")
    world.write(".gitattributes", "* text=auto filter=trap eol=lf ident\n")
    for name, value in (
        ("core.autocrlf", "true"),
        ("core.fsmonitor", str(trap)),
        ("core.hooksPath", str(tmp_path)),
        ("filter.trap.clean", str(trap)),
        ("filter.trap.required", "true"),
        ("commit.gpgSign", "true"),
        ("gpg.program", str(trap)),
        ("core.fileMode", "false"),
    ):
        git(world.root, "config", name, value)
    (tmp_path / "PWN").unlink(missing_ok=True)
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"):
        monkeypatch.setenv(name, str(tmp_path / "elsewhere"))
    own = world.root / ".git"
    before = {p: (p.stat().st_mtime_ns, p.is_file() and p.read_bytes()) for p in own.rglob("*")}
    tree = world.track()
    world.snapshots.patch(tree, ["a.txt"])
    after = {p: (p.stat().st_mtime_ns, p.is_file() and p.read_bytes()) for p in own.rglob("*")}
    assert after == before
    assert not (tmp_path / "elsewhere").exists()
    assert not (tmp_path / "PWN").exists()
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"):
        monkeypatch.delenv(name)
    assert world.content(tree, "a.txt") == "one\r\n"
    assert "kept.log" in world.held(tree)
    assert not (world.store / "objects/info/alternates").exists()


def test_ignored_files_are_left_out_at_every_level(world: World) -> None:
    git(world.root, "init", "-q")
    world.write(".gitignore", "*.log\n/build/\n!keep.log\n")
    world.write(".git/info/exclude", "mine\n")
    world.write(".ignore", "*.md\n")  # ripgrep's, not git's
    world.write("sub/.gitignore", "secret\n!seen.log\n")
    for path in ("a.log", "keep.log", "build/x", "mine", "doc.md", "sub/secret", "sub/seen.log"):
        world.write(path, path)
    held = world.held(world.track())
    assert set(held) == {
        ".gitignore",
        ".ignore",
        "doc.md",
        "keep.log",
        "sub/.gitignore",
        "sub/seen.log",
    }
    git(world.root, "add", "-A")
    assert git(world.root, "write-tree").strip() == world.track()


def test_what_is_too_large_or_binary_or_not_ours_is_known_to_be_there_and_no_more(
    tmp_path: Path,
) -> None:
    limits = SnapshotLimits(file_bytes=1000, binary_bytes=100)
    world = World(tmp_path, limits=limits)
    world.write("text", "t" * 1000)
    world.write("large", "t" * 1001)
    world.write("icon", b"\0" * 100)
    world.write("junk", b"\0" * 101)
    world.write("nested/inner.txt", "x")
    git(world.root / "nested", "init", "-q")
    (world.root / "empty").mkdir()
    os.mkfifo(world.root / "pipe")
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(world.root / "socket"))
        held = world.held(world.track())
    opaque = {path for path, mode in held.items() if mode == "160000"}
    assert opaque == {"large", "junk", "nested", "empty"}
    assert set(held) - opaque == {"text", "icon"}


def test_a_tree_changes_when_a_file_does_whose_content_is_not_kept(tmp_path: Path) -> None:
    world = World(tmp_path, limits=SnapshotLimits(file_bytes=10))
    world.write("large", "t" * 11)
    before = world.track()
    world.write("large", "t" * 12)
    patch = world.snapshots.patch(before)
    assert patch is not None
    assert patch.files == ("large",)
    report = world.snapshots.revert([patch])
    assert [(one.path, one.action) for one in report.files] == [("large", "left")]
    assert "not kept" in report.files[0].reason
    assert world.read("large") == "t" * 12


def test_links_are_kept_as_links_and_not_followed(world: World, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret").write_text("s")
    (world.root / "away").symlink_to(tmp_path / "outside")
    (world.root / "broken").symlink_to("nowhere")
    held = world.held(world.track())
    assert held == {"away": "120000", "broken": "120000"}
    assert world.snapshots.track(["away/secret"]) == world.track()


def test_nothing_is_looked_at_when_nothing_changed(world: World) -> None:
    world.write("a", "1")
    tree = world.track()
    world.write("a", "2")
    world.write("b", "2")
    assert world.snapshots.track(()) == tree
    named = world.snapshots.track(["a"])
    assert named is not None
    assert world.content(named, "a") == "2"
    assert "b" not in world.held(named)
    assert "b" in world.held(world.track())


@pytest.mark.parametrize("absolute", [True, False])
def test_named_paths_give_the_same_tree_as_a_look_at_everything(
    world: World, absolute: bool
) -> None:
    world.write("a/b/one", "1")
    world.write("a/b/two", "2")
    world.write("c", "3")
    world.track()
    world.write("a/b/one", "new")
    world.write("a/new/deep/file", "new")
    world.write("d/e", "new")
    (world.root / "c").unlink()
    (world.root / "a/b/two").unlink()
    (world.root / "a/b/two").symlink_to("one")
    paths = ["a/b/one", "a/new/deep/file", "d", "c", "a/b/two", "none/at/all", "../outside"]
    named = world.snapshots.track([world.root / one if absolute else one for one in paths])
    assert named == world.opened().track()
    assert set(world.held(named or "")) == {"a/b/one", "a/b/two", "a/new/deep/file", "d/e"}


def test_a_path_through_a_link_is_looked_at_where_it_leads(world: World) -> None:
    world.write("real/a", "1")
    (world.root / "way").symlink_to("real")
    world.track()
    world.write("way/a", "2")
    named = world.snapshots.track(["way/a"])
    assert world.content(named or "", "real/a") == "2"


def test_the_project_itself_may_be_named(world: World) -> None:
    world.track()
    world.write("a/b", "1")
    assert world.snapshots.track([world.root]) == world.opened().track()


def test_a_named_ignore_file_has_its_effect(world: World) -> None:
    world.write("a/x.log", "1")
    world.write("a/y.txt", "1")
    world.track()
    world.write("a/.gitignore", "*.log\n")
    named = world.snapshots.track(["a/.gitignore"])
    assert set(world.held(named or "")) == {"a/.gitignore", "a/y.txt"}


def test_a_file_that_changes_in_the_moment_of_a_snapshot_is_seen_by_the_next(world: World) -> None:
    path = world.write("a", "0000")
    seen = {world.track()}
    for number in range(1, 60):
        path.write_text(f"{number:04}")
        seen.add(world.track())
    assert len(seen) == 60


def test_a_change_that_hides_behind_size_and_time_is_seen(world: World) -> None:
    path = world.write("a", "one")
    os.utime(path, (1, 1))
    before = world.track()
    path.write_text("two")
    os.utime(path, (1, 1))
    patch = world.snapshots.patch(before)
    assert patch is not None
    assert patch.files == ("a",)


def test_what_changed_is_told_by_file_with_texts_and_counts(world: World) -> None:
    world.write("mod", "1\n2\n3\n")
    world.write("gone", "x\n")
    world.write("icon", b"\0\1")
    world.write("mode", "m\n")
    before = world.track()
    world.write("mod", "1\nzwei\n3\n4\n")
    (world.root / "gone").unlink()
    world.write("icon", b"\0\2")
    world.write("new/one", "n\n")
    (world.root / "mode").chmod(0o755)
    found = {one.path: one for one in world.snapshots.diff(before, world.track())}
    told = {p: (d.status, d.additions, d.deletions, d.before, d.after) for p, d in found.items()}
    assert told == {
        "gone": ("deleted", 0, 1, "x\n", ""),
        "icon": ("modified", 0, 0, "", ""),
        "mod": ("modified", 2, 1, "1\n2\n3\n", "1\nzwei\n3\n4\n"),
        "mode": ("modified", 0, 0, "m\n", "m\n"),
        "new/one": ("added", 1, 0, "", "n\n"),
    }
    assert found["icon"].binary


def test_an_answer_has_a_bounded_size_and_shows_nothing_that_is_concealed(world: World) -> None:
    before = world.track()
    for number in range(10):
        world.write(f"{number}", f"{number}\n" * 50)
    world.write(".env", "KEY=1\n")
    after = world.track()
    limits = DiffLimits(files=8, file_chars=100, chars=350)
    found = world.snapshots.diff(before, after, limits=limits, conceal=lambda p: p == ".env")
    assert len(found) == 11
    assert (found[0].path, found[0].after, found[0].additions) == (".env", "", 1)
    assert [one.cut for one in found] == [True, *[False] * 3, *[True] * 7]
    assert [one.additions for one in found[1:]] == [50] * 7 + [0] * 3


def test_names_that_are_no_text_can_be_told_and_undone(world: World) -> None:
    odd = Path(os.fsdecode(os.fsencode(world.root) + b"/\xff\xfe"))
    before = world.track()
    odd.write_bytes(b"x")
    patch = world.snapshots.patch(before)
    assert patch is not None
    assert patch.files == ("��",)
    assert world.snapshots.revert([patch]).files[0].action == "deleted"
    assert not os.path.lexists(odd)


def test_files_that_the_agent_hid_from_git_or_showed_to_it_are_no_change(world: World) -> None:
    world.write(".gitignore", ".env\n")
    world.write(".env", "KEY=1")
    world.write("data.csv", "1")
    before = world.track()
    world.write(".gitignore", "data.csv\n")
    patch = world.snapshots.patch(before)
    assert patch is not None
    assert patch.files == (".gitignore",)
    report = world.snapshots.revert([patch])
    assert report.complete
    assert world.read(".env") == "KEY=1"
    assert world.read("data.csv") == "1"


def test_a_folder_with_too_many_files_gets_none_and_is_told_once(tmp_path: Path) -> None:
    world = World(tmp_path, limits=SnapshotLimits(files=20))
    for number in range(30):
        world.write(f"{number}")
    assert world.snapshots.track() is None
    assert world.snapshots.track(["1"]) is None
    assert len(world.warnings) == 1
    assert "more than 20 files" in world.warnings[0]


def test_a_folder_that_is_gone_is_an_error_and_no_deletion(world: World) -> None:
    world.write("a", "1")
    before = world.track()
    world.root.rename(world.root.with_name("moved"))
    with pytest.raises(NotFoundError, match="cannot be read"):
        world.snapshots.track()
    world.root.with_name("moved").rename(world.root)
    assert world.track() == before


def test_the_store_is_private_and_never_part_of_a_snapshot(tmp_path: Path) -> None:
    root = tmp_path
    store = store_of(root / "data", "p")
    snapshots = Snapshots(root, store, warn=print)
    (root / "a").write_text("a")
    tree = snapshots.track()
    assert stat.S_IMODE(store.stat().st_mode) == 0o700
    assert snapshots.track() == tree
    listed = git(store, "--git-dir=.", "ls-tree", "-r", "--name-only", tree or "")
    assert listed.split() == ["a", "data/snapshots"]


def test_what_is_no_snapshot_or_not_here_is_said_so(world: World) -> None:
    tree = world.track()
    with pytest.raises(UsageError, match="no snapshot"):
        world.snapshots.compare("HEAD; rm", tree)
    with pytest.raises(SnapshotLostError, match="gone or damaged"):
        world.snapshots.compare("0" * 40, tree)


def test_a_project_that_moved_keeps_its_snapshots_and_need_not_be_read_again(
    world: World, tmp_path: Path
) -> None:
    world.write("a/b", "1")
    before = world.track()
    world.snapshots.close()
    moved = world.root.rename(tmp_path / "moved")
    again = Snapshots(moved, world.store, warn=world.warnings.append)
    (moved / "a/b").write_text("2")
    patch = again.patch(before)
    assert patch is not None
    assert patch.files == ("a/b",)
    again.revert([patch])
    assert (moved / "a/b").read_text() == "1"
