"""The tool `skill`, and reading the files of a skill."""

from pathlib import Path

import pytest
from tool_world import ToolWorld, in_world

from roost.config.loaded import SkillFile
from roost.core.errors import DeniedError
from roost.permissions.models import Rule
from roost.skills.known import skills_of
from roost.tools.contract import ToolError
from roost.workspace.guard import Guard


def with_skill(world: ToolWorld, *, extra: str = "") -> Path:
    """A skill of the user outside of the project; gives its folder."""
    folder = world.root.parent / "outside" / "bread"
    folder.mkdir()
    text = f"---\nname: bread\ndescription: Bakes rolls in an oven.\n{extra}---\nKnead."
    (folder / "SKILL.md").write_text(text)
    (folder / "oven.txt").write_text("hot\n")
    page = str(folder / "SKILL.md")
    world.skills = skills_of([SkillFile(page, text.encode(), "yours")])
    world.guard = Guard(world.root, [world.spill], readable=[folder])
    return folder


def test_a_name_loads_the_page_and_its_files_can_be_read_but_not_changed(tmp_path: Path) -> None:
    async def test(world: ToolWorld) -> None:
        folder = with_skill(world)
        loaded = await world.call("skill", name="/bread")
        assert "Knead." in loaded.output
        assert f"- {folder / 'oven.txt'}" in loaded.output
        assert loaded.metadata == {"name": "bread", "dir": str(folder)}
        read = await world.call("read", filePath=str(folder / "oven.txt"))
        assert "hot" in read.output
        listed = await world.call("bash", command=f"cat {folder}/oven.txt")
        assert "hot" in listed.output
        assert world.asked_for() == []
        await world.call("write", filePath=str(folder / "new.txt"), content="x")
        assert world.asked_for() == ["edit"]
        beside = folder.parent / "other.txt"
        beside.write_text("x\n")
        await world.call("read", filePath=str(beside))
        assert world.asked_for() == ["edit", "external_directory"]

    in_world(tmp_path, test)


def test_words_load_what_fits_for_certain_and_else_name_the_best(tmp_path: Path) -> None:
    async def test(world: ToolWorld) -> None:
        with_skill(world)
        assert "Knead." in (await world.call("skill", name="rolls from the oven")).output
        told = await world.call("skill", name="oven rockets submarines")
        assert told.output.splitlines()[1] == "- bread: Bakes rolls in an oven."
        assert told.metadata == {"found": ["bread"]}
        nothing = await world.call("skill", name="rockets")
        assert "There are: bread, debug-a-failing-test" in nothing.output

    in_world(tmp_path, test)


def test_rules_speak_of_skills_by_name(tmp_path: Path) -> None:
    async def test(world: ToolWorld) -> None:
        with_skill(world)
        world.rules = (Rule("skill", "bre*", "deny"),)
        with pytest.raises(DeniedError, match="using the skill bread"):
            await world.call("skill", name="bread")
        with pytest.raises(DeniedError):
            await world.call("skill", name="rolls in an oven")
        assert "# Skill: run-the-tests" in (await world.call("skill", name="run the tests")).output

    in_world(tmp_path, test)


def test_one_that_only_a_person_loads_is_refused(tmp_path: Path) -> None:
    async def test(world: ToolWorld) -> None:
        with_skill(world, extra="disable-model-invocation: true\n")
        with pytest.raises(ToolError, match="by the user alone"):
            await world.call("skill", name="bread")
        assert (await world.call("skill", name="rolls")).metadata == {"found": []}

    in_world(tmp_path, test)
