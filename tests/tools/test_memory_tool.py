from pathlib import Path

import pytest
from tool_world import ToolWorld, in_world

from roost.core.errors import ConflictError, DeniedError, NotFoundError, UsageError
from roost.permissions.models import Rule
from roost.tools.contract import ToolError
from roost.tools.memory import MemoryTool


async def append(world: ToolWorld, text: str, **more: str) -> str:
    given = {"action": "append", "text": text, **more}
    return (await world.call("memory", **given)).output


def test_what_is_appended_is_read_and_found_with_its_day_and_session(tmp_path: Path) -> None:
    async def test(world: ToolWorld) -> None:
        said = await append(world, "use 8080 for the 数据库", heading="Ports")
        assert said.startswith("Added to project/MEMORY.md § Ports. It has ")
        read = (await world.call("memory", action="read", file="project/MEMORY.md")).output
        assert "## Ports  #" in read
        assert f", {world.address.session_id})" in read
        found = await world.call("memory", action="search", query="数据库")
        assert found.output.startswith("1. project/MEMORY.md § Ports (line 3, file of 20")
        assert "«数据库»" in found.output
        assert found.metadata == {"count": 1}
        listed = await world.call("memory", action="read")
        assert listed.output.startswith("project/MEMORY.md (")
        assert world.asked == []

    in_world(tmp_path, test)


def test_a_section_is_corrected_by_one_who_saw_it(tmp_path: Path) -> None:
    async def test(world: ToolWorld) -> None:
        await append(world, "use 80", heading="Ports")
        read = (await world.call("memory", action="read", file="project/MEMORY.md")).output
        seen = read.split("## Ports  #")[1][:8]
        change = {"action": "update", "file": "project/MEMORY.md", "heading": "Ports"}
        await world.call("memory", **change, hash=seen, text="- use 8080")
        with pytest.raises(ConflictError):
            await world.call("memory", **change, hash=seen, text="- use 90")
        now = (await world.call("memory", action="read", file="project/MEMORY.md")).output
        assert "- use 8080" in now
        new = now.split("## Ports  #")[1][:8]
        gone = await world.call("memory", **change, hash=new, text="")
        assert gone.output.startswith("Removed project/MEMORY.md § Ports.")

    in_world(tmp_path, test)


@pytest.mark.parametrize(
    ("scope", "next_step"),
    [(None, "`scope: all`"), ("project", "`scope: own`"), ("all", "Nothing wider")],
)
def test_nothing_found_is_a_ladder_of_what_to_do_next(
    tmp_path: Path, scope: str | None, next_step: str
) -> None:
    async def test(world: ToolWorld) -> None:
        found = await world.call("memory", action="search", query="zebra", scope=scope)
        assert "Fewer and rarer words" in found.output
        assert "`history`" in found.output
        assert next_step in found.output
        assert found.metadata == {"count": 0}

    in_world(tmp_path, test)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"action": "search", "query": " "}, "needs query"),
        ({"action": "append", "text": " "}, "needs text"),
        ({"action": "update", "heading": "A", "text": "x"}, "needs heading and hash"),
        ({"action": "append", "text": "x", "file": "sessions/ses_other/notes.md"}, "not yours"),
        ({"action": "append", "text": "x", "file": "projects/q/MEMORY.md"}, "not yours"),
        ({"action": "append", "text": "x", "file": "session/checkpoint.md"}, "written by others"),
        ({"action": "append", "text": "x", "file": "session/tasks/T1/progress.md"}, "by others"),
    ],
)
def test_what_cannot_be_done_is_said(tmp_path: Path, given: dict[str, str], words: str) -> None:
    async def test(world: ToolWorld) -> None:
        with pytest.raises(ToolError, match=words):
            await world.call("memory", **given)
        assert list(world.layout.root.rglob("*.md")) == []

    in_world(tmp_path, test)


def test_a_path_that_is_none_of_memory_and_a_section_that_is_not_there(tmp_path: Path) -> None:
    async def test(world: ToolWorld) -> None:
        with pytest.raises(UsageError):
            await append(world, "x", file="../roost.db")
        with pytest.raises(NotFoundError):
            await world.call("memory", action="update", heading="A", hash="0", text="x")
        missing = await world.call("memory", action="read", file="notes.md")
        assert missing.output == "session/notes.md is not there yet."

    in_world(tmp_path, test)


def test_the_memory_of_others_can_be_read_when_it_is_named(tmp_path: Path) -> None:
    async def test(world: ToolWorld) -> None:
        path = world.layout.root / "projects" / "q" / "MEMORY.md"
        path.parent.mkdir(parents=True)
        path.write_text("theirs: zebra\n")
        found = await world.call("memory", action="search", query="zebra", scope="all")
        assert "projects/q/MEMORY.md" in found.output
        read = await world.call("memory", action="read", file="projects/q/MEMORY.md")
        assert "theirs" in read.output

    in_world(tmp_path, test)


def test_rules_decide_about_writing_and_not_about_looking(tmp_path: Path) -> None:
    async def test(world: ToolWorld) -> None:
        await append(world, "x", file="global/MEMORY.md")
        assert world.asked_for() == ["memory"]
        world.rules = (Rule("memory", "@changing", "deny"),)
        with pytest.raises(DeniedError):
            await append(world, "zebra")
        found = await world.call("memory", action="search", query="x")
        assert found.metadata == {"count": 1}

    in_world(tmp_path, test)


def test_where_writing_is_switched_off_only_looking_is_left(tmp_path: Path) -> None:
    async def test(world: ToolWorld) -> None:
        await append(world, "zebra")
        world.memory = world.memory_port(writable=False)
        with pytest.raises(ToolError, match="disable_write"):
            await append(world, "quagga")
        assert (await world.call("memory", action="search", query="zebra")).metadata["count"] == 1

    in_world(tmp_path, test)


def test_a_secret_does_not_get_in(tmp_path: Path) -> None:
    async def test(world: ToolWorld) -> None:
        await append(world, "the key is hunter2-hunter2", heading="hunter2-hunter2")
        text = (await world.call("memory", action="read", file="MEMORY.md")).output
        assert "hunter2-hunter2" not in text
        assert text.count("[redacted: KEY]") == 2

    in_world(tmp_path, test)


def test_looking_goes_side_by_side_and_writing_does_not() -> None:
    tool = MemoryTool()
    parsed = [tool.parse({"action": one}) for one in ("search", "read", "append", "update")]
    assert [tool.effects_of(one) for one in parsed] == ["reads", "reads", "writes", "writes"]
