"""What undo does in every kind of folder, and with every kind of file."""

import asyncio
import stat
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from runtime_stage import Desk, desk

from roost.runtime import undo_shelf
from roost.runtime.undo_change import Undone
from roost.sessions.models import Session
from roost.workspace.snapshots import SnapshotLimits
from scripted_model.picture import Request
from scripted_model.scenario import Call, Reply, Text, reply


def worker(request: Request) -> Reply:
    """Runs what stands after `$`, and writes what stands after `>` into the file named there."""
    asked = request.last_user_text.splitlines()[-1]
    if request.results:
        return reply([Text("done")])
    if asked.startswith("$ "):
        return reply([Call("bash", {"command": asked[2:]})])
    name, _, content = asked.removeprefix("> ").partition(" ")
    return reply([Call("write", {"filePath": name, "content": f"{content}\n"})])


class Work:
    """A session, and the undo of all that was done in it."""

    def __init__(self, place: Desk, session: Session) -> None:
        self.place = place
        self.root = place.project
        self.session = session
        self.prompts: list[str] = []

    async def do(self, text: str) -> None:
        message_id = await self.place.prompt(self.session.id, text)
        self.prompts.append(message_id)
        result = await self.place.runtime.wait_turn(self.session.id, message_id)
        assert result.turn.outcome == "success", result.turn.error

    async def undo(self) -> dict[str, str]:
        done = await self.undone()
        return {one.path: one.action for one in done.files}

    async def undone(self) -> Undone:
        return await self.place.runtime.undo.revert(self.session.id, self.prompts[0])

    async def redo(self) -> None:
        await self.place.runtime.undo.unrevert(self.session.id)


def at_work(
    folder: Path, check: Callable[[Work], Awaitable[None]], where: str = ".", **more: Any
) -> None:
    (folder / "project").mkdir(exist_ok=True)

    async def go() -> None:
        async with desk(folder, worker, **more) as place:
            work = Work(place, await place.session(place.project / where))
            await check(work)

    asyncio.run(go())


def git(folder: Path, *arguments: str) -> str:
    user = ("-c", "user.name=n", "-c", "user.email=e", "-c", "protocol.file.allow=always")
    command = ["git", "-C", str(folder), *user, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def repository(folder: Path, **files: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q", "-b", "main")
    for name, text in files.items():
        (folder / name).write_text(text)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", "first")
    return folder


def test_neither_the_index_nor_head_nor_a_branch_is_touched(tmp_path: Path) -> None:
    root = repository(tmp_path / "project", a="1\n", b="1\n")
    (root / "b").write_text("staged\n")
    git(root, "add", "b")

    async def check(work: Work) -> None:
        before = {p: p.read_bytes() for p in (root / ".git").rglob("*") if p.is_file()}
        await work.do("$ echo 2 > a; echo n > new")
        assert await work.undo() == {"a": "restored", "new": "deleted"}
        assert {p: p.read_bytes() for p in (root / ".git").rglob("*") if p.is_file()} == before
        assert git(root, "status", "--porcelain") == "M  b\n"

    at_work(tmp_path, check)


def test_a_commit_of_the_agent_stays_and_its_files_are_set_back(tmp_path: Path) -> None:
    root = repository(tmp_path / "project", a="1\n")

    async def check(work: Work) -> None:
        user = "git -c user.name=n -c user.email=e"
        await work.do(f"$ echo 2 > a && {user} commit -qam second")
        assert await work.undo() == {"a": "restored"}
        assert git(root, "log", "--format=%s").split() == ["second", "first"]
        assert (root / "a").read_text() == "1\n"

    at_work(tmp_path, check)


def test_in_a_folder_of_a_repository_files_beside_it_are_set_back_too(tmp_path: Path) -> None:
    root = repository(tmp_path / "project", a="1\n")
    (root / "sub").mkdir()

    async def check(work: Work) -> None:
        await work.do("$ echo 2 > ../a; echo n > new")
        assert await work.undo() == {"a": "restored", "sub/new": "deleted"}
        assert list((root / "sub").iterdir()) == []

    at_work(tmp_path, check, "sub")


def test_a_folder_that_is_no_repository_works_the_same(tmp_path: Path) -> None:
    async def check(work: Work) -> None:
        (work.root / "a").write_text("1\n")
        await work.do("$ echo 2 > a; echo n > new")
        await work.do("> a 3")
        assert await work.undo() == {"a": "restored", "new": "deleted"}

    at_work(tmp_path, check)


def test_a_worktree_is_set_back_and_the_other_one_is_not(tmp_path: Path) -> None:
    main = repository(tmp_path / "main", a="1\n")
    git(main, "worktree", "add", "-q", str(tmp_path / "project"))

    async def check(work: Work) -> None:
        await work.do(f"$ echo 2 > a; echo 2 > {main}/a")
        await work.do("> new n")
        assert await work.undo() == {"a": "restored", "new": "deleted"}
        assert (main / "a").read_text() == "2\n"
        assert (work.root / "a").read_text() == "1\n"

    at_work(tmp_path, check)


def test_what_a_command_does_in_another_repository_stays_and_an_edit_there_is_set_back(
    tmp_path: Path,
) -> None:
    root = repository(tmp_path / "project", a="1\n")
    repository(root / "nested", inner="1\n")

    async def check(work: Work) -> None:
        await work.do("$ echo 2 > nested/inner; echo 2 > a")
        await work.do("> nested/made n")
        assert await work.undo() == {"a": "restored", "nested/made": "deleted"}
        assert (root / "nested/inner").read_text() == "2\n"

    at_work(tmp_path, check)


def test_a_submodule_counts_as_another_repository(tmp_path: Path) -> None:
    library = repository(tmp_path / "library", lib="1\n")
    root = repository(tmp_path / "project", a="1\n")
    git(root, "submodule", "add", "-q", str(library), "lib")
    git(root, "commit", "-qm", "with a submodule")

    async def check(work: Work) -> None:
        await work.do("$ echo 2 > lib/lib; echo 2 > a")
        assert await work.undo() == {"a": "restored"}
        assert (root / "lib/lib").read_text() == "2\n"
        assert git(root, "submodule", "status").startswith(" ")

    at_work(tmp_path, check)


def test_what_git_ignores_stays_as_commands_made_it_but_not_as_edits_did(tmp_path: Path) -> None:
    repository(tmp_path / "project", **{".gitignore": "build/\n*.env\n"})

    async def check(work: Work) -> None:
        (work.root / "my.env").write_text("KEY=1\n")
        await work.do("$ mkdir build && echo o > build/out; echo 2 > my.env; echo n > new")
        assert await work.undo() == {"new": "deleted"}
        await work.redo()
        assert (work.root / "build/out").exists()
        assert (work.root / "my.env").read_text() == "2\n"
        await work.do("> build/edited n")
        assert await work.undo() == {"build/edited": "deleted", "new": "deleted"}

    at_work(tmp_path, check)


def test_links_modes_and_binary_files_come_back_exactly(tmp_path: Path) -> None:
    async def check(work: Work) -> None:
        root = work.root
        (root / "data").write_bytes(bytes(range(256)))
        (root / "run").write_text("#!/bin/sh\n")
        (root / "run").chmod(0o755)
        (root / "key").write_text("k\n")
        (root / "key").chmod(0o600)
        (root / "link").symlink_to("run")
        await work.do("$ printf '\\0' > data; chmod 644 run; rm key link; ln -s nowhere other")
        assert await work.undo() == {
            "data": "restored",
            "key": "created",
            "link": "created",
            "other": "deleted",
            "run": "restored",
        }
        assert (root / "data").read_bytes() == bytes(range(256))
        assert stat.S_IMODE((root / "run").stat().st_mode) == 0o755
        assert stat.S_IMODE((root / "key").stat().st_mode) == 0o600
        assert (root / "link").readlink() == Path("run")
        await work.redo()
        assert (root / "other").readlink() == Path("nowhere")
        assert not (root / "link").is_symlink()

    at_work(tmp_path, check)


def test_a_link_that_leads_out_is_no_way_out(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/a").write_text("1\n")

    async def check(work: Work) -> None:
        (work.root / "out").symlink_to(tmp_path / "elsewhere")
        await work.do("$ echo 2 > out/a; echo n > new")
        assert await work.undo() == {"new": "deleted"}
        assert (tmp_path / "elsewhere/a").read_text() == "2\n"

    at_work(tmp_path, check)


def test_a_file_outside_of_the_project_is_named_and_left(tmp_path: Path) -> None:
    outside = tmp_path / "elsewhere.txt"

    async def check(work: Work) -> None:
        await work.do(f"> {outside} n")
        await work.do("> inside n")
        done = await work.undone()
        assert [(one.path, one.action, one.reason) for one in done.files] == [
            ("inside", "deleted", ""),
            (str(outside), "left", "it lies outside of the project"),
        ]
        assert outside.read_text() == "n\n"
        shown = done.session.revert
        assert shown is not None
        assert [one.path for one in shown.left] == [str(outside)]

    at_work(tmp_path, check, config={"permission": "allow"})


def test_a_file_too_large_to_be_kept_is_named_and_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(undo_shelf, "OUTSIDE_GIT", SnapshotLimits(file_bytes=1_000))

    async def check(work: Work) -> None:
        (work.root / "big").write_text("1" * 2_000)
        (work.root / "small").write_text("1")
        await work.do("$ echo 2 >> big; echo 2 >> small")
        done = await work.undone()
        assert {one.path: one.action for one in done.files} == {
            "big": "left",
            "small": "restored",
        }
        assert "its content is not kept" in done.left[0].reason
        assert (work.root / "big").stat().st_size == 2_002

    at_work(tmp_path, check)


def test_a_folder_with_too_many_files_says_so_once_and_edits_are_still_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(undo_shelf, "OUTSIDE_GIT", SnapshotLimits(files=10))

    async def check(work: Work) -> None:
        for number in range(20):
            (work.root / f"f{number}").write_text("1\n")
        told: list[str] = []
        work.place.runtime.bus.listen(
            lambda event: (
                told.append(event.properties["message"]) if event.type == "undo.limited" else None
            )
        )
        await work.do("$ echo 2 > f1")
        await work.do("$ echo 2 > f2")
        await work.do("> new 2")
        assert len(told) == 1
        assert "holds more than 10 files" in told[0]
        assert await work.undo() == {"new": "deleted"}

    at_work(tmp_path, check)


def test_a_whole_home_is_not_looked_at_and_edits_there_are_taken_back(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()

    async def check(work: Work) -> None:
        told: list[str] = []
        work.place.runtime.bus.listen(
            lambda event: (
                told.append(event.properties["message"]) if event.type == "undo.limited" else None
            )
        )
        await work.do("$ echo 2 > by-command")
        await work.do("> by-edit 2")
        assert told == [undo_shelf.NOT_LOOKED_AT]
        assert await work.undo() == {"by-edit": "deleted"}
        assert (tmp_path / "by-command").exists()

    at_work(tmp_path, check, "..")


def test_a_folder_that_was_moved_can_still_be_set_back_where_it_is_now(tmp_path: Path) -> None:
    async def check(work: Work) -> None:
        await work.do("> a 1")
        moved = tmp_path / "moved"
        work.root.rename(moved)
        runtime = work.place.runtime
        await runtime.database.write(
            lambda tx: tx.run("UPDATE session SET directory = ?", (str(moved),))
        )
        assert await work.undo() == {"a": "deleted"}
        assert list(moved.iterdir()) == []

    at_work(tmp_path, check)
