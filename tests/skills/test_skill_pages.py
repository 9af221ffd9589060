from pathlib import Path

import pytest
from skill_pages import given, write

from roost.config.skill_files import skills_below
from roost.core.errors import ConfigError
from roost.skills.known import MOST, files_of, skills_of
from roost.skills.page import read_skill

WHOLE = """---
name: bread
description: >
  Bakes bread.
  Use when hungry.
license: MIT
allowed-tools: Read, Bash(ls:*)
aliases: [烤面包, loaf]
metadata:
  version: "1.0"
---

Knead.
"""


def test_a_page_is_taken_apart() -> None:
    skill = read_skill(given(WHOLE))
    assert (skill.name, skill.description) == ("bread", "Bakes bread. Use when hungry.")
    assert skill.aliases == ("烤面包", "loaf")
    assert skill.allowed_tools == ("Read", "Bash(ls:*)")
    assert (skill.license, skill.body, skill.notes) == ("MIT", "Knead.", ())
    assert skill.folder == Path("/x/bread")


def test_what_is_odd_is_told_and_does_no_harm() -> None:
    skill = read_skill(given("---\ndescription: d\nmodel: big\nx: 1\n---\nb"))
    assert skill.name == "bread"
    assert "model, x" in skill.notes[0]
    assert "called as its folder" in skill.notes[1]
    other = read_skill(given("---\nname: cake\ndescription: d\n---\nb"))
    assert other.notes == ("its name is cake, that of its folder bread",)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("no front matter", "has no description"),
        ("---\nname: Bad Name\ndescription: d\n---\n", "is no name of a skill"),
        ("---\nname: " + "a" * 65 + "\ndescription: d\n---\n", "is no name of a skill"),
        ("---\nname: bread\n", "never closed"),
        ("---\ndescription: [a, b]\n---\n", "has no description"),
    ],
)
def test_a_page_that_is_none_says_why(text: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told) as caught:
        read_skill(given(text))
    assert "/x/bread/SKILL.md" in caught.value.message


def test_one_that_cannot_be_read_is_passed_over_and_told(tmp_path: Path) -> None:
    good = write(tmp_path, "good")
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad/SKILL.md").write_bytes(b"\xff\xfe---")
    (tmp_path / "odd/SKILL.md").mkdir(parents=True)
    (tmp_path / "big").mkdir()
    (tmp_path / "big/SKILL.md").write_bytes(b"x" * 300_000)
    found = skills_of(skills_below(tmp_path, "yours"))
    assert found.known["good"].page == good
    problems = {one.page.parent.name: one.problem for one in found.broken}
    assert set(problems) == {"bad", "odd", "big"}
    assert "not UTF-8" in problems["bad"]
    assert "not a regular file" in problems["odd"]
    assert "larger than" in problems["big"]


def test_of_one_name_the_nearest_counts_and_the_other_is_known_to_be_hidden(tmp_path: Path) -> None:
    write(tmp_path / "far", "bread", "far")
    write(tmp_path / "near", "bread", "near")
    write(tmp_path / "near", "write-a-commit", "our own way")
    files = [*skills_below(tmp_path / "far", "yours"), *skills_below(tmp_path / "near", "project")]
    found = skills_of(files)
    assert found.known["bread"].description == "near"
    assert found.known["write-a-commit"].owner == "project"
    assert [one.description for one in found.hidden if one.name == "bread"] == ["far"]


def test_folders_are_searched_deep_but_not_for_ever(tmp_path: Path) -> None:
    write(tmp_path / "a/b/c", "deep")
    write(tmp_path / "a/b/c/d/e", "too-deep")
    write(tmp_path / "deep-one", "x")
    write(tmp_path / ".hidden", "y")
    (tmp_path / "a/loop").symlink_to(tmp_path)
    write(tmp_path / "deep-one/x", "inner")
    names = [Path(one.path).parent.name for one in skills_below(tmp_path, "yours")]
    assert names == ["deep", "x"]
    assert list(skills_below(tmp_path / "nowhere", "yours")) == []


def test_more_skills_than_can_be_kept_are_told() -> None:
    pages = [
        given(f"---\nname: s{n}\ndescription: d\n---\n", f"/x/s{n}/SKILL.md")
        for n in range(MOST + 1)
    ]
    found = skills_of(pages)
    assert len(found.known) == MOST
    assert "more than" in found.broken[-1].problem


def test_the_built_in_ones_can_be_read_and_are_short() -> None:
    found = skills_of(())
    assert set(found.known) == {
        "debug-a-failing-test",
        "review-a-change",
        "run-the-tests",
        "write-a-commit",
    }
    assert found.broken == ()
    for skill in found:
        assert (skill.owner, skill.notes) == ("built in", ())
        assert 500 < len(skill.body) < 3_000
        assert len(skill.description) < 240


def test_files_beside_a_page_are_bounded_and_no_links(tmp_path: Path) -> None:
    page = write(tmp_path, "bread")
    for n in range(15):
        (page.parent / f"f{n:02}.txt").write_text("x")
    (page.parent / "a-link").symlink_to("/etc/passwd")
    (skill,) = [one for one in skills_of(skills_below(tmp_path, "yours")) if one.name == "bread"]
    paths, more = files_of(skill)
    assert [path.name for path in paths] == [f"f{n:02}.txt" for n in range(10)]
    assert more
