import asyncio
from pathlib import Path

import pytest
from tool_world import ToolWorld, in_world

from roost.core.errors import DeniedError, NotFoundError, RoostError, UsageError
from roost.permissions.models import PermissionRequest, Rule
from roost.tools.contract import ToolError
from roost.workspace.edit import MatchError
from roost.workspace.ledger import StaleError


def test_write_creates_a_file_and_its_folders(tmp_path: Path) -> None:
    async def test(world: ToolWorld) -> None:
        with world.bus.subscribe(lambda event: event.type == "file.edited") as news:
            answer = await world.call("write", filePath="a/b/new.py", content="x = 1\n")
            told = [event.properties for event in await news.batch()]
        path = world.root / "a/b/new.py"
        assert path.read_text() == "x = 1\n"
        assert answer.output == "Created a/b/new.py (+1 -0 lines)."
        assert answer.metadata["exists"] is False
        assert answer.metadata["filepath"] == str(path)
        assert answer.metadata["diagnostics"] == {}
        assert answer.metadata["filediff"]["additions"] == 1
        assert "+x = 1" in answer.metadata["diff"]
        assert told == [{"file": str(path)}]
        again = await world.call("write", filePath="a/b/new.py", content="x = 2\n")
        assert again.output == "Replaced a/b/new.py (+1 -1 lines)."

    in_world(tmp_path, test)


def test_write_refuses_a_file_that_was_not_read_to_its_end(tmp_path: Path) -> None:
    async def test(world: ToolWorld) -> None:
        path = world.file("a.txt", "1\n2\n3\n")
        with pytest.raises(ToolError, match="you have not read all of it"):
            await world.call("write", filePath="a.txt", content="x")
        await world.call("read", filePath="a.txt", limit=2)
        with pytest.raises(ToolError, match="you have not read all of it"):
            await world.call("write", filePath="a.txt", content="x")
        await world.call("read", filePath="a.txt", offset=3)
        path.write_text("somebody else's\n")
        with pytest.raises(StaleError) as caught:
            await world.call("write", filePath="a.txt", content="x")
        assert "+somebody else's" in caught.value.hint
        assert path.read_text() == "somebody else's\n"
        await world.call("write", filePath="a.txt", content="x")
        assert path.read_text() == "x"

    in_world(tmp_path, test)


def test_write_fills_an_empty_file_and_leaves_an_equal_one_alone(tmp_path: Path) -> None:
    async def test(world: ToolWorld) -> None:
        path = world.file("empty.txt")
        await world.call("write", filePath="empty.txt", content="full")
        before = path.stat()
        answer = await world.call("write", filePath="empty.txt", content="full")
        assert "exactly this content already" in answer.output
        assert path.stat().st_ino == before.st_ino
        with pytest.raises(UsageError, match="directory"):
            await world.call("write", filePath=".", content="x")

    in_world(tmp_path, test)


def test_edit_changes_what_was_quoted_and_shows_the_difference(tmp_path: Path) -> None:
    async def test(world: ToolWorld) -> None:
        path = world.file("a.py", "a = 1\r\nb = 2\r\n")
        answer = await world.call("edit", filePath="a.py", oldString="b = 2", newString="b = 3")
        assert path.read_bytes() == b"a = 1\r\nb = 3\r\n"
        assert answer.output == "Edited a.py (+1 -1 lines)."
        assert answer.metadata["filediff"]["file"] == str(path)
        assert answer.metadata["diff"].endswith("@@ -1,2 +1,2 @@\n a = 1\n-b = 2\n+b = 3\n")
        assert world.asked == []
        request = world.requests[-1]
        assert request.permission == "edit"
        assert request.patterns == ("a.py",)
        assert request.metadata["diff"] == answer.metadata["diff"]
        assert request.metadata["filepath"] == str(path)

    in_world(tmp_path, test)


def test_edit_refuses_an_ambiguous_quotation_and_replaces_all_when_told(tmp_path: Path) -> None:
    async def test(world: ToolWorld) -> None:
        path = world.file("a.py", "x\ny\nx\n")
        with pytest.raises(MatchError, match="occurs 2 times, at lines 1, 3"):
            await world.call("edit", filePath="a.py", oldString="x", newString="z")
        with pytest.raises(MatchError, match="is not in the file"):
            await world.call("edit", filePath="a.py", oldString="q", newString="z")
        assert path.read_text() == "x\ny\nx\n"
        await world.call("edit", filePath="a.py", oldString="x", newString="z", replaceAll=True)
        assert path.read_text() == "z\ny\nz\n"

    in_world(tmp_path, test)


def test_edit_says_when_the_quotation_was_not_exact(tmp_path: Path) -> None:
    async def test(world: ToolWorld) -> None:
        path = world.file("a.py", "def f():\n    say(\u201chi\u201d)\n")
        answer = await world.call(
            "edit", filePath="a.py", oldString='say("hi")', newString='say("ho")'
        )
        assert "differs from the file (typography)" in answer.output
        assert path.read_text() == "def f():\n    say(\u201cho\u201d)\n"

    in_world(tmp_path, test)


def test_edit_creates_a_file_only_from_an_empty_quotation(tmp_path: Path) -> None:
    async def test(world: ToolWorld) -> None:
        world.file("settings.py", "x")
        with pytest.raises(NotFoundError) as caught:
            await world.call("edit", filePath="setting.py", oldString="x", newString="y")
        assert "settings.py" in caught.value.hint
        assert not (world.root / "setting.py").exists()
        answer = await world.call("edit", filePath="new.py", oldString="", newString="y\n")
        assert answer.output.startswith("Created new.py")
        with pytest.raises(UsageError, match="empty"):
            await world.call("edit", filePath="settings.py", oldString="", newString="y\n")

    in_world(tmp_path, test)


def test_nothing_is_written_without_leave(tmp_path: Path) -> None:
    async def test(world: ToolWorld) -> None:
        path = world.file("a.py", "x\n")
        outside = world.outside / "b.py"
        outside.write_text("x\n")
        (world.root / "link.py").symlink_to(outside)
        world.agrees = False
        world.rules = (Rule("edit", "a.py", "deny"),)
        with pytest.raises(DeniedError):
            await world.call("edit", filePath="a.py", oldString="x", newString="y")
        for name in ("link.py", "../outside/b.py", "../outside/c.py"):
            with pytest.raises(DeniedError):
                await world.call("edit", filePath=name, oldString="x", newString="y")
            with pytest.raises(DeniedError):
                await world.call("write", filePath=name, content="y")
            patch = _patch(f"*** Update File: {name}", "@@", "-x", "+y")
            with pytest.raises((DeniedError, NotFoundError)):
                await world.call("apply_patch", patchText=patch)
        assert path.read_text() == "x\n"
        assert outside.read_text() == "x\n"
        assert not (world.outside / "c.py").exists()

    in_world(tmp_path, test)


def test_git_and_roosts_own_data_are_out_of_reach(tmp_path: Path) -> None:
    async def test(world: ToolWorld) -> None:
        world.file(".git/hooks/pre-commit", "x")
        for name in (".git/hooks/pre-commit", "../data/roost.db"):
            with pytest.raises(DeniedError, match="belongs to"):
                await world.call("write", filePath=name, content="evil")
        assert world.requests == []

    in_world(tmp_path, test)


def test_an_edit_does_not_quote_from_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    async def test(world: ToolWorld) -> None:
        world.file(".env", "PASSWORD=hunter2\n")
        world.agrees = False
        with pytest.raises(DeniedError) as caught:
            await world.call("edit", filePath=".env", oldString="PASSWORD=", newString="x")
        assert "hunter2" not in caught.value.message + caught.value.hint

    in_world(tmp_path, test)


def test_a_change_during_the_approval_makes_the_edit_void(tmp_path: Path) -> None:
    async def test(world: ToolWorld) -> None:
        path = world.file("a.py", "x\n")

        def somebody_else(request: PermissionRequest) -> None:
            if request.permission == "edit":
                path.write_text("changed\n")

        world.before_answer = somebody_else
        with pytest.raises(RoostError, match="changed while the change was prepared"):
            await world.call("edit", filePath="a.py", oldString="x", newString="y")
        assert path.read_text() == "changed\n"

    in_world(tmp_path, test)


def _patch(*lines: str) -> str:
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch"])


def test_a_patch_adds_updates_moves_and_deletes(tmp_path: Path) -> None:
    async def test(world: ToolWorld) -> None:
        world.file("a.py", "one\ntwo\nthree\n")
        world.file("b.py", "keep\nold\n")
        world.file("c.py", "gone\n")
        patch = _patch(
            "*** Add File: docs/new.md",
            "+# New",
            "*** Update File: a.py",
            "@@",
            " one",
            "-two",
            "+2",
            "*** Update File: b.py",
            "*** Move to: lib/b.py",
            "@@",
            " keep",
            "-old",
            "+new",
            "*** Delete File: c.py",
        )
        answer = await world.call("apply_patch", patchText=patch)
        assert (world.root / "docs/new.md").read_text() == "# New\n"
        assert (world.root / "a.py").read_text() == "one\n2\nthree\n"
        assert (world.root / "lib/b.py").read_text() == "keep\nnew\n"
        assert not (world.root / "b.py").exists()
        assert not (world.root / "c.py").exists()
        assert answer.output.split("\n")[0] == "Done:"
        assert sorted(answer.output.split("\n")[1:]) == [
            "A docs/new.md",
            "D c.py",
            "M a.py",
            "R lib/b.py",
        ]
        files = {file["relativePath"]: file for file in answer.metadata["files"]}
        moved = files["lib/b.py"]
        assert moved["type"] == "move"
        assert moved["filePath"] == str(world.root / "b.py")
        assert moved["movePath"] == str(world.root / "lib/b.py")
        assert (moved["additions"], moved["deletions"]) == (1, 1)
        assert files["c.py"]["type"] == "delete"
        edit = world.requests[-1]
        assert set(edit.patterns) == {"docs/new.md", "a.py", "b.py", "lib/b.py", "c.py"}

    in_world(tmp_path, test)


def test_a_patch_is_all_or_nothing(tmp_path: Path) -> None:
    async def test(world: ToolWorld) -> None:
        world.file("a.py", "one\n")
        patch = _patch("*** Delete File: a.py", "*** Update File: b.py", "@@", "-x", "+y")
        with pytest.raises(NotFoundError):
            await world.call("apply_patch", patchText=patch)
        assert (world.root / "a.py").read_text() == "one\n"
        with pytest.raises(UsageError, match="patch line 1"):
            await world.call("apply_patch", patchText="nonsense")

    in_world(tmp_path, test)


def test_the_difference_that_clients_get_is_bounded_and_a_valid_patch(tmp_path: Path) -> None:
    async def test(world: ToolWorld) -> None:
        content = "".join(f"a fairly long line number {n}\n" for n in range(9_000))
        answer = await world.call("write", filePath="big.txt", content=content)
        diff = answer.metadata["diff"]
        assert len(diff) < 60_000
        header, *lines = diff.rstrip("\n").split("\n")[2:]
        assert header == f"@@ -0,0 +1,{len(lines)} @@"
        assert all(line.startswith("+") for line in lines)
        assert answer.metadata["filediff"]["additions"] == 9_000

    in_world(tmp_path, test)


def test_a_cancelled_write_is_complete_before_the_cancellation_is_answered(tmp_path: Path) -> None:
    async def test(world: ToolWorld) -> None:
        content = "x" * 20_000_000
        running = asyncio.create_task(world.call("write", filePath="big.txt", content=content))
        while not any(request.permission == "edit" for request in world.requests):
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert (world.root / "big.txt").read_text() == content

    in_world(tmp_path, test)


def test_a_file_moved_twice_is_one_move_and_an_undone_addition_is_nothing(tmp_path: Path) -> None:
    async def test(world: ToolWorld) -> None:
        world.file("a.py", "one\n")
        patch = _patch(
            "*** Update File: a.py",
            "*** Move to: b.py",
            "*** Update File: b.py",
            "*** Move to: c.py",
            "@@",
            "-one",
            "+two",
        )
        answer = await world.call("apply_patch", patchText=patch)
        assert answer.output == "Done:\nR c.py"
        (file,) = answer.metadata["files"]
        assert file["filePath"] == str(world.root / "a.py")
        assert file["movePath"] == str(world.root / "c.py")
        assert (world.root / "c.py").read_text() == "two\n"
        assert sorted(path.name for path in world.root.iterdir()) == ["c.py"]
        undone = _patch("*** Add File: d.py", "+x", "*** Delete File: d.py")
        answer = await world.call("apply_patch", patchText=undone)
        assert answer.output.startswith("The patch changes nothing")

    in_world(tmp_path, test)


def test_the_differences_of_a_patch_are_bounded_together(tmp_path: Path) -> None:
    async def test(world: ToolWorld) -> None:
        lines = [f"+a fairly long line number {n}" for n in range(3_000)]
        parts = [line for n in range(6) for line in (f"*** Add File: f{n}.txt", *lines)]
        answer = await world.call("apply_patch", patchText=_patch(*parts))
        files = answer.metadata["files"]
        assert [file["additions"] for file in files] == [3_000] * 6
        assert len(answer.metadata["diff"]) <= 200_000
        assert files[0]["patch"]
        assert files[-1]["patch"] == ""

    in_world(tmp_path, test)
