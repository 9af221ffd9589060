"""Working trees that somebody was making who is gone: taken back, unless somebody knows of them."""

import asyncio
import os
import subprocess
from collections.abc import Collection
from pathlib import Path

import pytest

from roost.runtime.isolate import clear
from roost.workspace.tree_notes import TreeNote, notes_in
from roost.workspace.worktrees import Begun, create


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=n", "-c", "user.email=e")
    command = ["git", "-C", str(folder), *identity, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "a.txt").write_text("one\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "first")
    return folder


def noted(folder: Path, repository: Path, tree: Begun) -> TreeNote:
    note = TreeNote(folder / "notes", repository)
    note.write(tree)
    return note


def die(note: TreeNote) -> None:
    """As a killed process does: the lock is given back, the note stays."""
    os.close(note._handle)  # pyright: ignore[reportPrivateUsage]


def cleared(folder: Path, used: Collection[Path] = ()) -> list[Path]:
    async def known() -> Collection[Path]:
        return used

    asyncio.run(clear(folder / "notes", known))
    return notes_in(folder / "notes")


def whole_tree(folder: Path, repository: Path) -> Begun:
    tree = asyncio.run(create(repository, folder / "trees", "it"))
    return Begun(tree.directory, tree.branch, git(repository, "rev-parse", "HEAD"), own=True)


def test_a_tree_of_one_who_lives_is_left_alone(tmp_path: Path, repository: Path) -> None:
    tree = whole_tree(tmp_path, repository)
    note = noted(tmp_path, repository, tree)
    assert len(cleared(tmp_path)) == 1
    assert tree.directory.is_dir()
    die(note)
    assert cleared(tmp_path) == []
    assert not tree.directory.exists()
    assert git(repository, "branch", "--list", "roost/*") == ""


def test_a_tree_that_a_session_works_in_stays(tmp_path: Path, repository: Path) -> None:
    tree = whole_tree(tmp_path, repository)
    die(noted(tmp_path, repository, tree))
    assert cleared(tmp_path, {tree.directory}) == []
    assert tree.directory.is_dir()


def test_a_tree_with_a_commit_of_its_own_stays(tmp_path: Path, repository: Path) -> None:
    tree = whole_tree(tmp_path, repository)
    git(tree.directory, "commit", "-q", "--allow-empty", "-m", "work")
    die(noted(tmp_path, repository, tree))
    assert cleared(tmp_path) == []
    assert git(tree.directory, "log", "-1", "--format=%s") == "work"


def test_half_a_tree_goes(tmp_path: Path, repository: Path) -> None:
    tree = whole_tree(tmp_path, repository)
    (tree.directory / "a.txt").unlink()
    die(noted(tmp_path, repository, tree))
    assert cleared(tmp_path) == []
    assert not tree.directory.exists()


@pytest.mark.parametrize("full", [True, False])
def test_of_a_name_that_was_only_wanted_nothing_goes_but_an_empty_folder(
    tmp_path: Path, repository: Path, full: bool
) -> None:
    folder = tmp_path / "trees" / "it"
    folder.mkdir(parents=True)
    if full:
        (folder / "work.txt").write_text("of another one")
    die(noted(tmp_path, repository, Begun(folder, "roost/it", "0" * 40)))
    assert cleared(tmp_path) == []
    assert folder.exists() == full


def test_what_cannot_be_done_now_is_tried_again(tmp_path: Path, repository: Path) -> None:
    tree = whole_tree(tmp_path, repository)
    away = repository.rename(tmp_path / "away")
    die(noted(tmp_path, repository, tree))
    assert len(cleared(tmp_path)) == 1
    away.rename(repository)
    assert cleared(tmp_path) == []
    assert not tree.directory.exists()


def test_a_note_that_cannot_be_read_is_struck_out(tmp_path: Path, repository: Path) -> None:
    tree = whole_tree(tmp_path, repository)
    die(noted(tmp_path, repository, tree))
    (note,) = notes_in(tmp_path / "notes")
    note.write_bytes(b"half")
    assert cleared(tmp_path) == []
    assert tree.directory.is_dir()


def test_a_folder_of_any_name_is_noted(tmp_path: Path) -> None:
    odd = tmp_path / "a\udc80 b\n"
    odd.mkdir()
    die(noted(tmp_path, tmp_path, Begun(odd, "roost/x", "0" * 40)))
    assert cleared(tmp_path) == []
    assert not odd.exists()
