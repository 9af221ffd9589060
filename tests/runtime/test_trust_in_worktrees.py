"""A working tree that Roost made is trusted as far as its content is trusted in its repository."""

import subprocess
from pathlib import Path

import pytest

from roost.cli.trusting import load_config, trust
from roost.config.paths import Paths, roost_paths
from roost.workspace.git_folder import own_tree, twins

CONFIG = '{"agent": {"mine": {"prompt": "Be brief.", "description": "Ours."}}}'


class Place:
    """A repository with a configuration that the user trusts, and a tree of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environ = {"HOME": str(folder), "ROOST_HOME": str(folder / "home")}
        self.paths: Paths = roost_paths(self.environ)
        self.paths.prepare()
        self.project = folder / "project"
        self.project.mkdir()
        self.git("init", "-q", "-b", "main")
        (self.project / "roost.json").write_text(CONFIG)
        self.git("add", "-A")
        self.git("commit", "-qm", "first")
        self.tree = self.paths.worktrees / "id" / "fix"
        self.git("worktree", "add", "-q", "-b", "roost/fix", str(self.tree))

    def git(self, *arguments: str) -> None:
        identity = ("-c", "user.name=n", "-c", "user.email=e")
        subprocess.run(["git", "-C", str(self.project), *identity, *arguments], check=True)

    def trust(self) -> None:
        trust(self.project, self.environ, self.paths)

    def trusts(self, folder: Path) -> bool:
        return load_config(folder, self.environ, self.paths).project.trusted


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_what_is_trusted_in_the_repository_is_trusted_in_its_tree(place: Place) -> None:
    assert not place.trusts(place.tree)
    place.trust()
    assert place.trusts(place.project)
    assert place.trusts(place.tree)
    (place.tree / "deep").mkdir()
    assert place.trusts(place.tree / "deep")


def test_other_content_in_the_tree_is_not_trusted_with_it(place: Place) -> None:
    place.trust()
    (place.tree / "roost.json").write_text(CONFIG.replace("brief", "bold"))
    assert not place.trusts(place.tree)
    assert place.trusts(place.project)


def test_a_tree_that_the_user_made_elsewhere_is_asked_for_by_itself(place: Place) -> None:
    place.trust()
    elsewhere = place.folder / "elsewhere"
    place.git("worktree", "add", "-q", "--detach", str(elsewhere))
    assert not place.trusts(elsewhere)


def test_no_folder_can_claim_to_be_a_tree_of_a_trusted_repository(place: Place) -> None:
    place.trust()
    forged = place.paths.worktrees / "id" / "forged"
    forged.mkdir()
    (forged / "roost.json").write_text(CONFIG)
    (forged / ".git").write_text((place.tree / ".git").read_text())
    assert own_tree(forged, place.paths.worktrees) == forged
    assert twins(forged, place.paths.worktrees) == ()
    assert not place.trusts(forged)


def test_only_the_top_of_a_kept_tree_is_one(place: Place) -> None:
    folder = place.paths.worktrees
    assert own_tree(place.tree / "x" / "y", folder) == place.tree
    assert own_tree(place.tree.parent, folder) is None
    assert own_tree(folder, folder) is None
    assert own_tree(place.project, folder) is None
    assert twins(place.tree / "x", folder) == (place.project,)
