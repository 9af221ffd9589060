"""Files over HTTP: inside the project only, in OpenCode's shapes."""

import asyncio
import base64
import os
import shutil
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from server_stage import Served, served

from roost.server.file_names import likeness, ranked


def on_server(folder: Path, check: Callable[[Served], Awaitable[None]]) -> None:
    async def run() -> None:
        async with served(folder) as stage:
            await check(stage)

    asyncio.run(run())


async def get(stage: Served, path: str, /, **query: Any) -> Any:
    answer = await stage.http.get(path, params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def furnish(project: Path) -> None:
    (project / "src").mkdir()
    (project / "src" / "main.py").write_text("import os\nprint('grüße, world')\n", encoding="utf-8")
    (project / "src" / "utility_main.py").write_text("pass\n")
    (project / "README.md").write_text("# Words\n")
    (project / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n\x00\x00")
    (project / "build.log").write_text("noise\n")
    (project / ".gitignore").write_text("*.log\n")


def test_a_folder_is_listed_folders_first(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        furnish(stage.project)
        nodes = await get(stage, "/file", path="")
        names = [node["name"] for node in nodes]
        assert names == ["src", ".gitignore", "build.log", "picture.png", "README.md"]
        assert nodes[0] == {
            "name": "src",
            "path": "src",
            "absolute": str(stage.project / "src"),
            "type": "directory",
            "ignored": False,
        }
        inner = await get(stage, "/file", path="src")
        assert [node["path"] for node in inner] == ["src/main.py", "src/utility_main.py"]

    on_server(tmp_path, check)


def test_a_file_is_text_or_base64(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        furnish(stage.project)
        text = await get(stage, "/file/content", path="src/main.py")
        assert text["type"] == "text"
        assert text["content"].endswith("print('grüße, world')\n")
        picture = await get(stage, "/file/content", path="picture.png")
        assert (picture["type"], picture["encoding"]) == ("binary", "base64")
        assert picture["mimeType"] == "image/png"
        assert base64.b64decode(picture["content"]).startswith(b"\x89PNG")

    on_server(tmp_path, check)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("../secret", 403),
        ("/etc/passwd", 403),
        ("out/passwd", 403),
        ("~/secret", 403),
        ("loop", 400),
        ("pipe", 404),
        ("missing", 404),
        ("src/../../secret", 403),
        ("x" * 1_000, 400),
        ("a\x00b", 400),
        (" ", 400),
    ],
)
def test_nothing_outside_and_nothing_odd_is_read(tmp_path: Path, path: str, status: int) -> None:
    async def check(stage: Served) -> None:
        (stage.project / "src").mkdir()
        (tmp_path / "secret").write_text("canary")
        (stage.project / "out").symlink_to("/etc")
        (stage.project / "loop").symlink_to("loop")
        os.mkfifo(stage.project / "pipe")
        answer = await stage.http.get("/file/content", params={"path": path})
        assert answer.status_code == status, answer.text
        assert "canary" not in answer.text
        if status == 403:
            listed = await stage.http.get("/file", params={"path": str(Path(path).parent)})
            assert listed.status_code in {403, 404}

    on_server(tmp_path, check)


def test_lines_are_found_with_their_places(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        furnish(stage.project)
        (match,) = await get(stage, "/find", pattern="world")
        assert match["path"] == {"text": "src/main.py"}
        assert match["line_number"] == 2
        assert match["absolute_offset"] == 10
        assert match["lines"]["text"].startswith("print('grüße")
        assert match["submatches"] == [{"match": {"text": "world"}, "start": 16, "end": 21}]
        (match,) = await get(stage, "/find", pattern=r"^import\s+\w+$")
        assert match["line_number"] == 1
        assert (await stage.http.get("/find", params={"pattern": "("})).status_code == 400
        assert (await stage.http.get("/find")).status_code == 400

    on_server(tmp_path, check)


def test_names_are_found_by_their_letters(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        furnish(stage.project)
        found = await get(stage, "/find/file", query="main")
        assert found[:2] == ["src/main.py", "src/utility_main.py"]
        assert await get(stage, "/find/file", query="src", type="directory") == ["src/"]
        assert "src/" not in await get(stage, "/find/file", query="s", dirs="false")
        assert len(await get(stage, "/find/file", query="", limit=2)) == 2
        assert await get(stage, "/find/file", query="zzz") == []

    on_server(tmp_path, check)


def test_the_best_name_comes_first() -> None:
    names = ["docs/server_notes.md", "src/server/app.py", "server.py", "src/observer.py"]
    assert ranked("server", names, 4)[0] == "server.py"
    assert ranked("app", names, 4) == ["src/server/app.py"]
    assert ranked("ssap", names, 1) == ["src/server/app.py"]
    assert likeness("xyz", "abc") is None


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_git_tells_branch_and_changes(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        assert await get(stage, "/vcs") == {}
        assert await get(stage, "/file/status") == []

        def git(*arguments: str) -> None:
            identity = ["-c", "user.name=x", "-c", "user.email=x@example.com"]
            subprocess.run(["git", *identity, *arguments], cwd=stage.project, check=True)

        git("init", "-q", "-b", "work")
        furnish(stage.project)
        git("add", "README.md", "picture.png")
        git("commit", "-q", "-m", "first")
        (stage.project / "README.md").write_text("# Other words\nand more\n")
        (stage.project / "picture.png").unlink()
        assert await get(stage, "/vcs") == {"branch": "work", "default_branch": "work"}
        status = {one["path"]: one for one in await get(stage, "/file/status")}
        assert status["README.md"] == {
            "path": "README.md",
            "added": 2,
            "removed": 1,
            "status": "modified",
        }
        assert status["picture.png"]["status"] == "deleted"
        assert (status["src/main.py"]["status"], status["src/main.py"]["added"]) == ("added", 2)
        assert "build.log" not in status
        assert (await get(stage, "/project/current"))["vcs"] == "git"

    on_server(tmp_path, check)


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_worktrees_of_a_served_repository_are_served_and_its_clones_are_not(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        def git(*arguments: str) -> None:
            identity = ["-c", "user.name=x", "-c", "user.email=x@example.com"]
            subprocess.run(["git", *identity, *arguments], cwd=stage.project, check=True)

        git("init", "-q")
        git("commit", "-q", "--allow-empty", "-m", "first")
        git("worktree", "add", "-q", str(tmp_path / "tree"))
        git("clone", "-q", ".", str(tmp_path / "clone"))
        tree = (await stage.runtime.create_session(tmp_path / "tree")).id
        clone = (await stage.runtime.create_session(tmp_path / "clone")).id
        assert (await stage.http.get(f"/session/{tree}")).status_code == 200
        assert (await stage.http.get(f"/session/{clone}")).status_code == 403
        query = {"directory": str(tmp_path / "tree")}
        listed = (await stage.http.get("/session", params=query)).json()
        assert [one["id"] for one in listed] == [tree]
        shutil.rmtree(tmp_path / "tree")
        assert (await stage.http.get(f"/session/{tree}")).status_code == 200

    on_server(tmp_path, check)


def test_the_second_api_finds_and_lists_the_same_files(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        furnish(stage.project)
        place = {"location[directory]": str(stage.project)}
        found = (await get(stage, "/api/fs/find", query="main", limit=20, **place))["data"]
        assert {"path": "src/main.py", "type": "file"} in found
        folders = (await get(stage, "/api/fs/find", query="src", type="directory", **place))["data"]
        assert folders == [{"path": "src/", "type": "directory"}]
        listed = (await get(stage, "/api/fs/list", **place))["data"]
        assert listed[0] == {"path": "src/", "type": "directory"}
        below = (await get(stage, "/api/fs/list", path="src", **place))["data"]
        assert [one["path"] for one in below] == ["src/main.py", "src/utility_main.py"]
        outside = await stage.http.get("/api/fs/list", params={**place, "path": ".."})
        assert outside.status_code == 403

    on_server(tmp_path, check)
