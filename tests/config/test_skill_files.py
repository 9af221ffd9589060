"""Which skills count: the user's, and a repository's that is trusted as it is."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from roost.config.load import Place, load
from roost.config.loaded import Loaded
from roost.config.paths import roost_paths
from roost.config.trust import TrustStore


class Folder:
    """A home with a repository in it."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.root = home / "repo"
        (self.root / ".git").mkdir(parents=True)
        self.environ = {"ROOST_HOME": str(home / "own")}
        self.paths = roost_paths(self.environ)

    def skill(self, place: str, text: str = "one") -> Path:
        page = self.home / place / "SKILL.md"
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(text)
        return page

    def configure(self, folder: Path, **settings: Any) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "roost.json").write_bytes(msgspec.json.encode(settings))

    def load(self, directory: Path | None = None) -> Loaded:
        return load(Place(directory or self.root, self.environ, self.paths, self.home))

    def trust(self) -> None:
        project = self.load().project
        TrustStore(self.paths.trust_file).trust(project.root, project.digest)

    def names(self, directory: Path | None = None) -> list[str]:
        return [Path(one.path).parent.name for one in self.load(directory).skills]


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path.resolve())


def test_those_of_the_user_count_at_once_the_ones_of_roost_last(folder: Folder) -> None:
    folder.skill(".agents/skills/a")
    folder.skill("own/config/skills/b")
    folder.skill(".claude/skills/c")
    assert folder.names() == ["a", "b"]
    assert {one.owner for one in folder.load().skills} == {"yours"}


@pytest.mark.parametrize("place", ["repo/.agents/skills/x", "repo/.roost/skills/deep/x"])
def test_those_of_a_repository_wait_for_trust_in_exactly_these_bytes(
    folder: Folder, place: str
) -> None:
    page = folder.skill(place)
    before = folder.load()
    assert not before.project.trusted
    assert before.skills == ()
    assert [(one.source, one.key) for one in before.waiting] == [(str(page), "skills.x")]
    folder.trust()
    (one,) = folder.load().skills
    assert (one.path, one.data, one.owner) == (str(page), b"one", "project")
    page.write_text("another")
    assert folder.names() == []


def test_a_repository_without_skills_of_ours_asks_for_no_trust(folder: Folder) -> None:
    folder.skill("repo/.claude/skills/x")
    assert folder.load().project.trusted
    assert folder.names() == []
    folder.configure(folder.paths.config, skills={"claude": True})
    assert not folder.load().project.trusted
    folder.trust()
    assert folder.names() == ["x"]


def test_a_repository_cannot_switch_folders_on(folder: Folder) -> None:
    folder.skill("repo/.codex/skills/x")
    folder.skill("repo/elsewhere/y")
    folder.configure(folder.root, skills={"codex": True, "paths": ["elsewhere"]})
    folder.trust()
    assert folder.load().project.trusted
    assert folder.names() == []


def test_the_user_names_further_folders_relative_to_the_file(folder: Folder) -> None:
    folder.skill("own/config/more/a")
    folder.skill("shared/b")
    folder.skill(".config/opencode/skills/c")
    settings = {"paths": ["more", "~/shared"], "opencode": True}
    folder.configure(folder.paths.config, skills=settings)
    assert folder.names() == ["c", "a", "b"]


def test_inline_settings_count_as_well(folder: Folder) -> None:
    folder.skill(".codex/skills/a")
    folder.environ["ROOST_CONFIG_CONTENT"] = '{"skills": {"codex": true}}'
    assert folder.names() == ["a"]


def test_in_the_home_itself_the_shared_ones_stay_the_users(folder: Folder) -> None:
    folder.skill(".agents/skills/a")
    assert folder.names(folder.home) == ["a"]
    assert folder.load(folder.home).project.trusted


def test_the_nearest_folder_comes_last(folder: Folder) -> None:
    folder.skill("repo/.roost/skills/far")
    folder.skill("repo/sub/.agents/skills/near")
    folder.skill("repo/sub/.roost/skills/nearest")
    folder.trust()
    assert folder.names(folder.root / "sub")[:1] == []
    project = folder.load(folder.root / "sub").project
    TrustStore(folder.paths.trust_file).trust(project.root, project.digest)
    assert folder.names(folder.root / "sub") == ["far", "near", "nearest"]


def test_what_cannot_be_read_is_told_and_leaves_the_rest_alone(folder: Folder) -> None:
    (folder.root / ".agents/skills/bad/SKILL.md").mkdir(parents=True)
    folder.skill("repo/.agents/skills/good")
    folder.trust()
    problems = {Path(one.path).parent.name: one.problem for one in folder.load().skills}
    assert problems == {"bad": "is not a regular file", "good": ""}
