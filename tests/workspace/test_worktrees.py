import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from roost.core import failpoints
from roost.core.errors import ConflictError, UsageError
from roost.core.failpoints import FailpointError
from roost.workspace.worktrees import (
    ATTEMPTS,
    Worktree,
    create,
    inspect,
    remove,
    slug_of,
    submodules,
)


def git(folder: Path, *arguments: str) -> str:
    settings = ("user.name=n", "user.email=e", "protocol.file.allow=always")
    named = [word for one in settings for word in ("-c", one)]
    command = ["git", "-C", str(folder), *named, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def commit(folder: Path, message: str = "one") -> None:
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", message, "--allow-empty")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "a.txt").write_text("a\n")
    (folder / "sub").mkdir()
    (folder / "sub" / "b.txt").write_text("b\n")
    commit(folder)
    return folder


def branches(folder: Path) -> list[str]:
    return git(folder, "for-each-ref", "--format=%(refname:short)", "refs/heads").split()


def made(repository: Path, name: str = "fix") -> Worktree:
    return asyncio.run(create(repository, repository.parent / "trees", name))


def test_a_new_tree_has_every_file_and_a_branch_of_its_own(repository: Path) -> None:
    trees = repository.parent / "trees"
    tree = asyncio.run(create(repository / "sub", trees, "Fix the Läder!"))
    assert tree.directory == trees / "fix-the-lader"
    assert (tree.branch, tree.base) == ("roost/fix-the-lader", "main")
    assert (tree.directory / "sub" / "b.txt").read_text() == "b\n"
    assert git(tree.directory, "status", "--porcelain") == ""
    assert git(tree.directory, "branch", "--show-current").strip() == tree.branch


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("Fix  the_bug!", "fix-the-bug"),
        ("../../etc/passwd", "etc-passwd"),
        ("-rf --force", "rf-force"),
        ("日本語", "work"),
        ("", "work"),
        ("a" * 90, "a" * 40),
    ],
)
def test_any_name_gives_one_that_git_and_folders_take(name: str, slug: str) -> None:
    assert slug_of(name) == slug


def test_names_that_are_taken_are_passed_over_until_all_are(repository: Path) -> None:
    trees = repository.parent / "trees"
    git(repository, "branch", "roost/fix")
    (trees / "fix-2").mkdir(parents=True)
    assert made(repository).branch == "roost/fix-3"
    assert not (trees / "fix").exists()
    for number in range(4, ATTEMPTS + 1):
        (trees / f"fix-{number}").mkdir()
    with pytest.raises(ConflictError, match="fix-26 are all taken"):
        made(repository)
    assert branches(repository) == ["main", "roost/fix", "roost/fix-3"]


def test_processes_that_make_trees_of_one_name_at_once_get_one_each(repository: Path) -> None:
    script = (
        "import asyncio, sys; from pathlib import Path\n"
        "from roost.workspace.worktrees import create\n"
        "tree = asyncio.run(create(Path(sys.argv[1]), Path(sys.argv[2]), 'same'))\n"
        "print(tree.directory.name, (tree.directory / 'a.txt').read_text().strip())\n"
    )
    trees = str(repository.parent / "trees")
    command = [sys.executable, "-c", script, str(repository), trees]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    said = sorted(one.communicate(timeout=60)[0].split()[0] for one in running)
    assert said == ["same", "same-2", "same-3", "same-4"]
    assert all(one.returncode == 0 for one in running)


def test_where_there_can_be_no_tree_the_error_says_why(tmp_path: Path) -> None:
    outside = tmp_path / "plain"
    outside.mkdir()
    with pytest.raises(UsageError, match="in no git repository"):
        asyncio.run(create(outside, tmp_path / "trees", "fix"))
    git(outside, "init", "-q")
    with pytest.raises(UsageError, match="no commit yet"):
        asyncio.run(create(outside, tmp_path / "trees", "fix"))
    assert not (tmp_path / "trees").exists()


def test_a_branch_that_stands_in_the_way_is_told_and_nothing_is_left(repository: Path) -> None:
    git(repository, "branch", "roost")
    with pytest.raises(UsageError, match="cannot be made"):
        made(repository)
    assert list((repository.parent / "trees").iterdir()) == []
    assert branches(repository) == ["main", "roost"]


def test_a_failed_or_cancelled_checkout_leaves_nothing(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as failing:
        failing.setattr(failpoints, "_points", failpoints._parse("worktree.added=raise"))
        with pytest.raises(FailpointError, match=r"worktree\.added"):
            made(repository)
    # A program that stands in for the user's own filter and never ends.
    config = tmp_path / "gitconfig"
    config.write_text('[filter "slow"]\n\tsmudge = sleep 30\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    (repository / ".gitattributes").write_text("*.txt filter=slow\n")
    commit(repository)

    async def stopped() -> None:
        task = asyncio.create_task(create(repository, tmp_path / "trees", "fix"))
        while not (tmp_path / "trees" / "fix" / ".git").exists():
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(stopped())
    assert list((tmp_path / "trees").iterdir()) == []
    assert branches(repository) == ["main"]
    assert git(repository, "worktree", "list").count("\n") == 1


def test_nothing_runs_that_the_repository_itself_names(repository: Path, tmp_path: Path) -> None:
    witness = tmp_path / "ran"
    (repository / ".gitattributes").write_text("*.txt filter=evil\n")
    commit(repository)
    git(repository, "config", "filter.evil.smudge", f"touch {witness}; cat")
    git(repository, "config", "filter.evil.required", "true")
    hook = repository / ".git" / "hooks" / "post-checkout"
    hook.write_text(f"#!/bin/sh\ntouch {witness}\n")
    hook.chmod(0o755)
    tree = made(repository)
    assert (tree.directory / "a.txt").read_text() == "a\n"
    assert not witness.exists()


def test_a_tree_tells_what_it_holds_and_stays_as_long_as_it_does(repository: Path) -> None:
    tree = made(repository)
    state = asyncio.run(inspect(repository, tree))
    assert (state.branch, state.ahead, state.holds) == ("roost/fix", 0, "")
    (tree.directory / "a.txt").write_text("changed\n")
    (tree.directory / "new ü.txt").write_text("new\n")
    state = asyncio.run(inspect(repository, tree))
    assert (state.uncommitted, state.untracked) == (("a.txt",), ("new ü.txt",))
    removal = asyncio.run(remove(repository, tree))
    assert (removal.removed, removal.reason) == (False, "1 uncommitted file, 1 untracked file")
    commit(tree.directory, "work")
    removal = asyncio.run(remove(repository, tree))
    assert removal.reason == "1 unmerged commit"
    assert asyncio.run(inspect(repository, tree)).ahead == 1
    git(repository, "merge", "-q", "--no-ff", "-m", "merge", tree.branch)
    assert asyncio.run(remove(repository, tree)).removed
    assert not tree.directory.exists()
    assert branches(repository) == ["main"]


def test_commits_on_another_branch_of_the_tree_count_too(repository: Path) -> None:
    tree = made(repository)
    git(tree.directory, "checkout", "-q", "--detach")
    commit(tree.directory, "apart")
    assert asyncio.run(remove(repository, tree)).reason == "1 unmerged commit"


def test_what_is_merged_into_the_default_branch_alone_may_go(repository: Path) -> None:
    git(repository, "checkout", "-qb", "topic")
    tree = made(repository)
    assert tree.base == "topic"
    commit(tree.directory, "work")
    git(repository, "checkout", "-q", "main")
    git(repository, "merge", "-q", tree.branch)
    assert asyncio.run(remove(repository, tree)).removed


def test_a_folder_that_somebody_removed_leaves_its_commits(repository: Path) -> None:
    tree = made(repository)
    commit(tree.directory, "work")
    subprocess.run(["rm", "-r", str(tree.directory)], check=True)
    state = asyncio.run(inspect(repository, tree))
    assert state.gone
    assert asyncio.run(remove(repository, tree)).reason == "1 unmerged commit"
    git(repository, "merge", "-q", tree.branch)
    assert asyncio.run(remove(repository, tree)).removed
    assert branches(repository) == ["main"]
    assert git(repository, "worktree", "list").count("\n") == 1


def test_submodules_are_named_and_left_empty(repository: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q", "-b", "main")
    commit(other)
    git(repository, "submodule", "add", "-q", str(other), "vendor/other")
    commit(repository)
    tree = made(repository)
    assert asyncio.run(submodules(tree.directory)) == ("vendor/other",)
    assert list((tree.directory / "vendor" / "other").iterdir()) == []
    assert asyncio.run(remove(repository, tree)).removed


def test_a_tree_of_a_tree_begins_from_its_branch(repository: Path) -> None:
    first = made(repository)
    commit(first.directory, "work")
    second = asyncio.run(create(first.directory, repository.parent / "trees", "more"))
    assert second.base == "roost/fix"
    assert asyncio.run(remove(first.directory, second)).removed
