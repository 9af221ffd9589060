import os
from pathlib import Path

import pytest

from roost.core.errors import ConflictError, DeniedError, NotFoundError, RoostError, UsageError
from roost.workspace.files import read_bytes
from roost.workspace.guard import Guard
from roost.workspace.openat import opened_directory


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / "src").mkdir(parents=True)
    (root / "src" / "a.py").write_text("a")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_text("s")
    return root


def test_a_relative_path_starts_at_the_working_directory_and_else_at_the_root(
    project: Path,
) -> None:
    guard = Guard(project)
    assert guard.locate("src/a.py").real == project / "src/a.py"
    assert guard.locate("a.py", project / "src").real == project / "src/a.py"
    assert guard.locate("~/x").path == Path.home() / "x"
    assert guard.locate("src/a.py").inside
    assert not guard.locate("src/a.py").via_link


@pytest.mark.parametrize("way", ["../outside/secret", "src/../../outside/secret", "/etc/passwd"])
def test_a_path_that_leaves_the_project_is_outside(project: Path, way: str) -> None:
    assert not Guard(project).locate(way).inside


def test_a_link_out_of_the_project_is_outside_and_shown_with_its_target(project: Path) -> None:
    (project / "file").symlink_to("../outside/secret")
    (project / "dir").symlink_to("../outside")
    guard = Guard(project)
    for way in ("file", "dir/secret"):
        located = guard.locate(way)
        assert located.via_link
        assert not located.inside
        assert located.shown == f"{project / way} → {project.parent / 'outside/secret'}"
    assert not guard.locate("dir/not/yet/there").inside


def test_dots_after_a_link_leave_from_where_the_link_leads(project: Path) -> None:
    (project.parent / "outside" / "deep").mkdir()
    (project / "dir").symlink_to("../outside/deep")
    located = Guard(project).locate("dir/../secret")
    assert located.real == project.parent / "outside/secret"
    assert not located.inside


def test_a_link_inside_the_project_works_as_usual(project: Path) -> None:
    (project / "lib").symlink_to("src")
    located = Guard(project).locate("lib/a.py")
    assert located.inside
    assert read_bytes(located.real) == b"a"


def test_a_project_reached_through_a_link_is_no_news(project: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(project)
    located = Guard(link).locate("src/a.py", link)
    assert located.inside
    assert not located.via_link


def test_extra_roots_are_inside(project: Path, tmp_path: Path) -> None:
    assert Guard(project, [tmp_path / "outside"]).locate("../outside/secret").inside


def test_a_circle_of_links_is_refused(project: Path) -> None:
    (project / "x").symlink_to("y")
    (project / "y").symlink_to("x")
    with pytest.raises(UsageError, match="circle"):
        Guard(project).locate("x")


@pytest.mark.parametrize("bad", ["", "  ", "a\x00b", "\ud83d"])
def test_what_cannot_be_a_path_is_an_error_for_the_model(project: Path, bad: str) -> None:
    with pytest.raises(UsageError):
        Guard(project).locate(bad)


def test_a_name_is_found_in_its_other_unicode_form(project: Path) -> None:
    (project / "cafe\u0301.txt").write_text("x")
    assert read_bytes(Guard(project).locate("caf\u00e9.txt").real) == b"x"


@pytest.mark.parametrize("way", [".git/config", ".git", "sub/.GIT/hooks/pre-commit", "hooks/x"])
def test_nobody_writes_in_gits_own_files(project: Path, way: str) -> None:
    (project / ".git" / "hooks").mkdir(parents=True)
    (project / "hooks").symlink_to(".git/hooks")
    guard = Guard(project)
    located = guard.locate(way)
    guard.require(located, write=False)
    with pytest.raises(DeniedError, match="git"):
        guard.require(located, write=True)
    guard.require(guard.locate(".gitignore"), write=True)


def test_roosts_own_data_is_protected_except_what_is_opened_below_it(
    project: Path, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    guard = Guard(project, [data / "memory"], protected=[data], private=[data / "auth.json"])
    assert guard.refusal(guard.locate(str(data / "roost.db")), write=True)
    assert not guard.refusal(guard.locate(str(data / "roost.db")), write=False)
    assert guard.refusal(guard.locate(str(data / "auth.json")), write=False)
    assert not guard.refusal(guard.locate(str(data / "memory/x.md")), write=True)


def test_a_project_that_holds_the_data_directory_keeps_it_protected(project: Path) -> None:
    guard = Guard(project, protected=[project / ".roost/data"])
    assert guard.refusal(guard.locate(".roost/data/db"), write=True)


def test_a_link_swapped_in_after_the_check_is_not_followed(project: Path) -> None:
    guard = Guard(project)
    located = guard.locate("src/a.py")
    (project / "src").rename(project / "old")
    (project / "src").symlink_to("../outside")
    (project.parent / "outside" / "a.py").write_text("stolen")
    with pytest.raises(ConflictError, match="replaced by a link"):
        read_bytes(located.real)


def test_a_file_swapped_for_a_link_after_the_check_is_not_followed(project: Path) -> None:
    located = Guard(project).locate("src/a.py")
    (project / "src/a.py").unlink()
    (project / "src/a.py").symlink_to("../../outside/secret")
    with pytest.raises(UsageError, match="symbolic link"):
        read_bytes(located.real)


@pytest.mark.parametrize("kind", ["fifo", "device", "directory", "socket"])
def test_only_regular_files_are_read_and_nothing_hangs(tmp_path: Path, kind: str) -> None:
    import socket

    path = tmp_path / "x"
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "device":
        path = Path("/dev/zero")
    elif kind == "directory":
        path.mkdir()
    else:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(path))
    with pytest.raises(UsageError, match=f"is a.*{kind if kind != 'fifo' else 'pipe'}"):
        read_bytes(path)


def test_what_is_missing_is_said_to_be_missing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(NotFoundError):
        read_bytes(tmp_path / "none" / "x")
    with pytest.raises(NotFoundError, match="not a directory"):
        read_bytes(tmp_path / "file" / "x")


def test_opening_leaves_no_descriptor_behind(tmp_path: Path) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(5):
        with opened_directory(tmp_path):
            pass
        with pytest.raises(RoostError):
            read_bytes(tmp_path / "none")
    assert len(list(Path("/proc/self/fd").iterdir())) == before
