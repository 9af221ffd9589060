import asyncio
import os
import subprocess
import time
from pathlib import Path

import pytest

from roost.workspace.git import FileStatus, Git
from roost.workspace.project import Project, project_of


def git(folder: Path, *arguments: str) -> None:
    command = ["git", "-C", str(folder), "-c", "user.name=n", "-c", "user.email=e", *arguments]
    subprocess.run(command, check=True, capture_output=True)


def commit(folder: Path, message: str = "one", date: str = "2024-01-01T00:00:00") -> None:
    git(folder, "add", "-A")
    command = ["git", "-C", folder, "-c", "user.name=n", "-c", "user.email=e", "commit", "-qm"]
    environment = os.environ | {"GIT_COMMITTER_DATE": date, "GIT_AUTHOR_DATE": date}
    subprocess.run([*command, message, "--allow-empty"], check=True, env=environment)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "a ü.txt").write_text("a\n")
    (folder / ".gitignore").write_text("*.log\n")
    commit(folder)
    return folder


def test_the_state_of_a_repository(repository: Path) -> None:
    async def scenario() -> None:
        (repository / "sub").mkdir()
        one = Git(repository / "sub")
        assert await one.root() == repository
        assert await one.branch() == "main"
        assert await one.default_branch() == "main"
        assert len(await one.head() or "") == 40
        assert await one.status() == []
        (repository / "a ü.txt").write_text("b\n")
        (repository / "new").write_text("")
        git(repository, "mv", ".gitignore", "moved")
        assert await one.status() == [
            FileStatus("a ü.txt", " ", "M"),
            FileStatus("moved", "R", " ", ".gitignore"),
            FileStatus("new", "?", "?"),
        ]

    asyncio.run(scenario())


def test_only_a_clean_file_can_be_restored(repository: Path) -> None:
    async def scenario() -> None:
        one = Git(repository)
        assert await one.state_of(repository / "a ü.txt") == "clean"
        (repository / "a ü.txt").write_text("b\n")
        assert await one.state_of(repository / "a ü.txt") == "changed"
        (repository / "*").write_text("")
        (repository / "x.log").write_text("")
        assert await one.state_of(repository / "*") == "untracked"
        assert await one.state_of(repository / "x.log") == "ignored"
        assert await one.state_of(repository / "none") == "untracked"

    asyncio.run(scenario())


def test_outside_of_a_repository_everything_is_unknown(tmp_path: Path) -> None:
    async def scenario() -> None:
        one = Git(tmp_path)
        answers = [
            await one.root(),
            await one.branch(),
            await one.head(),
            await one.default_branch(),
            await one.status(),
            await one.roots(),
            await one.common_directory(),
            await one.state_of(tmp_path / "x"),
        ]
        assert answers == [None] * 8

    asyncio.run(scenario())


def test_without_git_everything_is_unknown(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert asyncio.run(Git(repository).status()) is None
    assert asyncio.run(project_of(repository)).is_git


def test_a_slow_git_is_given_up(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/git").write_text("#!/bin/sh\nsleep 120\n")
    (tmp_path / "bin/git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    start = time.monotonic()
    assert asyncio.run(Git(repository, timeout=0.3).status()) is None
    project = asyncio.run(project_of(repository, timeout=0.3))
    assert time.monotonic() - start < 40
    assert project.root == repository


def test_a_repository_cannot_make_git_run_its_programs(repository: Path, tmp_path: Path) -> None:
    trap = tmp_path / "trap.sh"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/PWN\n")
    trap.chmod(0o755)
    git(repository, "config", "core.fsmonitor", str(trap))
    git(repository, "config", "core.pager", str(trap))
    assert asyncio.run(Git(repository).status()) == []
    asyncio.run(project_of(repository))
    assert not (tmp_path / "PWN").exists()


def identity(folder: Path) -> Project:
    return asyncio.run(project_of(folder))


def test_a_project_keeps_an_id_that_its_sessions_are_found_by(tmp_path: Path) -> None:
    folder = tmp_path / "p"
    folder.mkdir()
    plain = identity(folder)
    git(folder, "init", "-q", "-b", "main")
    empty = identity(folder)
    assert (empty.id, empty.is_git) == (plain.id, True)
    commit(folder)
    first = identity(folder)
    assert plain.id in first.ids
    git(folder, "worktree", "add", "-q", str(tmp_path / "tree"))
    assert identity(tmp_path / "tree").id == first.id
    assert plain.id in identity(tmp_path / "tree").ids
    assert identity(tmp_path / "tree").root == tmp_path / "tree"
    git(folder, "switch", "-q", "--orphan", "pages")
    commit(folder, "orphan", "2025-01-01T00:00:00")
    assert identity(folder).id == first.id
    git(folder, "worktree", "remove", str(tmp_path / "tree"))
    folder.rename(tmp_path / "moved")
    assert identity(tmp_path / "moved").id == first.id
    git(tmp_path, "clone", "-q", str(tmp_path / "moved"), "clone")
    assert identity(tmp_path / "clone").id == first.id


def test_a_folder_inside_of_git_belongs_to_the_project(repository: Path) -> None:
    assert identity(repository / ".git" / "hooks").id == identity(repository).id
    assert identity(repository / ".git" / "hooks").root == repository


def test_a_shallow_clone_goes_by_its_place_until_it_is_whole(
    repository: Path, tmp_path: Path
) -> None:
    commit(repository, "two")
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{repository}", "shallow")
    before = identity(tmp_path / "shallow")
    git(tmp_path / "shallow", "fetch", "-q", "--unshallow")
    after = identity(tmp_path / "shallow")
    assert after.id == identity(repository).id
    assert before.id in after.ids


def test_two_folders_without_git_are_two_projects(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    assert identity(tmp_path / "a").id != identity(tmp_path / "b").id
    (tmp_path / "link").symlink_to("a")
    assert identity(tmp_path / "link").id == identity(tmp_path / "a").id
